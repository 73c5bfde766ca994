"""Reads what `plimsoll xdisk` printed, and runs it."""

import os
import re

import harness
import path_files

# The guide's line, byte for byte.
HEADER = "BS Proc AIO read% IO Flag IO/s MB/s rMin-ms rMax-ms rAvg-ms WtAvg wMin-ms wMax-ms wAvg-ms WwAvg"
COLUMNS = HEADER.split()
READ_COLUMNS, WRITE_COLUMNS = COLUMNS[8:12], COLUMNS[12:]
# A distribution's columns behind them.
SHARES = "us 1 2 4 8 16 32 64 128 256 512 ms 1 2 4 8 16 32 64 128 256 512 s 1".split()


def figures(line):
    """The sixteen columns of a line by name, and the cells behind them as "more"."""
    cells = line.split()
    return {**dict(zip(COLUMNS, cells)), "more": cells[len(COLUMNS):]}


def lines_of(text):
    """The lines of figures: those that begin with a block size and two numbers."""
    return [figures(line) for line in text.splitlines() if re.match(r"\d+[KM]? +\d+ +\d+ +\d+ +[SR]C? ", line)]


def size_of(name):
    """Bytes of a block size as it is printed."""
    return int(name.rstrip("KM")) << {"K": 10, "M": 20}.get(name[-1], 0)


def number(text):
    """A printed number as a float; en_US separates thousands by commas."""
    return float(text.replace(",", ""))


def sides_of(report, host=None):
    """The reads and the writes of the report's step, of one host or of all together: (latencies, operations per second) each, or
    None for what the run did not do."""
    (step,) = report["steps"]

    def scope_of(measured):
        (scope,) = [one for one in measured["scopes"] if one["kind"] == ("host" if host else "cluster") and one["host"] == (host or "")]
        return scope

    # xdisk adds the rates of its hosts, which in one pass end at different times.
    def rate_of(measured, of):
        return sum(of(one) for one in measured["scopes"] if one["kind"] == "host" and one["host"] == (host or one["host"]))

    main = (scope_of(step)["latency"], rate_of(step, lambda one: one["iops"]))
    if report["plan"].get("read_percent", 0) == 100:
        return main, None
    operations = harness.operations(step)
    if "read" not in operations:
        return None, main
    reads = operations["read"]
    return (scope_of(reads)["latency"], rate_of(reads, lambda one: one["throughput"]["iops"])), main


class XdiskTest(path_files.PathsTest):

    def start_xdisk(self, *arguments, wrap=(), program=("plimsoll", "xdisk")):
        return self.start(harness.Process, [*wrap, harness.binary(program[0]), *program[1:], *map(str, arguments)])

    def xdisk(self, *arguments, code=0, **how):
        """Runs xdisk to its end. What it prints of a run must be what the report has."""
        return self.ended(self.start_xdisk(*arguments, **how), code)

    def ended(self, process, code=0, timeout_s=120):
        """Waits for xdisk, and compares the lines that it printed for the whole run with the report."""
        result = self.finished(process, None, code, timeout_s)
        lines = lines_of(result.out)
        if result.code == 0 and lines:
            report = self.report_of(result)
            # Lines of intervals are no lines of the run, and de_DE separates thousands by points.
            words = process.argv[[os.path.basename(word) in ("plimsoll", "xdisk") for word in process.argv].index(True):]
            if not any(word.startswith("-i") or "de_DE" in word for word in words):
                labels = [host["label"] for host in report["hosts"]]
                self.assertIn(len(lines), (1, 1 + len(labels)), result)
                for line, host in zip(lines, [None, *labels]):
                    self.assert_reported(line, report, host)
        return result

    def report_of(self, result):
        """Reads the report of the run, which must be one of operations that took time."""
        (path,) = re.findall(r"its page are in (\S+)$", result.err, re.M)
        report = harness.report_of(self.base / path)
        for step in report["steps"]:
            for scope in step["scopes"]:
                self.assertEqual(scope["bytes"], scope["writes"] * step["block_size_bytes"], scope)
            # A single process with few blocks may have nothing but reads, or nothing but writes.
            for measured in (step, *step.get("operations", [])):
                for scope in (*harness.scopes(measured, "host"), harness.cluster(measured)):
                    self.assertGreater(scope["latency"]["count"], 0, "nothing was measured")
                    self.assertGreater(scope["latency"]["min_ns"], 0, "an operation took no time")
        return report

    def assert_reported(self, line, report, host=None):
        """The line has the figures that the report has of this host, or of all hosts together."""
        self.assertEqual((size_of(line["BS"]), line["read%"]),
                         (report["steps"][0]["block_size_bytes"], str(report["plan"].get("read_percent", 0))))
        sides = sides_of(report, host)
        for columns, side in zip((READ_COLUMNS, WRITE_COLUMNS), sides):
            if side is None:
                self.assertEqual([line[column] for column in columns], ["0.0"] * 4, line)
                continue
            latency, _ = side
            for column, name in zip(columns, ("min_ns", "max_ns", "avg_ns", "wavg_ns")):
                expected = float(latency[name]) / 1e6
                self.assertLessEqual(abs(number(line[column]) - expected), 0.005 * expected + 0.0006, (column, line, latency))
        expected = sum(side[1] for side in sides if side is not None)
        shown = number(line["IO/s"])
        self.assertGreater(shown, 0, line)
        self.assertLessEqual(abs(shown - expected), 0.005 * expected + 0.5, (line, expected))

    def line(self, result):
        (line,) = lines_of(result.out)
        return line

    def created(self, stem="F", processes=1, size="1m", *more):
        """Creates files of this size for so many processes; the names of all as -f takes them."""
        names = f"{self.dir}/{stem}..."
        self.xdisk(f"-C{size}", f"-M{processes}", "-b64k", "-q", "-f", names, *more)
        return names

    def refused(self, pattern, *arguments, code=2):
        result = self.xdisk(*arguments, code=code)
        errors = [line for line in result.errors if line.startswith("plimsoll: ")]
        self.assertEqual(len(errors), 1, result)
        self.assertRegex(errors[0], f"^plimsoll: {pattern}")
        return result

    def assert_figures(self, line, reads, writes):
        """The sides that were used have times, a side that was not has 0.0, and MB/s follow from IO/s."""
        for columns, used in ((READ_COLUMNS, reads), (WRITE_COLUMNS, writes)):
            values = [line[column] for column in columns]
            if not used:
                self.assertEqual(values, ["0.0"] * 4)
                continue
            # The least and the mean of a cache may be below what is printed.
            self.assertGreater(float(values[1]), 0, line)
            least, most, mean, weighted = map(float, values)
            self.assertTrue(least <= mean <= most and least <= weighted * 1.01 and weighted <= most * 1.01, line)
        per_second, megabytes = float(line["IO/s"]), float(line["MB/s"])
        self.assertGreater(per_second, 0, line)
        self.assertGreater(megabytes, 0, line)
        expected = per_second * size_of(line["BS"]) / (1 << 20)
        self.assertLessEqual(abs(megabytes - expected), 0.01 * expected + 0.001, line)
