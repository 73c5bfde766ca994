"""The records of a journal from its bytes, without the program's help."""

import pathlib
import struct

MAGIC_BYTES = 8  # "PLIMJRNL"
HEADER = struct.Struct("<IHHI")  # Length, format, zero, checksum.


def payloads(journal):
    """The serialized JournalRecords of the journal of a run that is over."""
    data = pathlib.Path(journal).read_bytes()
    at = MAGIC_BYTES
    while at < len(data):
        length = HEADER.unpack_from(data, at)[0]
        at += HEADER.size
        if at + length > len(data):
            raise AssertionError(f"{journal} is cut off")
        yield data[at:at + length]
        at += length
