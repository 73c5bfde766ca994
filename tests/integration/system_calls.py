"""Reads what strace wrote of an agent."""

import dataclasses
import re

_LINE = re.compile(r"^(?P<tid>\d+) +(?P<time>[\d.]+) (?P<rest>.*)$")
_CALL = re.compile(r"^(?P<name>\w+)\((?P<arguments>.*)$")
_WRITE = re.compile(r"^\d+<(?P<path>[^>]*)>, .*iov_len=(?P<length>\d+)\}\], 1, (?P<offset>\d+), (?P<flags>\w+)")


@dataclasses.dataclass
class Call:
    """One system call; `arguments` as strace prints them, without what it fills in at the call's end."""
    name: str
    arguments: str


@dataclasses.dataclass(frozen=True)
class Write:
    path: str
    offset: int
    length: int


def options(output):
    """The command line to run a program under."""
    return ["strace", "-f", "-y", "-s", "16", "-ttt", "-o", output]


def threads(path):
    """Thread id -> its system calls in order."""
    calls = {}
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            match = _LINE.match(line)
            call = match and _CALL.match(match["rest"])  # Not "<... resumed>", "+++ exited +++", "--- SIGNAL ---".
            if call:
                calls.setdefault(int(match["tid"]), []).append(Call(call["name"], call["arguments"]))
    return calls


def named(calls, name):
    """The one thread that gave itself this name."""
    (found,) = [
        thread for thread in calls.values()
        if any(call.name == "prctl" and f'PR_SET_NAME, "{name}"' in call.arguments for call in thread)
    ]
    return found


def write_of(call):
    match = _WRITE.match(call.arguments)
    if match is None:
        raise AssertionError(f"not a write of one buffer: {call}")
    return Write(match["path"], int(match["offset"]), int(match["length"]))
