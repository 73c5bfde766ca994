"""Runs a program under the system-call filter of a systemd unit: seccomp_exec.py UNIT errno|kill PROGRAM [ARGUMENT...]

`errno` denies as the unit does; `kill` ends the program at its first call that is not allowed, so that none goes unseen.
"""

import errno
import os
import pathlib
import subprocess
import sys

# What systemd always allows beside the list (systemd.exec(5), SystemCallFilter=).
IMPLIED = {"@default"}


def values(unit, key):
    """The values of a key in the unit, in order."""
    found = []
    for line in pathlib.Path(unit).read_text().splitlines():
        name, separator, value = line.partition("=")
        if separator and name == key:
            found.append(value.strip())
    return found


def expand(item):
    """System calls that an item of the list names: a group (@...) or one call."""
    if not item.startswith("@"):
        return {item}
    text = subprocess.run(["systemd-analyze", "syscall-filter", item], capture_output=True, text=True, check=True).stdout
    calls = set()
    for line in text.splitlines()[1:]:
        name = line.strip()
        if name and not name.startswith("#"):
            calls |= expand(name)
    return calls


def allowed(unit):
    """The calls that the unit's SystemCallFilter= lines leave, which must begin with a list of allowed ones."""
    lines = values(unit, "SystemCallFilter")
    if not lines or lines[0].startswith("~"):
        raise ValueError(f"{unit} has no list of allowed system calls")
    calls = set().union(*map(expand, IMPLIED))
    for line in lines:
        named = set().union(*map(expand, line.removeprefix("~").split()))
        calls = calls - named if line.startswith("~") else calls | named
    return calls


def load(unit, action):
    import seccomp  # pylint: disable=import-outside-toplevel

    (number,) = values(unit, "SystemCallErrorNumber")
    deny = seccomp.ERRNO(getattr(errno, number)) if action == "errno" else seccomp.KILL_PROCESS
    rules = seccomp.SyscallFilter(defaction=deny)
    for call in sorted(allowed(unit)):
        try:
            rules.add_rule(seccomp.ALLOW, call)
        except (RuntimeError, ValueError):  # Another machine's call.
            pass
    rules.load()


if __name__ == "__main__":
    load(sys.argv[1], sys.argv[2])
    os.execvp(sys.argv[3], sys.argv[3:])
