"""Takes PTX out of an object file that nvcc wrote (`-no-compress`, `-gencode arch=compute_N,code=compute_N`).

Reading it from the object, not from a second run of nvcc, halves the time to build a test and guarantees that the
device code belongs to this host code."""

import struct

FATBIN_MAGIC = 0xBA55ED50
PTX_ENTRY = 1


class FatbinError(Exception):
    pass


def section(object_bytes: bytes, wanted: str) -> bytes:
    """The contents of one section of a 64-bit little-endian ELF file; empty where there is none."""
    if object_bytes[:6] != b"\x7fELF\x02\x01":
        raise FatbinError("not a 64-bit little-endian ELF object")
    (table,) = struct.unpack_from("<Q", object_bytes, 0x28)
    entry_size, count, names_index = struct.unpack_from("<HHH", object_bytes, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", object_bytes, table + i * entry_size) for i in range(count)]
    names_offset = headers[names_index][4]
    for name, _, _, _, offset, size in headers:
        start = names_offset + name
        if object_bytes[start : object_bytes.index(b"\0", start)].decode() == wanted:
            return object_bytes[offset : offset + size]
    return b""


def ptx_entries(fatbin: bytes) -> list:
    """The PTX texts (bytes) in a .nv_fatbin section, in order."""
    texts, position = [], 0
    while position + 16 <= len(fatbin):
        magic, _, header_size, payload = struct.unpack_from("<IHHQ", fatbin, position)
        if magic != FATBIN_MAGIC:
            position += 8
            continue
        entry = position + header_size
        position = entry + payload
        while entry + 16 <= position:
            kind, _, entry_header, size = struct.unpack_from("<HHIQ", fatbin, entry)
            if kind == PTX_ENTRY:
                text = fatbin[entry + entry_header : entry + entry_header + size].rstrip(b"\0")
                if b".version" not in text:
                    raise FatbinError("the PTX in this object is compressed: compile with nvcc -no-compress")
                texts.append(text)
            if entry_header + size == 0:
                break
            entry += entry_header + size
    return texts


def fingerprint(text: bytes) -> int:
    """FNV-1a over the PTX text: how the runtime finds the translation of the fatbin that the host code registers."""
    value = 0xCBF29CE484222325
    for byte in text:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value
