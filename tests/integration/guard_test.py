"""Runs that end where they harm what they should not (--abort-if, --protect), and in time (--end-by)."""

import csv
import datetime
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import harness
import watching

# Its log is a pipe that it reads itself, until a line comes: the writes that do not fit then never return. Argument: directory.
WRITER = r"""
import os, sys, threading, time
path = os.path.join(sys.argv[1], "active", "S0000000.LOG")
os.mkfifo(path)
log = os.open(path, os.O_RDWR)
reading = True
def read():
    while reading:
        os.read(log, 4096)
threading.Thread(target=read, daemon=True).start()
def write():
    while True:
        os.write(log, b"x" * 4096)
        time.sleep(0.005)
threading.Thread(target=write, daemon=True).start()
sys.stdin.readline()
reading = False
sys.stdin.readline()
"""

# Writes 4 KiB at a time, each stable before the next; from a line on, four threads write 8 MiB at a time, too, to files of their own.
# Argument: directory.
DISK_WRITER = r"""
import os, sys, threading, time
def opened(name):
    return os.open(os.path.join(sys.argv[1], name), os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
def write_small():
    log = opened("log")
    while True:
        os.pwrite(log, b"x" * 4096, 0)
        time.sleep(0.005)
def write_large(name):
    file = opened(name)
    data = b"y" * (8 << 20)
    while True:
        os.pwrite(file, data, 0)
threading.Thread(target=write_small, daemon=True).start()
sys.stdin.readline()
for name in ("1", "2", "3", "4"):
    threading.Thread(target=write_large, args=(name,), daemon=True).start()
sys.stdin.readline()
"""


def reasons(result):
    return " ".join(result.report["verdict"]["reasons"])


class Guard(harness.PlimsollTest):

    def in_seconds(self, seconds):
        """A moment from now, as --end-by takes it."""
        return (datetime.datetime.now() + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S")

    def test_a_condition_ends_the_run_and_the_verdict_names_it(self):
        result = self.run_plan("--abort-if", "p99>1h", "--abort-if", "max>1us for 2s", "--duration", "1h", "--warmup", "0s", code=3)
        self.assertEqual(result.report["verdict"]["outcome"], "inconclusive")
        self.assertRegex(reasons(result), r"--abort-if 'max>1us for 2s': .* ms in 2 seconds in a row, up to second \d+ of step 1")
        self.assertEqual(result.report["run"]["state"], "aborted")
        # Some seconds of the hour were measured, and are reported.
        self.assertGreater(harness.cluster(result.report["steps"][0])["latency"]["count"], 0)
        self.assertLess(result.report["steps"][0]["measured_ns"], 60_000_000_000)
        self.assert_nothing_left()

    def test_a_criterion_that_has_failed_already_is_the_exit_code(self):
        result = self.run_plan("--abort-if", "max>1us", "--require", "max<1us", "--duration", "1h", code=1)
        self.assertEqual(result.report["verdict"]["outcome"], "fail")
        self.assertIn("--abort-if", reasons(result) + " ".join(result.report["notes"]) + result.report["run"]["state_reason"])

    def test_a_run_whose_journal_becomes_too_large_ends_and_is_reported(self):
        result = self.run_plan("--journal-limit", "1m", "--qm", "16", "--num-files", "3", "--duration", "1h", code=3)
        self.assertRegex(reasons(result), r"--journal-limit: the journal has .* of 1 MiB")
        size = (result.results / "journal").stat().st_size
        self.assertGreater(size, 15 << 16)
        self.assertGreater(result.report["steps"][0]["measured_ns"], 0)
        self.assert_nothing_left()

    def test_a_dry_run_shows_how_large_the_journal_may_become(self):
        plan = ["run", "--dir", self.dir, "--qm", "2", "--duration", "10s", "--warmup", "2s", "--dry-run"]
        self.assertIn("\nThe journal would take some 45.1 KiB (at 300 writes/s for each writer without a rate), and up to "
                      "1 GiB of traces (--trace-limit).\n", self.plimsoll(*plan).out)
        self.assertIn("\nThe journal would take some 45.1 KiB.\n", self.plimsoll(*plan, "--rate", "300", "--trace", "off").out)

    def test_no_part_of_an_acceptance_follows_one_that_was_ended(self):
        out = self.base / "accepted"
        result = self.plimsoll("accept", "--dir", self.dir, "--parts", "load,limit", "--runs", "1", "--require", "max<1h",
                               "--abort-if", "max>1us", "--duration", "20s", "--qm", "1", "--file-size", "1m", "--budget", "3m",
                               "--out", out, code=3)
        self.assertIn("Did not run: limit", result.out)
        self.assertIn("--abort-if 'max>1us'", result.out)
        self.assertFalse((out / "limit-1").exists())

    def test_an_acceptance_counts_commands_at_their_limits(self):
        plan = self.base / "accept.yaml"
        plan.write_text(f"""
workload: {{dir: {self.dir}, file_size: 2m, num_files: 3, rate: 80}}
duration: 14s
warmup: 0s
criteria: [max<20s]
accept: {{parts: [disturb]}}
disturb: [{{name: nap, at: 5s, hold: 1s, do: ["true"], undo: ["true"], command_limit: 30m}}]
""")
        refused = self.plimsoll("accept", plan, "--end-by", self.in_seconds(45 * 60), "--dry-run", code=2)
        # 14 s, twice 30 m, and 1 s to read 6 MB back.
        self.assertRegex(refused.err, r"--end-by: 1h15s and 15s for removing files do not fit in before .* UTC\): use a later time, or fewer parts")
        shown = self.plimsoll("accept", plan, "--end-by", self.in_seconds(2 * 3600), "--dry-run")
        self.assertIn("disturb once, at most 1h 0m 15s", shown.out)

    def test_what_cannot_end_in_time_is_refused_before_anything_is_made(self):
        for more in ((), ("--dry-run",)):
            result = self.plimsoll("run", "--dir", self.dir, "--duration", "1m", "--end-by", self.in_seconds(60), *more,
                                   *(() if more else ("--out", self.base / "none")), code=2)
            self.assertRegex(result.err, r"--end-by: 62s and 15s for removing files do not fit in before .* UTC\): use a later time")
        self.assertFalse((self.base / "none").exists())
        self.assert_nothing_left()
        result = self.plimsoll("run", "--dir", self.dir, "--end-by", "2001-01-01 04:30", code=2)
        self.assertRegex(result.err, r"'2001-01-01 04:30' is over: it is \d{4}-")
        result = self.plimsoll("run", "--dir", self.dir, "--end-by", "half past four", code=2)
        self.assertIn("--end-by (end_by): 'half past four' is not a time of day", result.err)

    def test_an_acceptance_of_which_each_part_alone_would_end_in_time_is_refused(self):
        for more in (("--out", self.base / "none"), ("--dry-run",)):
            result = self.plimsoll("accept", "--dir", self.dir, "--parts", "load", "--runs", "3", "--require", "max<1h", "--duration", "1m",
                                   "--end-by", self.in_seconds(120), *more, code=2)
            self.assertRegex(result.err, r"--end-by: \d+s and 15s for removing files do not fit in before .*: use a later time, or fewer parts")
        self.assertFalse((self.base / "none").exists())
        self.assert_nothing_left()

    def test_what_ends_in_time_runs_and_shows_what_was_removed(self):
        result = self.run_plan("--end-by", self.in_seconds(120), "--qm", "2", "--num-files", "3")
        self.assertRegex(result.err, r"the run ends, and its files are removed, by \d\d:\d\d:\d\d \S+ \(.* UTC\)")
        self.assertRegex(" ".join((result.results / "report.txt").read_text().split()),
                         r"Cleaned up \S+ \w+ written to prepare; \d+ files removed on 1 host, nothing left")
        clean_up = result.report["hosts"][0]["clean_up"]
        self.assertGreaterEqual(clean_up["removed_files"], 6)
        self.assertEqual(clean_up["left_behind"], "")
        self.assert_nothing_left()


class ChangeWindow(harness.PlimsollTest):
    """A real agent, and an end of the window by the wall clock, of a machine that is five and a half hours ahead of UTC."""

    agents_ahead = True

    def setUp(self):
        super().setUp()
        self.environment["TZ"] = "Fixed/UTC+05:30:00"

    def window(self, seconds):
        """The end of a window of so many seconds, rounded down: as --end-by takes it, as messages have it, and in ns since 1970."""
        moment = datetime.datetime.now(datetime.timezone(datetime.timedelta(hours=5, minutes=30))).replace(microsecond=0)
        moment += datetime.timedelta(seconds=seconds)
        utc = moment.astimezone(datetime.timezone.utc)
        return (moment.strftime("%Y-%m-%d %H:%M:%S"), moment.strftime("%H:%M:%S +0530 (") + utc.strftime("%Y-%m-%d %H:%M:%S UTC)"),
                int(moment.timestamp()) * 1_000_000_000)

    def test_a_run_that_does_not_fit_in_is_refused_and_the_agent_makes_nothing(self):
        agent = self.agent("node1")
        end_by, text, _ = self.window(60)
        run = self.start_run("--hosts", agent.address, "--duration", "1m", "--end-by", end_by)
        self.assertEqual(run.finish(), 2, run.err)
        self.assertIn(f"--end-by: 1m and 15s for removing files do not fit in before {text}: use a later time, or shorter or fewer steps",
                      run.err)
        self.assertFalse(run.results.exists())
        self.assert_nothing_left()
        # It has no session of the run that was refused.
        self.run_plan("--hosts", agent.address)

    def test_a_run_that_is_held_up_ends_and_is_cleaned_up_by_then(self):
        agent = self.agent("node1")
        plan = self.base / "plan.yaml"
        # From the middle of its step on, the agent is stopped, so that the step cannot end as planned.
        plan.write_text(json.dumps({"disturb": [
            {"name": "stop", "at": "5s", "do": ["sh", "-c", f"kill -STOP {agent.agent_pid}"], "command_limit": "5s"}]}))
        # 10 s, 5 s for the command, 1 s for reading back, 15 s for cleaning up, and 16 s for a busy machine to begin.
        end_by, text, end_ns = self.window(47)
        run = self.start_run(plan, "--hosts", agent.address, "--allow-commands", "--rate", "50", "--file-size", "4m", "--duration", "10s",
                             "--lease", "5m", "--hang-limit", "5m", "--end-by", end_by)
        harness.wait_until(lambda: harness.is_stopped(agent.agent_pid) or not run.running(), "the stopped agent")
        run.await_err(rf"--end-by: its files have to be removed by {re.escape(text)}")
        self.assertTrue(harness.is_stopped(agent.agent_pid))
        agent.signal(signal.SIGCONT)
        result = self.finished(run, run.results, 3)
        self.assert_nothing_left()
        report = result.report
        self.assertEqual((report["verdict"]["outcome"], report["run"]["state"]), ("inconclusive", "aborted"))
        self.assertIn(f"--end-by: its files have to be removed by {text}", reasons(result))
        # As planned, it would have ended while 15 s were left.
        (step,) = report["steps"]
        start_ns = harness.moment_ns(step["start"])
        self.assertLess(start_ns + step["duration_ns"], end_ns - 15_000_000_000)
        # It went on until 15 s were left, and was cleaned up by the end of the window.
        self.assertGreaterEqual(harness.moment_ns(report["run"]["end"]), end_ns - 15_000_000_000)
        self.assertLessEqual(harness.moment_ns(report["run"]["end"]), end_ns)
        self.assertNotIn("the files were removed", " ".join(report["notes"]))
        clean_up = report["hosts"][0]["clean_up"]
        self.assertGreater(clean_up["removed_files"], 0)
        self.assertEqual(clean_up["left_behind"], "")
        # By the agent's own record, every write had ended by then.
        writes = list(csv.DictReader(io.StringIO(self.plimsoll("export", run.results, "--format", "csv").out)))
        self.assertGreater(len(writes), 0)
        for write in writes:
            self.assertLessEqual(harness.moment_ns(write["utc"]) + int(write["latency_ns"]), end_ns, write)

    def test_a_part_of_an_acceptance_that_no_longer_fits_in_does_not_begin(self):
        agent = self.agent("node1")
        out = self.base / "accepted"
        # 6 s of load, 30 s of search, 15 s for cleaning up, and 14 s for a busy machine to begin.
        end_by, text, end_ns = self.window(65)
        accept = self.start_plimsoll("accept", "--hosts", agent.address, "--dir", self.dir, "--parts", "load,limit", "--runs", "1",
                                     "--require", "max<1h", "--rate", "50", "--arrival", "even", "--duration", "5s", "--warmup", "1s",
                                     "--budget", "30s", "--search-step", "1s", "--hold", "1s", "--file-size", "1m", "--lease", "5m",
                                     "--end-by", end_by, "--out", out)
        accept.await_err(r"part 1 of 2: load")
        harness.wait_until(lambda: any(path.is_file() for path in self.dir.rglob("*")) or not accept.running(), "the agent's files")
        # The acceptance is held up until its search would end a second too late.
        accept.signal(signal.SIGSTOP)
        harness.wait_until(lambda: time.time_ns() > end_ns - (15 + 30 - 1) * 1_000_000_000, "the moment")
        accept.signal(signal.SIGCONT)
        result = self.finished(accept, None, 3)
        self.assertRegex(" ".join(result.out.split()),
                         "Did not run: limit, run 1: --end-by: 30s and 15s for removing files do not fit in before " + re.escape(text))
        self.assertTrue((out / "load-1" / "report.json").exists())
        self.assertFalse((out / "limit-1").exists())
        self.assert_nothing_left()


class Protected(watching.WatchingTest):

    def start_protected(self, agent, *more):
        return self.start_run("--hosts", agent.address, "--protect", self.dir / "active", "--duration", "10m", "--warmup", "0s", *more,
                              dir=self.dir)

    def test_a_run_ends_where_it_slows_a_live_queue_manager_down(self):
        writer = self.start_program(WRITER, stdin=subprocess.PIPE)
        harness.wait_until((self.dir / "active" / "S0000000.LOG").exists, "the writer's file")
        agent = self.agent("node1", more=("--allow-watch",))
        run = self.start_protected(agent)
        harness.wait_until(lambda: "step 1" in run.err or not run.running(), "the step", timeout_s=120)
        if not run.running():
            self.skip_where_refused(run)
        writer.write(b"\n")
        result = self.result_of(run, run.results, 3)
        self.assertRegex(reasons(result), r"--protect \S+: its log writes took [\d.]+ ms on average in 5 s, more than 2 times the [\d.]+ ms")
        self.assertRegex(" ".join(result.report["notes"]), r"Protected \S+: its log writes took .* before the run, .* since")
        self.assertEqual(result.report["hosts"][0]["clean_up"]["left_behind"], "")
        writer.write(b"\n")
        writer.finish()
        self.assertEqual([path.name for path in self.dir.iterdir()], ["active"])

    def test_a_guard_that_cannot_see_refuses_to_start(self):
        # Without the permission.
        run = self.start_protected(self.agent("node1"))
        self.assertIn(run.finish(timeout_s=120), (2, 4))
        self.assertRegex(run.err, r"--protect \S+: .*--allow-watch")
        # Nothing writes there.
        run = self.start_protected(self.agent("node2", more=("--allow-watch",)))
        self.assertIn(run.finish(timeout_s=120), (2, 4))
        if not re.search(watching.REFUSALS, run.err):
            self.assertRegex(run.err, r"--protect \S+: it wrote nothing to its log in 10 s")
        self.assertEqual([path.name for path in self.dir.iterdir()], ["active"])


def mounted_disk():
    """A directory on a block device whose writes the kernel counts, and the mount point of that device; None where there is none."""
    counted = {":".join(line.split()[:2]) for line in pathlib.Path("/proc/diskstats").read_text().splitlines()}
    whole = {}  # Mount points of file systems as a whole, by device.
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        _, _, device, root, point = line.split()[:5]
        if root == "/" and device in counted:
            whole[device] = point
    for place in (tempfile.gettempdir(), "/var/tmp", os.environ.get("PLIMSOLL_BIN", "/tmp")):
        if not os.access(place, os.W_OK):
            continue
        device = os.stat(place).st_dev
        name = f"{os.major(device)}:{os.minor(device)}"
        if name in whole:
            return place, whole[name]
    return None


class ProtectedMount(harness.PlimsollTest):
    """The run writes in memory, and another program on a disk whose mount is protected."""

    in_memory = True

    def setUp(self):
        super().setUp()
        found = mounted_disk()
        if found is None or not str(self.base).startswith("/dev/shm"):
            self.skipTest("needs a block device that is mounted, and /dev/shm")
        self.disk = tempfile.TemporaryDirectory(prefix="plimsoll-test-", dir=found[0])
        self.addCleanup(self.disk.cleanup)
        self.mount = found[1]

    def start_writer(self):
        program = self.base / "writer.py"
        program.write_text(DISK_WRITER)
        return self.start(harness.Process, [sys.executable, "-B", program, self.disk.name], stdin=subprocess.PIPE)

    def start_protected(self, *more):
        return self.start_run("--protect", f"mount={self.mount}", *more)

    def test_a_run_ends_where_writes_to_the_mount_become_slower(self):
        writer = self.start_writer()
        # An agent that may write in memory alone.
        agent = self.agent("node1")
        run = self.start_protected("--hosts", agent.address, "--protect-factor", "1.5", "--duration", "10m")
        harness.wait_until(lambda: "step 1" in run.err or not run.running(), "the step")
        writer.write(b"\n")
        result = self.finished(run, run.results, 3)
        writer.write(b"\n")
        writer.finish()
        self.assertRegex(reasons(result), r"--protect mount=\S+: writes to it took [\d.]+ ms on average in 5 s, more than 1.5 times the [\d.]+ ms")
        self.assertRegex(" ".join(result.report["notes"]),
                         r"Protected mount=\S+ \(\S+ of node1\): writes to it took [\d.]+ ms on average in the 10 s before the run, "
                         r"[\d.]+ ms since, and up to [\d.]+ ms in 5 s\.")
        self.assertRegex(" ".join((result.results / "report.txt").read_text().split()), r"Protects --protect mount=\S+: the run ends if writes to it take 1.5 times")
        self.assertEqual(result.report["run"]["state"], "aborted")
        self.assert_nothing_left()

    def test_a_run_that_slows_nothing_down_ends_by_itself_and_says_what_was_seen(self):
        self.start_writer()
        result = self.run_plan("--protect", f"mount={self.mount}", "--protect-factor", "1000", "--duration", "2s",
                               "--rate", "100", code=(0, 3))  # 3 where other work takes the CPUs
        self.assertRegex(result.err, r"mount=\S+ \(\S+ of \S+\): writes to it took [\d.]+ ms on average in the 10 s before the run, which ends if")
        self.assertRegex(" ".join(result.report["notes"]), r"Protected mount=\S+ .*: writes to it took .* before the run, .* since")
        self.assertEqual(result.report["run"]["state"], "complete")
        # The report follows from the journal.
        again = self.plimsoll("report", result.results, "--json")
        self.assertIn("Protected mount=", again.out)

    def test_a_guard_that_would_see_the_run_itself_or_nothing_refuses_to_start(self):
        own = pathlib.Path(self.disk.name)
        run = self.start_run("--protect", f"mount={self.mount}", dir=own)
        self.assertEqual(run.finish(), 2, run.err)
        self.assertRegex(run.err, r"--protect mount=\S+: \S+: \S+ is on it \(\S+\), so that the run's own writes would be in its "
                                  r"counters: protect the queue manager itself \(--protect QM\), or measure other storage")
        self.assert_nothing_left(own)
        for mount, pattern in ((self.base, rf"nothing is mounted on {self.base}; the mount above it is /dev/shm: name a mount point, as"),
                               ("/dev/shm", r"the kernel counts no writes of /dev/shm \(tmpfs\): protect the queue manager itself")):
            run = self.start_run("--protect", f"mount={mount}")
            self.assertEqual(run.finish(), 2, run.err)
            self.assertRegex(run.err, pattern)
            self.assertFalse(run.results.exists())
        self.assert_nothing_left()
        refused = self.plimsoll("run", "--files", "/dev/plimsoll-none", "--overwrite", "--protect", f"mount={self.mount}", code=2)
        self.assertIn("/dev/plimsoll-none is a device, of which it is not checked whether the mount is on it", refused.err)

    def test_one_guard_watches_both_sides_of_ab(self):
        self.start_writer()
        out = self.base / "ab"
        result = self.plimsoll("ab", "--vary", "sync=dsync,none", "--dir", self.dir, "--rounds", "6", "--duration", "300ms", "--warmup", "0",
                               "--file-size", "256k", "--protect", f"mount={self.mount}", "--protect-factor", "1000", "--out", out,
                               code=(0, 3))
        self.assertIn("All planned rounds were measured.", result.out)
        for side in ("a", "b"):
            notes = " ".join(harness.report_of(out / side)["notes"])
            self.assertRegex(notes, r"Protected mount=\S+ .*: writes to it took", side)
        self.assertIn("before the run", result.err)
        refused = self.plimsoll("ab", "--vary", "sync=dsync,none", "--dir", self.dir, "--protect", "QM1", code=2)
        self.assertIn("ab takes no --protect of a queue manager", refused.err)
        self.assert_nothing_left()


if __name__ == "__main__":
    harness.main()
