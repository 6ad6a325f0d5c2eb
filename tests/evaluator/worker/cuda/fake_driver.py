"""A library in the driver's place, for the real pynvml to speak to: no card is here."""

from __future__ import annotations

import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("driver.c")
# Its cards, as driver.c has them: two alike, and one that is divided.
FIRST = "GPU-11111111-aaaa-0000-0000-000000000001"
SECOND = "GPU-11111111-bbbb-0000-0000-000000000002"
DIVIDED = "GPU-33333333-cccc-0000-0000-000000000003"
INSTANCES = ("MIG-44444444-dddd-0000-0000-000000000004", "MIG-55555555-eeee-0000-0000-000000000005")


def build(folder: Path, *flags: str) -> Path:
    """Build it under the driver's name; the folder, for LD_LIBRARY_PATH."""
    made = folder / "libnvidia-ml.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", *flags, "-o", str(made), str(SOURCE)], check=True)
    return folder
