"""When writes began by the hosts' own clocks, from a journal: what an export does not tell, since it maps them to one timeline.

Numbers of fields are those of proto/plimsoll/v1/journal.proto and frame.proto, which never change.
"""

import lab_support  # noqa: F401  (where the other two are found)
from journal_bytes import payloads
from protobuf_wire import fields

FRAMES_OF_RECORD, HOST_OF_FRAMES, FRAME_OF_FRAMES = 7, 1, 2
STEP, QM, FIRST_SEQ, FIRST_START_NS, OPERATION = 1, 2, 10, 11, 34


def first_writes(journal):
    """{(host's number, step from 1, QM): {number of a write: its start on the host's clock}}, one write of each frame."""
    found = {}
    for record in payloads(journal):
        for number, frames in fields(record):
            if number != FRAMES_OF_RECORD:
                continue
            host = next((value for field, value in fields(frames) if field == HOST_OF_FRAMES), 0)
            for field, frame in fields(frames):
                if field == FRAME_OF_FRAMES:
                    values = dict(fields(frame))
                    if FIRST_SEQ in values and values.get(OPERATION, 0) == 0:
                        key = host, values.get(STEP, 0) + 1, values[QM]
                        found.setdefault(key, {})[values[FIRST_SEQ]] = values[FIRST_START_NS]
    return found
