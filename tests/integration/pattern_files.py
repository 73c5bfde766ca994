"""Pattern files, written and read by the numbers of their fields: no code is shared with the programs."""

import struct

import protobuf_wire
from protobuf_write import field, varint

MAGIC = b"PLIMPTRN"
PAGE_BYTES = 4096
CHUNK_ENTRIES = 16_384


def delimited(message):
    return varint(len(message)) + message


def write(path, streams, length_s):
    """Writes a file of these streams: lists of (gap in seconds, pages), one write each."""
    header = field(1, 1) + field(2, "7f3a21")
    chunks = b""
    for number, stream in enumerate(streams):
        paged = sum(pages for _, pages in stream) * PAGE_BYTES
        header += field(3, field(1, "node1") + field(2, f"QM{number + 1}") + field(3, len(stream)) + field(4, len(stream)) +
                        field(5, paged) + field(6, paged) + field(7, round(length_s * 1e9)))
        for at in range(0, len(stream), CHUNK_ENTRIES):
            part = stream[at:at + CHUNK_ENTRIES]
            gaps = b"".join(struct.pack("<I", round(gap_s * 1e9)) for gap_s, _ in part)
            writes = b"".join(struct.pack("<I", (1 << 16) + pages) for _, pages in part)
            chunks += delimited(field(1, number) + field(2, gaps) + field(3, writes))
    path.write_bytes(MAGIC + delimited(header) + chunks)
    return path


def read(path):
    """The streams of a file: of each its host, queue manager, length in seconds, and (moment in ns, pages) of each write."""
    data = path.read_bytes()
    assert data.startswith(MAGIC), data[:8]
    at, messages = len(MAGIC), []
    while at < len(data):
        size, at = protobuf_wire.varint(data, at)
        messages.append(data[at:at + size])
        at += size
    streams = []
    for number, stream in protobuf_wire.fields(messages[0]):
        if number == 3:
            fields = dict(protobuf_wire.fields(stream))
            streams.append({"host": fields[1].decode(), "queue_manager": fields[2].decode(), "stated_writes": fields[4],
                            "bytes": fields[5], "paged_bytes": fields[6], "length_s": fields[7] / 1e9,
                            "per_second": bool(fields.get(8)), "writes": [], "end_ns": 0})
    for message in messages[1:]:
        fields = dict(protobuf_wire.fields(message))
        stream = streams[fields.get(1, 0)]
        for (gap_ns,), (packed,) in zip(struct.iter_unpack("<I", fields[2]), struct.iter_unpack("<I", fields[3])):
            count, pages = packed >> 16, packed & 0xFFFF
            stream["writes"] += [(stream["end_ns"] + gap_ns * i // count, pages) for i in range(1, count + 1)]
            stream["end_ns"] += gap_ns
    return streams
