"""What is kept, what is cleaned up, and how long it takes: each in the words of docs/failures.md, with how it is checked."""

import dataclasses
import time
from typing import Callable

import harness


@dataclasses.dataclass(frozen=True)
class Kept:
    words: str
    check: Callable


@dataclasses.dataclass(frozen=True)
class Cleaned:
    words: str
    check: Callable


@dataclasses.dataclass(frozen=True)
class Takes:
    """How long from the fault to the controller's end."""
    words: str
    seconds: Callable

    def await_end(self, scene, code):
        return scene.end_of_run(-9 if code is None else code, self.seconds(scene))


@dataclasses.dataclass(frozen=True)
class TakesLonger(Takes):
    """Longer than the run's own length, which the test sees: what comes late was really late."""

    def await_end(self, scene, code):
        begun = time.monotonic()
        result = super().await_end(scene, code)
        scene.assertGreater(time.monotonic() - begun, 1.5 * scene.duration_s())
        return result


def _nothing(scene, result):
    scene.assertFalse(scene.out.exists(), f"nothing was measured, and yet there is {scene.out}")


def _report(scene, result):
    report = result.report
    scene.assertNotEqual(report["verdict"]["outcome"], "done")
    scene.assertGreater(harness.cluster(report["steps"][0])["writes"], 0)
    for host in harness.scopes(report["steps"][0], "host"):
        scene.assertGreater(host["writes"], 0, host)
    scopes = {scope["host"]: scope for scope in harness.scopes(report["steps"][0], "host")}
    for host in report["hosts"]:
        scope = scopes[host["label"]]
        # Where it had told all of the step, there is nothing to say.
        told = "data_until" in scope
        scene.assertEqual("data_until_reason" in scope, told, "until when the data reach, and why they end there")
        if "lost" in host:
            scene.assertEqual("data_until" in host["lost"], told, "a lost host's rows say until when its data reach")
        if "lost" in host or host["faults"]:
            # alpha had told all of the step when it was over.
            scene.assertEqual(told, scene.row.state == "running" or host["label"] == "beta", host)
    scene.assert_journal_holds(report)


def _empty(scene, result):
    report = result.report
    (step,) = report["steps"]
    scene.assertNotEqual(step["cut_short"], "")
    scene.assertEqual(report["verdict"]["outcome"], "inconclusive")
    scene.assert_journal_holds(report)


def _measured(scene, result):
    report = result.report
    (step,) = report["steps"]
    scene.assertEqual((step["cut_short"], report["verdict"]["outcome"]), ("", "inconclusive"))
    for host in harness.scopes(step, "host"):
        scene.assertEqual((host["writes"] > 0, "data_until" in host), (True, False), host)
    scene.assert_journal_holds(report)


def _whole(scene, result):
    report = result.report
    scene.assertEqual(report["run"]["state"], "complete")
    scene.assertEqual([host["label"] for host in report["hosts"] if "lost" in host], [])
    for host in harness.scopes(report["steps"][0], "host"):
        scene.assertEqual((host["untraced_writes"], "data_until" in host), (0, False), host)
    scene.assert_journal_holds(report)


def _journal(scene, result):
    report = scene.journal_report()
    scene.assertEqual(report["run"]["state"], "cut_off")
    if scene.row.state in ("running", "draining"):
        scene.assertGreater(harness.cluster(report["steps"][0])["writes"], 0)


def _printed(scene, result):
    scene.assertIn("Cluster", result.out.title())
    scene.assertFalse((scene.out / "report.json").exists())
    scene.assertTrue((scene.out / "journal").exists())


def _remade(scene, result):
    scene.assertGreater(harness.cluster(result.report["steps"][0])["writes"], 0)
    scene.assertFalse((scene.out / "journal").exists())


NOTHING = Kept("nothing: nothing was measured", _nothing)
EMPTY = Kept("journal and a report that has few figures, or none", _empty)
REPORT = Kept("journal and report of all that came", _report)
WHOLE = Kept("everything", _whole)
MEASURED = Kept("everything that was measured; the report is inconclusive", _measured)
JOURNAL = Kept("the journal, up to a second before; `plimsoll report` makes the report of it", _journal)
PRINTED = Kept("what fitted; the whole report is printed", _printed)
REMADE = Kept("the report, in a new directory of that name; the journal is lost", _remade)


def _by_itself(scene):
    scene.let_go()
    scene.await_clean()
    scene.fs.clear()
    if scene.network is not None:
        scene.restore_network()
    scene.assert_takes_the_next_run(scene.alpha, scene.beta)


def _started_again(scene):
    scene.let_go()
    harness.wait_until(lambda: [path.name for path in harness.paths(scene.fs.backing, "*/*")] == ["beta"], "alpha's files gone")
    scene.restart_beta()
    scene.await_clean()
    scene.assert_takes_the_next_run(scene.alpha, scene.beta)


def _when_woken(scene):
    scene.let_go()
    scene.wake()
    scene.await_clean()
    scene.assert_takes_the_next_run(scene.alpha, scene.beta)


def _when_let_go(scene):
    harness.wait_until(lambda: [path.name for path in harness.paths(scene.fs.backing, "*/*")] == ["beta"], "alpha's files gone")
    if scene.network is not None:
        scene.restore_network()
    busy = scene.plimsoll("run", "--hosts", scene.beta.address, "--dir", scene.dir, "--out", scene.base / "busy", code=4,
                          wrap=scene.on_controller)
    scene.assertRegex(busy.err, r"is busy: run [0-9a-f]+ of \S+ has held it for \d+ s \(.* for \d+ s")
    scene.let_go()
    scene.await_clean()
    scene.assert_takes_the_next_run(scene.alpha, scene.beta)


BY_ITSELF = Cleaned("each agent removes its files by itself, and takes the next run", _by_itself)
STARTED_AGAIN = Cleaned("alpha at once; beta's files when an agent of its name starts there again", _started_again)
WHEN_WOKEN = Cleaned("alpha at once; beta when it resumes, without writing again", _when_woken)
WHEN_LET_GO = Cleaned("alpha at once; beta refuses new runs, saying why, until the call returns; then it cleans up",
                      _when_let_go)

AT_ONCE = Takes("at once", lambda scene: 0)
LEASE = Takes("the lease", lambda scene: scene.row.fault.lease_s)
LEASE_AGAIN = Takes("the lease, and once more from when the controller resumes: beta no longer answers",
                    lambda scene: scene.row.fault.lease_s)
HANG_LIMIT = Takes("`--hang-limit`, from the step's end or the last progress",
                   lambda scene: scene.row.fault.hang_limit_s + scene.row.fault.lease_s)
UNTIL_ALL_CAME = TakesLonger("longer by what the way back takes", lambda scene: 30)
OWN_LENGTH = Takes("as long as without it", lambda scene: scene.duration_s())
