"""Which of the GPUs that the driver lists is CUDA's device 0, by the variables that CUDA obeys: pure."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Device:
    """One GPU as NVML lists it, in the order of the PCI bus. ``instances``: UUIDs of its MIG instances."""

    uuid: str
    name: str | None = None
    instances: tuple[str, ...] = ()
    mig: bool = False


def first(devices: Sequence[Device], variables: Mapping[str, str]) -> tuple[str | None, str | None]:
    """The UUID of CUDA's device 0 under these environment variables, and why there is none: one of them is None.

    ``CUDA_VISIBLE_DEVICES`` as CUDA reads it: places in a list, or UUIDs, which may be cut short as long as they name
    one; what is no device ends the list. Of a GPU that is divided the first instance counts.
    """
    if not devices:
        return None, "the NVIDIA driver lists no GPU"
    given = variables.get("CUDA_VISIBLE_DEVICES")
    if given is not None and not given.strip():
        return None, "CUDA_VISIBLE_DEVICES is empty, which hides every GPU"
    places = _places("0" if given is None else given)
    if len(set(places)) < len(places):
        return None, f"CUDA_VISIBLE_DEVICES={given} names a GPU twice, so that CUDA takes none"
    if places and isinstance(places[0], str):
        return _by_uuid(devices, places[0])
    if not places or int(places[0]) >= len(devices):
        return None, f"CUDA_VISIBLE_DEVICES={given} names no GPU: the driver lists {len(devices)}"
    by_bus = variables.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    if not by_bus and len({device.name for device in devices}) > 1:
        return None, (
            "the GPUs here differ, and only CUDA itself knows which of them it counts first: set "
            "CUDA_DEVICE_ORDER=PCI_BUS_ID, or CUDA_VISIBLE_DEVICES to a UUID of nvidia-smi -L"
        )
    return _whole_or_instance(devices[int(places[0])])


def _places(given: str) -> list[int | str]:
    """Places in the list, or starts of UUIDs, whichever the first is, up to the first that is neither."""
    parts = [part.strip() for part in given.split(",")]
    found: list[int | str] = []
    kind = parts[0][:4]
    if kind in ("GPU-", "MIG-"):
        return [*itertools.takewhile(lambda part: part.startswith(kind), parts)]
    for part in parts:
        number = _leading_number(part)
        if number is None or number < 0:
            break
        found.append(number)
    return found


def _by_uuid(devices: Sequence[Device], start: str) -> tuple[str | None, str | None]:
    wholes = {device.uuid: device for device in devices}
    instances = [one for device in devices for one in device.instances]
    found = [one for one in (*wholes, *instances) if one.startswith(start)]
    if len(found) != 1:
        said = "several GPUs" if found else "no GPU"
        return None, f"CUDA_VISIBLE_DEVICES={start} names {said} of the driver's list"
    (uuid,) = found
    return _whole_or_instance(wholes[uuid]) if uuid in wholes else (uuid, None)


def _whole_or_instance(device: Device) -> tuple[str | None, str | None]:
    if not device.mig:
        return device.uuid, None
    if not device.instances:
        return None, "the GPU is set to be divided (MIG), and has no instance"
    return device.instances[0], None


def _leading_number(text: str) -> int | None:
    """The whole number that a text begins with, as C reads it; None where it begins otherwise."""
    digits = 1 if text[:1] in ("+", "-") else 0
    while digits < len(text) and text[digits] in "0123456789":
        digits += 1
    try:
        return int(text[:digits])
    except ValueError:
        return None
