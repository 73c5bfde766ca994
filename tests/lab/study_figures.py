"""The study's figures: what the runs say, how much later a write comes with a delay, and whether that is what it should be.

A shift is taken within a round: p50 with the delay, less the mean of the measurements without it before and after (which have
a delay too, see study_run.BASE_US). What it may be off by is stated by `RunsShift.error_ms`.
"""

import dataclasses
import functools
import json
import math
import pathlib
import statistics

import study_toggle
from study_run import SETTINGS_FILE
from study_shift import CHANCE, RunsShift

# report.json's percentiles are at most so much too high.
RESOLUTION = 0.001


@dataclasses.dataclass
class Cell:
    """One block size in one run."""
    p50_ms: float
    avg_ms: float
    writes: int
    nfs: dict  # of report.json's load: operations and times of WRITE and COMMIT; empty on the disk


@dataclasses.dataclass
class Check:
    verdict: str  # PASS, FAIL or INCONCLUSIVE
    text: str


@functools.lru_cache
def student_t(chance, freedom):
    """The t that is exceeded, to either side, with this chance."""
    def area(angle, steps=2000):
        width = angle / steps
        values = [math.cos(n * width) ** (freedom - 1) for n in range(steps + 1)]
        return width / 3 * (values[0] + values[-1] + 4 * sum(values[1:-1:2]) + 2 * sum(values[2:-1:2]))

    whole, low, high = area(math.pi / 2), 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if area(middle) / whole < 1 - chance else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def round_trips(block_bytes, wsize_bytes):
    """Of one write: a WRITE that is answered when it is stable; above wsize WRITEs side by side, and a COMMIT after them."""
    return 1 if block_bytes <= wsize_bytes else 2


class Figures:
    """What a directory of the study holds."""

    def __init__(self, out):
        self.out = pathlib.Path(out)
        self.study = json.loads((self.out / SETTINGS_FILE).read_text())
        self.block_sizes = self.study["block_sizes_bytes"]
        self.delays_us = self.study["delays_us"]
        self.wsize_bytes = self.study["wsize_bytes"]
        self._cells, self.environment = {}, None
        for run in self.study["runs"]:
            report = json.loads((self.out / run["name"] / "report.json").read_text())
            self.environment = {"host": report["hosts"][0], "began": self.study["begun"]}
            for step in report["steps"]:
                (scope,) = [each for each in step["scopes"] if each["kind"] == "cluster"]
                latency = scope["latency"]
                self._cells[run["condition"], run["queue_managers"], step["block_size_bytes"]] = Cell(
                    latency["p50_ns"] / 1e6, latency["avg_ns"] / 1e6, scope["writes"], step["load"][0].get("nfs") or {})

    def conditions(self, place, delay_us):
        return [each["number"] for each in self.study["conditions"] if (each["place"], each["delay_us"]) == (place, delay_us)]

    def cells(self, place, delay_us, queue_managers, block_bytes):
        """One a repeat."""
        return [self._cells[number, queue_managers, block_bytes] for number in self.conditions(place, delay_us)]

    def p50_ms(self, *which):
        return statistics.fmean(cell.p50_ms for cell in self.cells(*which))

    def ping_ms(self, place, delay_us):
        pings = {each["number"]: each["ping_ms"] for each in self.study["conditions"]}
        return statistics.fmean(statistics.fmean(pings[number]) for number in self.conditions(place, delay_us))

    def operations(self, queue_managers, block_bytes, delay_us, kind, field):
        """Mean of a time of one operation, as the client's kernel has it, weighted by the operations; None without any."""
        counts = [cell.nfs[kind] for cell in self.cells("nfs", delay_us, queue_managers, block_bytes) if kind in cell.nfs]
        total = sum(each["operations"] for each in counts)
        return sum(each[field] * each["operations"] for each in counts) / total if total else None

    def _differences(self, delay_us, value):
        """Of each round: `value` of the delayed condition less the mean of those of its two neighbours without delay."""
        bases = self.conditions("nfs", 0)
        differences = []
        for number in self.conditions("nfs", delay_us):
            before = max(each for each in bases if each < number)
            after = min(each for each in bases if each > number)
            differences.append(value(number) - (value(before) + value(after)) / 2)
        return differences

    def _scatter_ms(self, delay_us, queue_managers, block_bytes):
        """Standard deviation of one round's shift, and its degrees of freedom.

        Block sizes on the same side of wsize are taken together: what scatters is the machine.
        """
        alike = [size for size in self.block_sizes if (size <= self.wsize_bytes) == (block_bytes <= self.wsize_bytes)]
        rounds = [self._differences(delay_us, lambda number, size=size: self._cells[number, queue_managers, size].p50_ms)
                  for size in alike]
        if len(rounds[0]) < 2:
            return math.inf, 1
        return math.sqrt(statistics.fmean(map(statistics.variance, rounds))), len(alike) * (len(rounds[0]) - 1)

    def shift(self, delay_us, queue_managers, block_bytes):
        def p50_ms(number):
            return self._cells[number, queue_managers, block_bytes].p50_ms

        pings = {each["number"]: statistics.fmean(each["ping_ms"]) for each in self.study["conditions"]}
        differences = self._differences(delay_us, p50_ms)
        deviation_ms, freedom = self._scatter_ms(delay_us, queue_managers, block_bytes)
        scatter_ms = math.inf
        if math.isfinite(deviation_ms):
            scatter_ms = student_t(CHANCE, freedom) * deviation_ms / math.sqrt(len(differences))
        trips = round_trips(block_bytes, self.wsize_bytes)
        expected_ms = 2 * trips * delay_us / 1000
        ping_ms = trips * statistics.fmean(self._differences(delay_us, pings.__getitem__))
        # A write's packets need not be late by what a ping's are, but by something like it.
        error_ms = (scatter_ms + RESOLUTION * self.p50_ms("nfs", delay_us, queue_managers, block_bytes) +
                    abs(ping_ms - expected_ms))
        return RunsShift(block_bytes, delay_us, trips, expected_ms, ping_ms, statistics.fmean(differences), error_ms,
                         queue_managers)

    def toggled_shifts(self):
        """Of the steps in which the delay came and went."""
        return [shift for step in self.study.get("toggled", [])
                for shift in study_toggle.shifts_of(step, round_trips(step["block_size_bytes"], self.wsize_bytes))]

    def shifts(self, queue_managers):
        return [self.shift(delay_us, queue_managers, size) for delay_us in self.delays_us for size in self.block_sizes]

    def operations_a_write(self, queue_managers, block_bytes):
        """WRITEs and COMMITs that NFS made for one of our writes; over all runs, so to a few in flight when they were read."""
        cells = [cell for delay_us in (0, *self.delays_us)
                 for cell in self.cells("nfs", delay_us, queue_managers, block_bytes)]
        writes = sum(cell.nfs["write"]["operations"] for cell in cells)
        commits = sum(cell.nfs["commit"]["operations"] for cell in cells)
        parts = math.ceil(block_bytes / self.wsize_bytes)
        edge = parts * queue_managers * len(cells)
        if block_bytes <= self.wsize_bytes:
            return writes, commits, writes > 0 and commits == 0
        return writes, commits, commits > 0 and abs(writes - parts * commits) <= edge < writes

    def checks(self):
        """All that must hold."""
        checks = []
        for queue_managers in self.study["queue_managers"]:
            for size in self.block_sizes:
                writes, commits, right = self.operations_a_write(queue_managers, size)
                parts = math.ceil(size / self.wsize_bytes)
                expected = "one WRITE, no COMMIT" if parts == 1 else f"{parts} WRITEs and a COMMIT"
                checks.append(Check("PASS" if right else "FAIL", f"{size // 1024:>3} KiB, {queue_managers} QM: a write is "
                                    f"{expected}; counted {writes} WRITEs, {commits} COMMITs"))
            checks += [Check(shift.verdict, str(shift)) for shift in self.shifts(queue_managers)]
        checks += [Check(shift.verdict, str(shift)) for shift in self.toggled_shifts()]
        return checks
