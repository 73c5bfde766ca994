"""The records of a journal from its bytes, without the program's help."""

import pathlib
import struct

MAGIC_BYTES = 8  # "PLIMJRNL"
HEADER = struct.Struct("<IHHI")  # Length, format, zero, checksum.


def payloads(journal):
    """The serialized JournalRecords of a journal; what is cut off at its end is left out."""
    data = pathlib.Path(journal).read_bytes()
    at = MAGIC_BYTES
    while at + HEADER.size <= len(data):
        length = HEADER.unpack_from(data, at)[0]
        at += HEADER.size
        if at + length > len(data):
            return
        yield data[at:at + length]
        at += length
