"""A delay in the network shows in p50 twice for each write, once each way; and the study's checks can fail."""

import json
import math
import pathlib
import tempfile
import unittest
from xml.etree import ElementTree

import lab_support
import study_pictures
import study_tables
import study_toggle
from image import LabError
from lab_support import harness
from study_figures import Figures, student_t
from study_run import SETTINGS_FILE, Study, begin
from study_shift import CHANCE

BLOCK_SIZES = [4096, 65536]
DELAY_US = 1000
STEP_S, ROUNDS = 1.5, 3
# In which delays come and go. A machine that is too restless for that cannot tell, which is said.
TOGGLED_S, TOGGLED_US = 240, [1000, 3000]


def invented(directory, delayed_ms, base_ms=((8.0,) * 4,) * 3, ping_ms=2.1, commits=(0, 0, 1)):
    """A study that nobody measured: three rounds, 4, 64 and 128 KiB. `delayed_ms`: p50 by block size, then by round."""
    sizes = [4096, 65536, 131072]
    study = {"begun": "2026-01-01T00:00:00+00:00", "block_sizes_bytes": sizes, "queue_managers": [1], "delays_us": [DELAY_US],
             "wsize_bytes": 65536, "base_us": 1000, "duration_s": 1, "mount": "hard", "processors": 2, "load_average": [1.0],
             "conditions": [], "runs": []}
    for number in range(7):
        delayed = number % 2 == 1
        study["conditions"].append({"number": number, "place": "nfs", "delay_us": DELAY_US if delayed else 0,
                                    "ping_ms": [1 + ping_ms * delayed] * 2})
        study["runs"].append({"name": str(number), "condition": number, "place": "nfs",
                              "delay_us": DELAY_US if delayed else 0, "queue_managers": 1})
        steps = []
        for n, size in enumerate(sizes):
            p50_ns = (delayed_ms if delayed else base_ms)[n][number // 2] * 1e6
            parts = 1 + (size > 65536)
            steps.append({
                "block_size_bytes": size,
                "scopes": [{"kind": "cluster", "writes": 100, "latency": {"p50_ns": p50_ns, "avg_ns": p50_ns}}],
                "load": [{"nfs": {"write": {"operations": 100 * parts, "round_trip_ms": 7, "execute_ms": 7.5},
                                  "commit": {"operations": 100 * commits[n], "round_trip_ms": 3, "execute_ms": 3.5}}}]})
        (directory / str(number)).mkdir()
        (directory / str(number) / "report.json").write_text(json.dumps({"hosts": [{"kernel": "Linux 6"}], "steps": steps}))
    (directory / SETTINGS_FILE).write_text(json.dumps(study))
    return Figures(directory)


RIGHT = ((10.0, 10.02, 10.0), (10.02, 10.0, 10.0), (12.0, 12.02, 12.02))


class Checks(unittest.TestCase):
    """What the checks make of figures that are known."""

    def verdicts(self, *arguments, **more):
        with tempfile.TemporaryDirectory() as place:
            figures = invented(pathlib.Path(place), *arguments, **more)
            return [shift.verdict for shift in figures.shifts(1)], {check.verdict for check in figures.checks()}

    def test_two_milliseconds_a_round_trip_pass(self):
        self.assertEqual(self.verdicts(RIGHT), (["PASS"] * 3, {"PASS"}))

    def test_a_delay_that_does_not_show_fails(self):
        shifts, _ = self.verdicts(((8.0, 8.02, 8.0), (10.02, 10.0, 10.0), (10.0, 10.02, 10.0)))
        self.assertEqual(shifts, ["FAIL", "PASS", "FAIL"], "above wsize there are two round trips")

    def test_a_delay_that_shows_twice_fails(self):
        shifts, _ = self.verdicts(((12.0, 12.02, 12.0), (10.02, 10.0, 10.0), (12.0, 12.02, 12.02)))
        self.assertEqual(shifts, ["FAIL", "PASS", "PASS"])

    def test_what_scatters_too_much_proves_nothing(self):
        shifts, _ = self.verdicts(((10.0, 13.0, 7.0), (9.0, 10.0, 12.0), (8.0, 12.0, 16.0)))
        self.assertEqual(shifts, ["INCONCLUSIVE"] * 3)

    def test_a_drift_that_all_share_is_no_shift(self):
        base = ((8.0, 9.0, 10.0, 11.0),) * 3
        shifts, _ = self.verdicts(((10.5, 11.52, 12.5), (10.52, 11.5, 12.5), (12.52, 13.5, 14.5)), base_ms=base)
        self.assertEqual(shifts, ["PASS"] * 3)

    def test_a_commit_where_there_should_be_none_fails(self):
        for commits in ((1, 0, 1), (0, 0, 0), (0, 0, 2)):
            self.assertIn("FAIL", self.verdicts(RIGHT, commits=commits)[1], commits)

    def test_quantiles_are_those_of_the_tables(self):
        for chance, freedom, expected in ((0.05, 1, 12.706), (0.05, 5, 2.571), (0.001, 10, 4.587), (0.001, 25, 3.725)):
            self.assertAlmostEqual(student_t(chance, freedom), expected, places=3)


class Toggled(unittest.TestCase):
    """What is made of a step in which the delay came and went."""

    def shift(self, late_ms, base_ms=(8.0, 8.1, 7.9, 8.0, 8.1, 8.0), late_ping_ms=(3.1,) * 6):
        late_ms, base_ms, late_ping_ms = late_ms * 3, base_ms * 3, late_ping_ms * 3
        with tempfile.TemporaryDirectory() as place:
            figures = invented(pathlib.Path(place), RIGHT)
        phases = [phase for base, late, ping in zip(base_ms, late_ms, late_ping_ms)
                  for phase in ([0, base, 1.0], [DELAY_US, late, ping])]
        figures.study["toggled"] = [{"block_size_bytes": 4096, "delays_us": [DELAY_US], "duration_s": 1, "phases": phases}]
        (shift,) = figures.toggled_shifts()
        self.assertIn(shift.verdict, {check.verdict for check in figures.checks()})
        return shift

    def test_two_milliseconds_pass_whatever_the_machine_does_meanwhile(self):
        self.assertEqual(self.shift((10.0, 10.2, 9.9, 10.1, 10.1, 10.0)).verdict, "PASS")
        self.assertEqual(self.shift((10.0, 13.1, 11.9, 18.0, 15.1, 10.0), (8.0, 11.0, 10.0, 16.0, 13.0, 8.1)).verdict, "PASS")

    def test_none_or_twice_as_much_fails(self):
        self.assertEqual(self.shift((8.0, 8.1, 7.9, 8.0, 8.1, 8.05)).verdict, "FAIL")
        self.assertEqual(self.shift((12.0, 12.1, 11.9, 12.0, 12.1, 12.05)).verdict, "FAIL")

    def test_a_delay_that_is_later_than_it_was_set_is_told_by_ping(self):
        late_ms = (10.9, 11.1, 10.8, 10.9, 11.0, 10.9)
        self.assertEqual(self.shift(late_ms).verdict, "FAIL")
        self.assertEqual(self.shift(late_ms, late_ping_ms=(4.0,) * 6).verdict, "PASS")

    def test_what_scatters_proves_nothing(self):
        self.assertEqual(self.shift((10.0, 15.1, 5.9, 12.0, 8.1, 9.0)).verdict, "INCONCLUSIVE")
        late_ms = (10.9, 11.1, 10.8, 10.9, 11.0, 10.9)
        self.assertEqual(self.shift(late_ms, late_ping_ms=(4.0, 0.5, 6.0, 4.1, 9.0, 0.9)).verdict, "INCONCLUSIVE")

    def test_seconds_count_for_the_phase_that_they_lie_in(self):
        series = {"kind": "cluster", "second": [0, 1, 2, 3, 4], "p50_ns": [5e6, 7e6, 9e6, 0, 11e6]}
        report = {"steps": [{"start": "1970-01-01T00:01:40.000000000Z", "series": [series, {"kind": "host"}]}]}
        phases = [[99.5, 102.1, 0, 1.5], [102.2, 104.5, DELAY_US, 3.5], [103.9, 105.0, 0, 1.4]]
        # Second 2 begins in one phase and ends in the next; second 3 has no write.
        found = [[0, 6.0, 1.5], [DELAY_US, None, 3.5], [0, 11.0, 1.4]]
        self.assertEqual(study_toggle.phases_of(report, phases), found)
        # The last row is not of a whole second.
        series["irregular"] = [{"row": 4, "length_ns": 800_000_000}]
        self.assertEqual(study_toggle.phases_of(report, phases), [*found[:2], [0, None, 1.4]])

    def test_only_phases_that_follow_one_another_are_compared(self):
        phases = [[0, 8.0, 1.0], [DELAY_US, 10.0, 3.0], [0, 9.0, 1.0], [DELAY_US, None, 3.0], [0, None, 1.0],
                  [DELAY_US, 20.0, 4.0], [0, 10.0, 1.0], [DELAY_US, 12.5, 3.5]]
        self.assertEqual(study_toggle.differences_ms(phases, 0, DELAY_US), [[2.0, 2.5], [2.0, 2.5]])
        self.assertEqual(study_toggle.differences_ms(phases, DELAY_US, 2 * DELAY_US), [[], []])

    def test_each_delay_is_compared_with_the_one_before(self):
        phases = [[0, 8.0, 1.0], [DELAY_US, 10.0, 3.0], [3 * DELAY_US, 14.2, 7.2]] * 20
        step = {"block_size_bytes": 4096, "delays_us": [DELAY_US, 3 * DELAY_US], "phases": phases}
        first, second = study_toggle.shifts_of(step, 1)
        self.assertEqual((first.from_us, first.expected_ms, first.verdict), (0, 2.0, "PASS"))
        self.assertEqual((second.from_us, second.expected_ms, second.verdict), (DELAY_US, 4.0, "PASS"))
        self.assertAlmostEqual(second.each_ms[0], 2.1)

    def test_fewer_pairs_than_are_asked_for_have_no_bounds(self):
        least = study_toggle.LEAST_PAIRS
        self.assertEqual(study_toggle.interval_of_median(range(least), CHANCE), (0, least - 1))
        self.assertEqual(study_toggle.interval_of_median(range(least - 1), CHANCE), (-math.inf, math.inf))


class Page(unittest.TestCase):
    """What docs/nfs.md gets of a study."""

    def test_tables_and_pictures_are_of_the_figures(self):
        with tempfile.TemporaryDirectory() as place:
            figures = invented(pathlib.Path(place), RIGHT)
            tables = study_tables.markdown(figures)
            pictures = study_pictures.pictures(figures)
        self.assertIn("| 4&nbsp;KiB | + 1 ms | 1 | 2 | 2.10 | **2.01** |", tables)
        self.assertIn("| 128&nbsp;KiB | + 1 ms | 2 | 4 | 4.20 | **4.01** |", tables)
        self.assertIn("| 128&nbsp;KiB | + 1 ms | 2.0 + 1 | 12.01 | 7.00 | 7.50 | 3.00 | 3.50 |", tables)
        self.assertEqual(set(pictures), set(study_pictures.NAMES))
        for name, picture in pictures.items():
            self.assertIn(f"images/{name}", tables)
            points = [each for each in ElementTree.fromstring(picture).iter() if "transform" in each.attrib]
            self.assertGreaterEqual(len(points), 3, "a mark for each block size")

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

    def test_each_millisecond_each_way_is_two_a_write(self):
        out = self.base / "study"
        study = Study(out, harness.binary("plimsoll"), begin(out, BLOCK_SIZES, [1], [DELAY_US], STEP_S))
        for _ in range(ROUNDS):
            study.round()
        for size in BLOCK_SIZES:
            study_toggle.measure(study, size, TOGGLED_US, TOGGLED_S)
        figures = Figures(study.out)
        checks = figures.checks()
        print("\n".join(f"{check.verdict:<12} {check.text}" for check in checks), flush=True)
        self.assertEqual([(shift.block_bytes, shift.from_us) for shift in figures.toggled_shifts()],
                         [(size, from_us) for size in BLOCK_SIZES for from_us in (0, TOGGLED_US[0])])
        # What cannot be told is no excuse for what has failed.
        self.assertNotIn("FAIL", {check.verdict for check in checks}, checks)
        self.assertGreater(figures.ping_ms("nfs", DELAY_US) - figures.ping_ms("nfs", 0), 0, "the delay is there")
        # Between so few runs a shift may be too uncertain to tell; what came and went within a step has to.
        if "INCONCLUSIVE" in {shift.verdict for shift in figures.toggled_shifts()}:
            self.skipTest("p50 scatters too much: the machine is too busy to tell")


if __name__ == "__main__":
    harness.main()
