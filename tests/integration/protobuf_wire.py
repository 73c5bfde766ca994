"""The bytes of a protobuf message, for readers that know the numbers of its fields and share no code with who wrote them."""


def varint(data, at):
    """The number that begins at `at`, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of each field of a message, in order: numbers, or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire in (1, 2):
            size, at = (8, at) if wire == 1 else varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise AssertionError(f"field {number} is cut off")
            if wire == 1:
                value = int.from_bytes(value, "little")
        else:
            raise AssertionError(f"field {number} has wire type {wire}")
        yield number, value


def packed(data):
    """The numbers of a packed repeated field."""
    numbers, at = [], 0
    while at < len(data):
        number, at = varint(data, at)
        numbers.append(number)
    return numbers
