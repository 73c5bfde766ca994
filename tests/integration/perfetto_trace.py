"""Reads a Perfetto trace from its bytes alone: numbers of fields are those of Perfetto's published schema."""

import collections

import protobuf_wire

Event = collections.namedtuple("Event", "time_ns kind track name arguments")
Track = collections.namedtuple("Track", "name parent pid")


def _fields(data):
    """The fields of a message, as lists by number."""
    fields = collections.defaultdict(list)
    for number, value in protobuf_wire.fields(data):
        fields[number].append(value)
    return fields


def _only(fields, number, default=None):
    values = fields.get(number, [default])
    if len(values) != 1:
        raise AssertionError(f"{len(values)} fields with number {number}")
    return values[0]


def _packets(data):
    at = 0
    while at < len(data):
        tag, at = protobuf_wire.varint(data, at)
        if tag != 1 << 3 | 2:  # Trace.packet
            raise AssertionError(f"tag {tag} between the packets")
        size, at = protobuf_wire.varint(data, at)
        yield _fields(data[at:at + size])
        at += size


class Trace:
    """Tracks by uuid, events in the order of the file, and the clocks that were told."""

    def __init__(self, data):
        self.tracks, self.events, self.clocks = {}, [], {}
        self._names = {number: {} for number in (1, 2, 3)}  # categories, events, annotations
        cleared = False
        for packet in _packets(data):
            if _only(packet, 10) != 1:
                raise AssertionError("a packet of no sequence, or of another one")
            flags = _only(packet, 13, 0)
            cleared = cleared or flags & 1
            if flags & 2 and not cleared:
                raise AssertionError("names are used before they are told")
            if 12 in packet:
                self._read_names(_fields(_only(packet, 12)))
            if 6 in packet:
                for clock in map(_fields, _fields(_only(packet, 6))[1]):
                    self.clocks[_only(clock, 1)] = _only(clock, 2)
            if 60 in packet:
                self._read_track(_fields(_only(packet, 60)))
            if 11 in packet:
                self._read_event(_only(packet, 8), _fields(_only(packet, 11)))

    def _read_names(self, interned):
        for number, names in self._names.items():
            for entry in map(_fields, interned.get(number, [])):
                names[_only(entry, 1)] = _only(entry, 2).decode()

    def _read_track(self, track):
        uuid = _only(track, 1)
        if uuid in self.tracks or not uuid:
            raise AssertionError(f"track {uuid} is there twice, or has no name")
        pid = _only(_fields(_only(track, 3)), 1) if 3 in track else None
        self.tracks[uuid] = Track(_only(track, 2).decode(), _only(track, 5), pid)

    def _read_event(self, time_ns, event):
        kind = {1: "begin", 2: "end"}[_only(event, 9)]
        arguments = {}
        for annotation in map(_fields, event.get(4, [])):
            value = _only(annotation, 3) if 3 in annotation else _only(annotation, 4)
            arguments[self._names[3][_only(annotation, 1)]] = value
        name = self._names[2][_only(event, 10)] if 10 in event else None
        self.events.append(Event(time_ns, kind, _only(event, 11), name, arguments))
