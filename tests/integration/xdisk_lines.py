"""Reads what `plimsoll xdisk` printed, and runs it."""

import json
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


class XdiskTest(path_files.PathsTest):

    def start_xdisk(self, *arguments, wrap=(), program=("plimsoll", "xdisk")):
        return self.start(harness.Process, [*wrap, harness.binary(program[0]), *program[1:], *map(str, arguments)])

    def xdisk(self, *arguments, code=0, **how):
        process = self.start_xdisk(*arguments, **how)
        process.finish(120)
        return self.result_of(process, None, code)

    def report_of(self, result):
        (path,) = re.findall(r"its page are in (\S+)$", result.err, re.M)
        return json.loads((self.base / path / "report.json").read_text())

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
        """The sides that were used have times, the other one 0.0, and MB/s follow from IO/s."""
        for columns, used in ((READ_COLUMNS, reads), (WRITE_COLUMNS, writes)):
            values = [line[column] for column in columns]
            if not used:
                self.assertEqual(values, ["0.0"] * 4)
                continue
            least, most, mean, weighted = map(float, values)
            self.assertTrue(least <= mean <= most and least <= weighted * 1.01 and weighted <= most * 1.01, line)
        per_second, megabytes = float(line["IO/s"]), float(line["MB/s"])
        expected = per_second * size_of(line["BS"]) / (1 << 20)
        self.assertLessEqual(abs(megabytes - expected), 0.01 * expected + 0.001, line)
