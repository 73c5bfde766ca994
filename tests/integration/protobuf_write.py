"""The bytes of a protobuf message from the numbers of its fields: messages that no program of ours would write."""


def varint(value):
    value &= (1 << 64) - 1
    data = b""
    while value > 0x7F:
        data += bytes([value & 0x7F | 0x80])
        value >>= 7
    return data + bytes([value])


def signed(value):
    """A sint32 or sint64, for field()."""
    return value << 1 ^ value >> 63


def field(number, value):
    """A number, a text, or bytes: a message of its own."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def packed(number, values):
    return field(number, b"".join(map(varint, values)))
