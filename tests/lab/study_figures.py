"""The study's figures: what the runs and comparisons say, and whether that is what it should be."""

import dataclasses
import json
import math
import pathlib
import statistics

import study_paired
from image import LabError
from study_paired import Estimate, Shift
from study_run import SETTINGS_FILE


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


def round_trips(block_bytes, wsize_bytes):
    """Of one write: a WRITE that is answered when it is stable; above wsize WRITEs side by side, and a COMMIT after them."""
    return 1 if block_bytes <= wsize_bytes else 2


class Figures:
    """What a directory of the study holds."""

    def __init__(self, out):
        self.out = pathlib.Path(out)
        self.study = json.loads((self.out / SETTINGS_FILE).read_text())
        if "paired" not in self.study:
            raise LabError(f"{self.out} is a study of another version: measure again")
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
        self.shifts = [self._shift(paired) for paired in self.study["paired"]]

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

    def _shift(self, paired):
        def read(name):
            return json.loads((self.out / paired["name"] / name).read_text())

        trips = round_trips(paired["block_size_bytes"], self.wsize_bytes)
        p50_ms, ping_ms = study_paired.differences_ms(read("ab.json"), read("run/report.json"), paired["pings"])
        return Shift(paired["queue_managers"], paired["block_size_bytes"], paired["delay_us"], trips, Estimate.of(p50_ms),
                     Estimate.of(ping_ms).times(trips), study_paired.p50_row(read("compare.json")))

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
        checks = [Check(shift.verdict, str(shift)) for shift in self.shifts]
        for queue_managers in self.study["queue_managers"]:
            for size in self.block_sizes:
                writes, commits, right = self.operations_a_write(queue_managers, size)
                parts = math.ceil(size / self.wsize_bytes)
                expected = "one WRITE, no COMMIT" if parts == 1 else f"{parts} WRITEs and a COMMIT"
                checks.append(Check("PASS" if right else "FAIL", f"{size // 1024:>3} KiB, {queue_managers} QM: a write is "
                                    f"{expected}; counted {writes} WRITEs, {commits} COMMITs"))
        return checks
