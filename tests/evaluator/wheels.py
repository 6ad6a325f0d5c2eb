"""Tiny wheels that stand for torch and what it needs, and a package index of them on this disk, so that the real pip
can install "torch" in a moment and without a network."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path


def write_wheel(folder: Path, name: str, version: str, requires: Sequence[str] = ()) -> Path:
    """A pure Python wheel with one empty module (https://packaging.python.org/en/latest/specifications/binary-distribution-format/)."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    metadata = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {one}" for one in requires),
    ]
    files = {
        f"{name}.py": f'__version__ = "{version}"\n',
        f"{info}/METADATA": "\n".join(metadata) + "\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{one},,\n" for one in [*files, f"{info}/RECORD"])
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as wheel:
        for one, text in files.items():
            wheel.writestr(one, text)
    return path


def index_of(folder: Path) -> dict[str, str]:
    """Environment variables with which pip knows this folder of wheels and nothing else."""
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": "/dev/null"}


def place(python: Path, name: str, version: str, requires: Sequence[str] = ()) -> None:
    """Put a distribution's metadata into a venv's packages, as an installer would."""
    (packages,) = (python.parent.parent / "lib").glob("python3*/site-packages")
    info = packages / f"{name}-{version}.dist-info"
    info.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {one}" for one in requires]
    (info / "METADATA").write_text("\n".join(lines) + "\n")
