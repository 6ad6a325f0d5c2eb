"""What a built kernel takes: read from what ptxas said while it built it, and from the binary itself."""

from __future__ import annotations

import hashlib
import re
import struct
from dataclasses import dataclass
from typing import Final

_SPILLS: Final = re.compile(
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", re.MULTILINE
)
_REGISTERS: Final = re.compile(r"Used (\d+) registers")
_STATIC_SHARED: Final = re.compile(r"(\d+) bytes smem")
_RESOURCES: Final = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+)")

# An ELF file of 64 bits: where its section headers are, and one header's name, offset and size.
_ELF_MAGIC: Final = b"\x7fELF\x02"
_HEADER: Final = struct.Struct("<16xHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")


@dataclass(frozen=True)
class Usage:
    """Resources of a kernel: registers a thread; stack frame, spill stores and loads, static shared memory in bytes."""

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    static_shared: int


def usage_from_ptxas(log: str) -> Usage | None:
    """The usage of the one kernel that a verbose ptxas built; None where the log does not tell it."""
    spills, registers = _SPILLS.search(log), _REGISTERS.search(log)
    if spills is None or registers is None:
        return None
    shared = _STATIC_SHARED.search(log)
    stack, stores, loads = (int(number) for number in spills.groups())
    return Usage(int(registers[1]), stack, stores, loads, int(shared[1]) if shared else 0)


def resources_from_cuobjdump(text: str) -> tuple[int, int, int] | None:
    """(registers, stack, shared) as ``cuobjdump --dump-resource-usage`` prints them of the first function.

    On cards of capability 9.0 and later its shared memory holds 1024 bytes that the system takes of each block.
    """
    found = _RESOURCES.search(text)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


def machine_code_hash(cubin: bytes) -> str | None:
    """sha256 over the machine instructions (the ``.text`` sections) in order; None for what is no 64-bit ELF file.

    Names, line tables and where the file was made are outside of them.
    """
    code = [section for name, section in _sections(cubin) if name.startswith(".text")]
    if not code:
        return None
    digest = hashlib.sha256()
    for section in code:
        digest.update(section)
    return digest.hexdigest()


def _sections(elf: bytes) -> list[tuple[str, bytes]]:
    if not elf.startswith(_ELF_MAGIC) or len(elf) < _HEADER.size:
        return []
    header = _HEADER.unpack_from(elf)
    table, count, names_at = header[5], header[11], header[12]
    headers = [_SECTION.unpack_from(elf, table + index * _SECTION.size) for index in range(count)]
    names = _content(elf, headers[names_at]) if names_at < count else b""
    return [(_text(names, one[0]), _content(elf, one)) for one in headers]


def _content(elf: bytes, header: tuple[int, ...]) -> bytes:
    return elf[header[4] : header[4] + header[5]]


def _text(names: bytes, start: int) -> str:
    return names[start : names.find(b"\0", start)].decode("ascii", "replace")
