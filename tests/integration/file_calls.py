"""What the threads of a files workload ask of the kernel: traces them, and says what each has to ask for."""

import collections
import csv
import itertools
import math
import re
import shutil
import subprocess
import unittest

import harness

_CALLS = "prctl,open,openat,openat2,creat,preadv2,pwritev2,fsync,fdatasync,clock_nanosleep"
_TRANSFER = re.compile(r"^p(?P<kind>read|write)v2\((?P<fd>\d+)<(?P<path>[^>]*)>[^,]*, \[\{iov_base=.*, iov_len=(?P<length>\d+)\}\], 1, "
                       r"(?P<offset>\d+), \w+\) += (?P<done>-?\d+)")
_OPENING = re.compile(r"^(?:open|openat|openat2|creat)\((?P<arguments>.*)\) += (?P<fd>\d+)<(?P<path>[^>]*)>")

# `length`: the bytes asked for. `fd`: the descriptor.
Transfer = collections.namedtuple("Transfer", "kind path offset length fd")


def need_strace():
    """Skips the test where strace cannot trace."""
    if shutil.which("strace") is None:
        raise unittest.SkipTest("strace is not installed")
    if subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True, check=False, timeout=harness.LONG_S).returncode:
        raise unittest.SkipTest("this machine does not let strace trace")


class Trace:
    """The calls of a program and all that it starts. strace writes a file for each thread in `directory`, which it makes."""

    def __init__(self, directory):
        directory.mkdir()
        self._directory = directory

    @property
    def options(self):
        """What to put before the command line."""
        return ["strace", "-ff", "-y", "-s", "16", "-e", f"trace={_CALLS}", "-o", self._directory / "calls"]

    def _files(self):
        return [path.read_text(errors="replace").splitlines() for path in harness.paths(self._directory)]

    def thread(self, number):
        """The lines of the thread of that number, from 1."""
        (lines,) = [lines for lines in self._files() if any(f'PR_SET_NAME, "qm{number}"' in line for line in lines)]
        return lines

    def threads(self):
        """The numbers of the threads that there were, sorted."""
        found = re.findall(r'PR_SET_NAME, "qm(\d+)"', "\n".join(itertools.chain.from_iterable(self._files())))
        return sorted(map(int, found))

    def transfers(self, number, *lengths):
        """The complete reads and writes of the thread, in order; only those of these lengths, where any are named."""
        found = []
        for line in self.thread(number):
            match = _TRANSFER.match(line)
            if match is None or (lengths and int(match["length"]) not in lengths):
                continue
            if match["done"] != match["length"]:
                raise AssertionError(f"not complete: {line}")
            found.append(Transfer(match["kind"], match["path"], int(match["offset"]), int(match["length"]), int(match["fd"])))
        return found

    def names(self, number, *lengths):
        """The names of the thread's calls from its first transfer of such a length to its last one, in order."""
        lines = self.thread(number)
        at = [index for index, line in enumerate(lines) if (match := _TRANSFER.match(line)) and int(match["length"]) in lengths]
        return [line.partition("(")[0] for line in lines[at[0]:at[-1] + 1]]

    def everywhere(self):
        """All lines of all threads."""
        return list(itertools.chain.from_iterable(self._files()))

    def openings(self, path):
        """The flags of each call that opened a file of this name or path, by whichever thread: {descriptor: [flags, ...]}."""
        found = collections.defaultdict(list)
        for line in self.everywhere():
            match = _OPENING.match(line)
            if match and f"/{match['path']}".endswith(f"/{path}"):
                found[int(match["fd"])].append(set(re.findall(r"\bO_[A-Z_]+\b", match["arguments"])))
        return found

    def opened_with(self, number, length):
        """The flags of the file on which the thread makes transfers of this length; it uses one file."""
        ((descriptor, path),) = {(one.fd, one.path) for one in self.transfers(number, length)}
        return self.openings(path.rpartition("/")[2])[descriptor][-1]


def ranges(threads, files, blocks, hosts=1, host=0):
    """What each thread of a host has: (number of its file, its first block, the end of its blocks). The files have `blocks` each,
    and with several hosts all of these divide each file."""
    if threads <= files:
        of_thread = [(thread, 0, 1) for thread in range(threads)]
    else:
        file_of = [thread * files // threads for thread in range(threads)]
        of_thread = [(file, thread - file_of.index(file), file_of.count(file)) for thread, file in enumerate(file_of)]
    found = []
    for file, place, count in of_thread:
        place, count = host * count + place, count * hosts
        found.append((file, place * blocks // count, (place + 1) * blocks // count))
    return found


def check_exports(test, result, traces, *lengths):
    """Every operation that the threads made with blocks of these lengths is in the exports, with its kind, file and offset, in the order
    in which the thread made it, and no other one is. `traces`: the trace of each host, by its name; without a warm-up."""
    text = test.plimsoll("export", result.results, "--format", "csv").out
    rows = collections.defaultdict(list)
    for row in csv.DictReader(text.splitlines()):
        place = (row["file"], int(row["offset"] or -1))
        rows[row["host"], int(row["qm"])].append((row.get("operation", "write"), int(row["bytes"]), *place))
    logs = test.base / f"logs-{result.results.name}"
    test.plimsoll("export", result.results, "--format", "fio-log", "--output", logs)
    by_path = all(name.startswith("/") for name in result.report["hosts"][0]["workload"]["files"])
    for host, trace in traces.items():
        for number in trace.threads():
            made = [(one.kind, one.length, one.path if by_path else one.path.rpartition("/")[2], one.offset)
                    for one in trace.transfers(number, *lengths)]
            test.assertGreater(len(made), 0, (host, number))
            test.assertEqual(rows.pop((host, number)), made, (host, number))
            (log,) = logs.glob(f"{host}_qm{number}_clat.*.log")
            lines = [list(map(int, line.split(", "))) for line in log.read_text().splitlines()]
            test.assertEqual([("write" if line[2] else "read", line[3], line[4]) for line in lines],
                             [(kind, length, offset) for kind, length, _, offset in made], log.name)
    test.assertEqual(dict(rows), {}, "no other writers")


def chi_squared(counts, expected):
    return sum((count - expected)**2 / expected for count in counts)


def chi_squared_limit(cells):
    """What chi-squared over so many equally likely cells exceeds once in 10 million times (Wilson and Hilferty's formula)."""
    z, degrees = 5.2, cells - 1
    return degrees * (1 - 2 / (9 * degrees) + z * math.sqrt(2 / (9 * degrees)))**3
