"""Peers that mean no good, spoken byte by byte."""

import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 7, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4


def frame(kind, stream=0, payload=b"", flags=0):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def headers(method):
    """A gRPC call's headers, each one as a literal, so that no table is needed."""
    fields = [(":method", "POST"), (":scheme", "http"), (":path", f"/plimsoll.v1.Agent/{method}"),
              (":authority", "agent"), ("content-type", "application/grpc"), ("te", "trailers")]
    block = b""
    for name, value in fields:
        block += b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
    return block


def call(stream, method):
    return frame(HEADERS, stream, headers(method), END_HEADERS)


class Peer:
    """One connection; nothing that the other side does to it is an error."""

    def __init__(self, address, wrap=None):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=10)
        if wrap:
            self.socket = wrap(self.socket)

    def say(self, data):
        """Whether all of it went out."""
        try:
            self.socket.sendall(data)
            return True
        except OSError:
            return False

    def hear(self, size=65536):
        """What came; empty when the other side has closed, or said nothing for as long as the socket waits."""
        try:
            return self.socket.recv(size)
        except OSError:
            return b""

    def frames(self, enough):
        """Frames (kind, stream, payload), until `enough` of them says so or the connection ends."""
        held, found = b"", []
        while not enough(found):
            while len(held) >= 9:
                length = int.from_bytes(held[:3], "big")
                if len(held) < 9 + length:
                    break
                found.append((held[3], int.from_bytes(held[5:9], "big") & 0x7FFFFFFF, held[9:9 + length]))
                held = held[9 + length:]
            if enough(found):
                break
            more = self.hear()
            if not more:
                break
            held += more
        return found

    def pour(self, stream, limit=64 << 20):
        """Sends data as fast as the other side asks for it, until it ends the connection or had enough."""
        room = {0: 60_000, stream: 60_000}
        poured = 0
        while poured < limit:
            size = min(16384, *room.values())
            if size > 0:
                if not self.say(frame(DATA, stream, bytes(size))):
                    return
                poured += size
                room = {of: left - size for of, left in room.items()}
                continue
            updates = self.frames(lambda found: any(kind == WINDOW_UPDATE for kind, _, _ in found))
            if not updates:
                return
            for kind, of, payload in updates:
                if kind == WINDOW_UPDATE and of in room:
                    room[of] += int.from_bytes(payload, "big")

    def closed(self):
        """Whether the other side has closed the connection."""
        while True:
            try:
                if not self.socket.recv(65536):
                    return True
            except TimeoutError:
                return False
            except OSError:
                return True

    def close(self):
        self.socket.close()
