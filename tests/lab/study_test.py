"""A delay in the network shows in p50 twice for each round trip, once each way; and the study's checks can fail."""

import datetime
import json
import math
import pathlib
import tempfile
import unittest
from xml.etree import ElementTree

import lab_support
import study_paired
import study_pictures
import study_tables
from image import LabError
from lab_support import harness
from study_figures import Figures
from study_paired import CHANCE, LEAST_ROUNDS
from study_run import SETTINGS_FILE, Study, begin

DELAY_US = 1000
# Above wsize there are two round trips.
BLOCK_SIZES = [4096, 131072]
STEP_S, ROUNDS = 2, 20
BASE_MS, LATE_MS = (8.0, 8.1, 7.9, 8.0, 8.1, 8.0), (10.0, 10.2, 9.9, 10.1, 10.1, 10.0)


def _step(size, p50_ms, start_s=0, commits=0):
    parts = 1 + (size > 65536)
    start = datetime.datetime.fromtimestamp(start_s, datetime.timezone.utc)
    return {"block_size_bytes": size, "start": f"{start:%Y-%m-%dT%H:%M:%S.%f}000Z", "measured_ns": 2_000_000_000,
            "scopes": [{"kind": "host"},
                       {"kind": "cluster", "writes": 100, "latency": {"p50_ns": p50_ms * 1e6, "avg_ns": p50_ms * 1e6}}],
            "load": [{"nfs": {"write": {"operations": 100 * parts, "round_trip_ms": 7, "execute_ms": 7.5},
                              "commit": {"operations": 100 * commits, "round_trip_ms": 3, "execute_ms": 3.5}}}]}


def _write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def _paired(directory, base_ms, late_ms, base_ping_ms, late_ping_ms, queue_managers=1, size=4096, findings=("worse",)):
    """Rounds that nobody measured, 10 s each: one value a round; a ping of None is missing."""
    name = f"paired-{size}-{queue_managers}"
    steps, rounds, pings = [], [], []
    for n, values in enumerate(zip(base_ms, late_ms, base_ping_ms, late_ping_ms)):
        order = "AB" if n % 3 else "BA"
        round_ = {"order": order, "a": "run", "b": "run"}
        for place, letter in enumerate(order):
            start_s = 1_000_000 + 10 * n + 5 * place
            round_[f"{letter.lower()}_steps"] = [len(steps), 1]
            p50_ms, ping_ms = values[letter == "B"], values[2 + (letter == "B")]
            steps.append(_step(size, p50_ms, start_s))
            if ping_ms is not None:
                pings.append([start_s + 0.1, start_s + 0.6, [ping_ms - 0.1, ping_ms, ping_ms + 5]])
            # Batches that are not wholly within the step, while the other delay may be set.
            pings += [[start_s - 0.1, start_s + 0.4, [90.0]], [start_s + 1.8, start_s + 2.1, [90.0]]]
        rounds.append(round_)
    _write(directory / name / "ab.json", {"rounds": rounds})
    _write(directory / name / "run" / "report.json", {"steps": steps})
    rows = [{"figure": "iops"}]
    rows += [{"figure": "p50", "ratio": 1.25, "low": 1.24, "high": 1.26, "finding": finding} for finding in findings]
    _write(directory / name / "compare.json", {"block_sizes": [{"pairs": [{"rows": rows}]}]})
    return {"name": name, "queue_managers": queue_managers, "block_size_bytes": size, "delay_us": DELAY_US, "rounds": len(rounds),
            "pings": pings}


def invented(directory, commits=(0, 0, 1), **paired):
    """A study that nobody measured: tables of two rounds, 4, 64 and 128 KiB; comparisons as `paired` has them."""
    sizes = [4096, 65536, 131072]
    study = {"begun": "2026-01-01T00:00:00+00:00", "block_sizes_bytes": sizes, "queue_managers": [1], "delays_us": [DELAY_US],
             "wsize_bytes": 65536, "base_us": 1000, "duration_s": 1, "mount": "hard", "processors": 2, "load_average": [1.0],
             "conditions": [], "runs": [], "paired": []}
    for number in range(4):
        delay_us = DELAY_US if number % 2 else 0
        condition = {"place": "nfs", "delay_us": delay_us}
        study["conditions"].append({"number": number, **condition, "ping_ms": [3.1 if delay_us else 1] * 2})
        study["runs"].append({"name": str(number), "condition": number, **condition, "queue_managers": 1})
        steps = [_step(size, (8 if size <= 65536 else 12) + 2 * (number % 2) + number / 100, commits=commits[n])
                 for n, size in enumerate(sizes)]
        _write(directory / str(number) / "report.json", {"hosts": [{"kernel": "Linux 6"}], "steps": steps})
    if paired:
        study["paired"].append(_paired(directory, **paired))
    _write(directory / SETTINGS_FILE, study)
    return Figures(directory)


class Counters(unittest.TestCase):
    """What the checks make of NFS's own counters."""

    def test_a_commit_where_there_should_be_none_fails(self):
        for commits, verdict in (((0, 0, 1), "PASS"), ((1, 0, 1), "FAIL"), ((0, 0, 0), "FAIL"), ((0, 0, 2), "FAIL")):
            with tempfile.TemporaryDirectory() as place:
                verdicts = {check.verdict for check in invented(pathlib.Path(place), commits).checks()}
            self.assertEqual("FAIL" in verdicts, verdict == "FAIL", commits)


class Paired(unittest.TestCase):
    """What is made of rounds with the delay and without."""

    def shift(self, late_ms, base_ms=BASE_MS, late_ping_ms=(3.1,) * 6, base_ping_ms=(1.0,) * 6, **more):
        with tempfile.TemporaryDirectory() as place:
            figures = invented(pathlib.Path(place), base_ms=base_ms * 3, late_ms=late_ms * 3, base_ping_ms=base_ping_ms * 3,
                               late_ping_ms=late_ping_ms * 3, **more)
        (shift,) = figures.shifts
        self.assertIn((shift.verdict, str(shift)), [(check.verdict, check.text) for check in figures.checks()])
        return shift

    def test_two_milliseconds_pass_whatever_the_machine_does_meanwhile(self):
        self.assertEqual(self.shift(LATE_MS).verdict, "PASS")
        self.assertEqual(self.shift((10.0, 13.1, 11.9, 18.0, 15.1, 10.0), (8.0, 11.0, 10.0, 16.0, 13.0, 8.1)).verdict, "PASS")

    def test_none_or_twice_as_much_fails(self):
        self.assertEqual(self.shift((8.0, 8.1, 7.9, 8.0, 8.1, 8.05)).verdict, "FAIL")
        self.assertEqual(self.shift((12.0, 12.1, 11.9, 12.0, 12.1, 12.05)).verdict, "FAIL")

    def test_above_wsize_there_are_two_round_trips(self):
        late_ms = [each + 2 for each in LATE_MS]
        shift = self.shift(late_ms, size=131072)
        self.assertEqual((shift.expected_ms, shift.verdict), (4.0, "PASS"))
        self.assertAlmostEqual(shift.ping.ms, 4.2)
        self.assertEqual(self.shift(LATE_MS, size=131072).verdict, "FAIL")

    def test_a_delay_that_is_later_than_it_was_set_is_shown_by_ping(self):
        late_ms = (10.9, 11.1, 10.8, 10.9, 11.0, 10.9)
        self.assertEqual(self.shift(late_ms).verdict, "FAIL")
        self.assertEqual(self.shift(late_ms, late_ping_ms=(4.0,) * 6).verdict, "PASS")

    def test_a_delay_that_ping_does_not_have_proves_nothing(self):
        self.assertEqual(self.shift([each + 0.5 for each in BASE_MS], late_ping_ms=(1.5,) * 6).verdict, "INCONCLUSIVE")

    def test_what_scatters_proves_nothing(self):
        self.assertEqual(self.shift((10.0, 15.1, 5.9, 12.0, 8.1, 9.0)).verdict, "INCONCLUSIVE")
        late_ms = (10.9, 11.1, 10.8, 10.9, 11.0, 10.9)
        self.assertEqual(self.shift(late_ms, late_ping_ms=(4.0, 0.5, 6.0, 4.1, 9.0, 0.9)).verdict, "INCONCLUSIVE")

    def test_several_queue_managers_may_show_less_and_never_more(self):
        for more_ms, verdict in ((0, "PASS"), (1, "PASS"), (2, "PASS"), (2.8, "FAIL"), (4, "FAIL")):
            late_ms = [each + more_ms for each in BASE_MS]
            self.assertEqual(self.shift(late_ms, queue_managers=4).verdict, verdict, more_ms)
        self.assertEqual(self.shift((10.0, 15.1, 5.9, 12.0, 8.1, 9.0), queue_managers=4).verdict, "INCONCLUSIVE")

    def test_sides_are_compared_within_their_round_only(self):
        # Between rounds the machine changes by more than the delay adds; steps of either side may come first.
        base_ms = [8.0 + 3 * n for n in range(LEAST_ROUNDS)]
        with tempfile.TemporaryDirectory() as place:
            (shift,) = invented(pathlib.Path(place), base_ms=base_ms, late_ms=[each + 2 for each in base_ms],
                                base_ping_ms=base_ms, late_ping_ms=[each + 2.1 for each in base_ms]).shifts
        for estimate, expected_ms in ((shift.p50, 2.0), (shift.ping, 2.1)):
            for value_ms in (estimate.ms, estimate.low_ms, estimate.high_ms):
                self.assertAlmostEqual(value_ms, expected_ms)

    def test_pings_count_for_the_step_that_they_lie_in_and_a_round_without_has_none(self):
        with tempfile.TemporaryDirectory() as place:
            name = pathlib.Path(place)
            paired = _paired(name, (8.0,) * 3, (10.0,) * 3, (1.0, None, 1.0), (3.0, 3.0, 3.5))
            ab, report = (json.loads((name / paired["name"] / each).read_text()) for each in ("ab.json", "run/report.json"))
            p50_ms, ping_ms = study_paired.differences_ms(ab, report, paired["pings"])
        self.assertEqual(p50_ms, [2.0] * 3)
        self.assertEqual(ping_ms, [2.0, 2.5], "batches at the edges of a step count for none")

    def test_fewer_rounds_than_are_needed_have_no_interval(self):
        self.assertEqual(study_paired.interval_of_median(range(LEAST_ROUNDS), CHANCE), (0, LEAST_ROUNDS - 1))
        self.assertEqual(study_paired.interval_of_median(range(LEAST_ROUNDS - 1), CHANCE), (-math.inf, math.inf))
        few = LEAST_ROUNDS - 1
        with tempfile.TemporaryDirectory() as place:
            for late_ping_ms in ((3.1,) * few, (None,) * few):
                (shift,) = invented(pathlib.Path(place), base_ms=(8.0,) * few, late_ms=(10.0,) * few, base_ping_ms=(1.0,) * few,
                                    late_ping_ms=late_ping_ms).shifts
                self.assertEqual(shift.verdict, "INCONCLUSIVE")

    def test_the_default_rounds_leave_out_the_outermost(self):
        self.assertEqual(study_paired.interval_of_median(range(24), CHANCE), (3, 20))


class Page(unittest.TestCase):
    """What docs/nfs.md gets of a study."""

    def test_tables_and_pictures_are_of_the_figures(self):
        with tempfile.TemporaryDirectory() as place:
            figures = invented(pathlib.Path(place), base_ms=(8.0,) * 12, late_ms=(10.01,) * 12, base_ping_ms=(1.0,) * 12,
                               late_ping_ms=(3.1,) * 12)
            tables = study_tables.markdown(figures)
            pictures = study_pictures.pictures(figures)
        shift = ("| 4&nbsp;KiB | 1 | + 1 ms | 1 | 2 | 2.10 (2.10 to 2.10) | **2.01** (2.01 to 2.01) | 1.25 (1.24 to 1.26) | worse "
                 "| PASS |")
        self.assertIn(shift, tables)
        self.assertLess(tables.index(shift), tables.index("p50 of a write"), "the result leads")
        self.assertIn("--paired 1:4 --paired-delays-us 1000 --paired-rounds 12 --rounds 2 ", tables)
        self.assertIn("| 4&nbsp;KiB | 8.01 (8.00–8.02) | 10.02 (10.01–10.03) |", tables)
        self.assertIn("| 128&nbsp;KiB | + 1 ms | 2.0 + 1 | 14.02 | 7.00 | 7.50 | 3.00 | 3.50 |", tables)
        self.assertEqual(set(pictures), set(study_pictures.NAMES))
        for (name, picture), points in zip(pictures.items(), (1, 6)):
            self.assertIn(f"images/{name}", tables)
            marks = [each for each in ElementTree.fromstring(picture).iter() if "transform" in each.attrib]
            self.assertGreater(len(marks), points, "a mark for each block size, beside the legend's")

    def test_a_comparison_without_p50_has_no_finding(self):
        values = {f"{side}_{of}ms": (1.0,) * 12 for side in ("base", "late") for of in ("", "ping_")}
        with tempfile.TemporaryDirectory() as place:
            tables = study_tables.markdown(invented(pathlib.Path(place), **values, findings=()))
        self.assertIn("| 0.00 (0.00 to 0.00) | **0.00** (0.00 to 0.00) | – | – | INCONCLUSIVE |", tables)

    def test_without_comparisons_there_are_the_tables(self):
        with tempfile.TemporaryDirectory() as place:
            figures = invented(pathlib.Path(place))
            tables, pictures = study_tables.markdown(figures), study_pictures.pictures(figures)
        self.assertIn("--paired-rounds 0", tables)
        for name in study_pictures.NAMES:
            self.assertEqual(f"images/{name}" in tables, name in pictures, name)

    def test_only_the_generated_part_is_renewed(self):
        page = f"before\n{study_tables.BEGIN}\nold\n{study_tables.END}\nafter\n"
        renewed = study_tables.put_in(page, "new\n")
        self.assertEqual(renewed, f"before\n{study_tables.BEGIN}\n\nnew\n\n{study_tables.END}\nafter\n")
        self.assertEqual(study_tables.put_in(renewed, "new\n"), renewed)
        with self.assertRaises(LabError):
            study_tables.put_in("a page without a place", "new\n")


class NfsWithADelay(lab_support.LabTest):

    hosts = 1
    up = ("--nfs", "--pin")

    def test_each_millisecond_each_way_is_two_a_round_trip(self):
        out = self.base / "study"
        study = Study(out, harness.binary("plimsoll"), begin(out, BLOCK_SIZES, [1], [DELAY_US], STEP_S))
        for size in BLOCK_SIZES:
            study.paired(1, size, DELAY_US, ROUNDS)
        study.round()
        figures = Figures(study.out)
        checks = figures.checks()
        print("\n".join(f"{check.verdict:<12} {check.text}" for check in checks), flush=True)
        self.assertEqual([shift.block_bytes for shift in figures.shifts], BLOCK_SIZES)
        for paired in figures.study["paired"]:
            record = json.loads((out / paired["name"] / "ab.json").read_text())
            self.assertEqual((len(record["rounds"]), record["names"]), (ROUNDS, ["1000us", "2000us"]))
        # What is inconclusive is no excuse for what has failed.
        self.assertNotIn("FAIL", {check.verdict for check in checks}, checks)
        self.assertGreater(figures.ping_ms("nfs", DELAY_US) - figures.ping_ms("nfs", 0), 0, "the delay is there")
        if "INCONCLUSIVE" in {shift.verdict for shift in figures.shifts}:
            self.skipTest("p50 scatters too much: the machine is too busy")


if __name__ == "__main__":
    harness.main()
