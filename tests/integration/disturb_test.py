"""plimsoll run with disturbances: pauses and lost writes that are planted, and commands that are undone in any case."""

import json
import pathlib
import shlex
import signal
import sys

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faultfs"))

import faultfs  # noqa: E402

# Overwrites the sixth block of a log with zeros, long after it was written: a low rate does not reach it again.
OVERWRITE = """
import glob, os, sys
(path,) = glob.glob(sys.argv[1] + "/plimsoll-*/*/qm1/active/S0000000.LOG")
with open(path, "r+b") as log:
    log.seek(5 * 4096)
    log.write(bytes(4096))
    log.flush()
    os.fsync(log.fileno())
"""

# Makes a file, and does not end before it is removed.
WAIT = """
import pathlib, sys, time
pathlib.Path(sys.argv[1]).touch()
while pathlib.Path(sys.argv[1]).exists(): time.sleep(0.01)
"""


class Disturbed(harness.PlimsollTest):

    def plan(self, *disturbances):
        """A plan file with these disturbances."""
        path = self.base / "plan.yaml"
        path.write_text(json.dumps({"disturb": list(disturbances)}))  # JSON is YAML
        return path

    def script(self, name, text):
        """A file with a script."""
        path = self.base / name
        path.write_text(text)
        return str(path)

    def touch(self, name):
        """A command that makes a file, and the file."""
        path = self.base / name
        return [sys.executable, "-c", "import pathlib, sys; pathlib.Path(sys.argv[1]).touch()", str(path)], path

    def run_disturbed(self, *disturbances, code=0, dir=None, duration="12", more=()):
        """A run with files so large that no block is written twice."""
        return self.run_plan(self.plan(*disturbances), "--allow-commands", "--duration", duration, "--rate", "50",
                             "--file-size", "4m", *more, code=code, dir=dir)


class Commands(Disturbed):

    def test_without_permission_nothing_is_made(self):
        do, done = self.touch("done")
        plan = self.plan({"at": "5s", "do": do})
        out = self.base / "results"
        result = self.plimsoll("run", plan, "--dir", self.dir, "--duration", "12", "--out", out, code=2)
        self.assertIn("--allow-commands", result.err)
        self.assertFalse(out.exists())
        self.assertFalse(done.exists())
        self.assert_nothing_left()
        shown = self.plimsoll("run", plan, "--dir", self.dir, "--duration", "12", "--dry-run")
        self.assertIn(str(done), shown.out)
        self.assertFalse(done.exists())

    def test_they_run_in_order_and_the_report_is_made_again_from_its_journal(self):
        do, done = self.touch("done")
        undo, undone = self.touch("undone")
        result = self.run_disturbed({"name": "takeover", "at": "5s", "do": do, "hold": "1s", "undo": undo})
        self.assertTrue(done.exists() and undone.exists())
        report = result.report
        self.assertEqual(report["verdict"]["outcome"], "done", result)
        (one,) = report["disturb"]["disturbances"]
        self.assertEqual(one["name"], "takeover")
        self.assertEqual(one["do"]["exit_code"], 0)
        self.assertGreaterEqual(one["do"]["start_ns"], 5_000_000_000)
        self.assertGreaterEqual(one["undo"]["start_ns"],
                                one["do"]["start_ns"] + one["do"]["duration_ns"] + 900_000_000)
        self.assertEqual([host["error"] for host in report["disturb"]["read_back"]], [""])
        self.assertGreater(report["disturb"]["acknowledged_writes"], 400)
        self.assertEqual(report["disturb"]["lost_blocks"], 0)
        self.assertIn("disturbance 'takeover': do started", result.err)
        self.assertIn("all there", result.out)
        self.assert_nothing_left()
        before = {name: (result.results / name).read_bytes() for name in ("report.json", "report.txt")}
        self.plimsoll("report", result.results)
        for name, content in before.items():
            self.assertEqual((result.results / name).read_bytes(), content, name)
        self.plimsoll("verify", result.results)

    def test_a_command_that_fails_makes_the_run_inconclusive_and_is_undone(self):
        undo, undone = self.touch("undone")
        result = self.run_disturbed({
            "name": "takeover", "at": "5s", "do": [sys.executable, "-c", "raise SystemExit(7)"], "hold": "0s", "undo": undo
        }, code=3)
        self.assertTrue(undone.exists())
        self.assertIn("Disturbance 'takeover': do failed: exit code 7.", result.report["verdict"]["reasons"])
        self.assert_nothing_left()

    def test_an_interrupt_undoes_and_removes_the_files(self):
        do, done = self.touch("done")
        undo, undone = self.touch("undone")
        run = self.start_run(self.plan({"name": "cut", "at": "5s", "do": do, "hold": "1h", "undo": undo}),
                             "--allow-commands", "--duration", "2h", "--rate", "1", "--file-size", "16m")
        harness.wait_until(done.exists, "do")
        self.assertFalse(undone.exists())
        run.signal(signal.SIGINT)
        result = self.result_of(run, run.results, code=3)
        self.assertTrue(undone.exists())
        self.assertEqual(result.report["run"]["state"], "interrupted")
        (one,) = result.report["disturb"]["disturbances"]
        self.assertEqual(one["undo"]["error"], "")
        self.assert_nothing_left()

    def test_a_second_interrupt_starts_undo_and_does_not_wait_for_it(self):
        undo, undone = self.touch("undone")
        held = self.base / "held"
        # Does not end before the test lets it.
        wait = [sys.executable, self.script("wait.py", WAIT), str(held)]
        run = self.start_run(self.plan({"name": "cut", "at": "5s", "do": wait, "hold": "1h", "undo": undo}),
                             "--allow-commands", "--duration", "2h", "--rate", "1", "--file-size", "16m")
        harness.wait_until(held.exists, "do")
        run.signal(signal.SIGINT)
        run.await_err("undo follows as soon as do has ended")
        run.signal(signal.SIGINT)
        self.result_of(run, code=130)
        harness.wait_until(undone.exists, "undo, which outlives the run")
        held.unlink()
        self.await_nothing_left()

    def test_ab_takes_no_disturbances(self):
        do, _ = self.touch("done")
        plan = self.plan({"at": "5s", "do": do})
        result = self.plimsoll("ab", plan, plan, "--dir", self.dir, "--duration", "12", code=2)
        self.assertIn("ab takes no plan with `disturb`", result.err)


class Lost(Disturbed):

    def test_a_block_that_loses_its_write_fails_the_run_and_is_named(self):
        result = self.run_disturbed({"name": "eater", "at": "5s", "do": [sys.executable, self.script("eater.py", OVERWRITE), str(self.dir)]},
                                    code=1)
        report = result.report
        self.assertEqual(report["verdict"]["outcome"], "fail", result)
        self.assertEqual(report["disturb"]["lost_blocks"], 1)
        (writer,) = report["disturb"]["read_back"][0]["writers"]
        (finding,) = writer["findings"]
        self.assertTrue(finding["path"].endswith("/qm1/active/S0000000.LOG"), finding)
        self.assertEqual(finding["offset_bytes"], 5 * 4096)
        lost = report["verdict"]["criteria"][0]
        self.assertEqual((lost["criterion"], lost["outcome"]), ("lost==0", "fail"))
        self.assertRegex(result.out, r"S0000000\.LOG")
        self.assert_nothing_left()


class Paused(Disturbed):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        faultfs.own_mounts()

    def test_a_pause_is_found_with_its_queue_manager(self):
        fs = faultfs.mounted(self)
        hang = shlex.split(fs.in_shell("add write */qm2/* count=1 hang_ms=3000"))
        result = self.run_disturbed({"name": "takeover", "at": "5s", "do": hang}, dir=fs.mountpoint,
                                    duration="16",
                                    more=("--qm", "2", "--require", "service_max<2s"), code=(1, 3))
        report = result.report
        (one,) = report["disturb"]["disturbances"]
        self.assertGreaterEqual(one["longest_pause_ns"], 3_000_000_000)
        self.assertEqual(one["pause_qm"], 2)
        self.assertFalse(one["pause_open"])
        # However unsteady the storage is, the load is not as before while one of two queue managers waits.
        if one["recovery_ns"] is not None:
            self.assertGreaterEqual(one["recovery_ns"], 2_000_000_000)
        outcomes = {criterion["criterion"]: criterion["outcome"] for criterion in report["verdict"]["criteria"]}
        # The criterion judges the pause, which the writers of a busy host leave undecided.
        self.assertIn(outcomes["service_max<2s"], harness.failing(report))
        self.assertEqual(result.code, 1 if outcomes["service_max<2s"] == "fail" else 3)
        self.assertEqual(outcomes["lost==0"], "pass")
        self.assertEqual(report["disturb"]["lost_blocks"], 0)


if __name__ == "__main__":
    harness.main()
