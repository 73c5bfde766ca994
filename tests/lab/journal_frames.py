"""When writes began by the hosts' own clocks, from a journal: what an export does not tell, since it maps them to one timeline.

Numbers of fields are those of proto/plimsoll/v1/journal.proto and frame.proto, which never change.
"""

import pathlib
import struct

import lab_support  # noqa: F401  (where protobuf_wire is found)
from protobuf_wire import fields

HEAD_BYTES = 8  # "PLIMJRNL"
RECORD = struct.Struct("<IHHI")  # length of the payload, version, zero, checksum
FRAMES_OF_RECORD, HOST_OF_FRAMES, FRAME_OF_FRAMES = 7, 1, 2
STEP, QM, FIRST_SEQ, FIRST_START_NS = 1, 2, 10, 11


def _records(journal):
    data = pathlib.Path(journal).read_bytes()
    at = HEAD_BYTES
    while at < len(data):
        length = RECORD.unpack_from(data, at)[0]
        at += RECORD.size
        yield data[at:at + length]
        at += length


def first_writes(journal):
    """{(host's number, step from 1, QM): {number of a write: its start on the host's clock}}, one write of each frame."""
    found = {}
    for record in _records(journal):
        for number, frames in fields(record):
            if number != FRAMES_OF_RECORD:
                continue
            host = next((value for field, value in fields(frames) if field == HOST_OF_FRAMES), 0)
            for field, frame in fields(frames):
                if field == FRAME_OF_FRAMES:
                    values = dict(fields(frame))
                    if FIRST_SEQ in values:
                        key = host, values.get(STEP, 0) + 1, values[QM]
                        found.setdefault(key, {})[values[FIRST_SEQ]] = values[FIRST_START_NS]
    return found
