"""Recorded log writes that are played again: pattern files made here, and those that `plimsoll plan from-watch` makes of programs
that were watched.

Where the kernel refuses to watch, the tests of watched programs are skipped with its reason; those of pattern files made here are
not."""

import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faultfs"))

import faultfs  # noqa: E402
import harness  # noqa: E402
import pattern_files  # noqa: E402
import system_calls  # noqa: E402
import watching  # noqa: E402

PAGE_BYTES = 4096
# Of the small extents that tests have (harness.quick_defaults).
FILE_PAGES = 64
NOT_MQ = "not what MQ would issue here"
SEARCH = ("--file-size", "256k", "--duration", "300ms", "--warmup", "0", "--hold", "600ms", "--budget", "15s")

# One write after the other in two files, of 1 to 3 pages and sometimes 512 bytes more. Prints, as JSON, the size of each and the
# moments before and after it. Arguments: directory, number of writes, seconds between them.
WRITER = r"""
import json, os, sys, time
directory, count, pause_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
flags = os.O_CREAT | os.O_RDWR | os.O_DSYNC
logs = [os.open(os.path.join(directory, "active", name), flags, 0o600) for name in ("S0000000.LOG", "S0000001.LOG")]
seen = []
for number in range(count):
    size = 4096 * (1 + number % 3) + (512 if number % 7 == 0 else 0)
    begin = time.monotonic_ns()
    os.pwrite(logs[number // 16 % 2], b"x" * size, 65536 * (number % 16))
    seen.append((size, begin, time.monotonic_ns()))
    time.sleep(pause_s)
json.dump(seen, sys.stdout)
"""


def commits_of(step, kind="cluster"):
    """The scopes of the step's commits."""
    return [one for one in harness.operations(step)["commit"]["scopes"] if one["kind"] == kind]


def even(per_second, pages, length_s=1.0):
    """A stream with that many writes a second."""
    return round(per_second * length_s) * [(1 / per_second, pages)]


def whole_pages(size):
    return -(-size // PAGE_BYTES)


def within_extents(sizes, extent_pages):
    """The writes, in pages, that a log of such extents needs for these: no write reaches from one extent into the next."""
    at = 0
    for pages in sizes:
        while pages > 0:
            part = min(pages, extent_pages - at)
            yield part
            pages -= part
            at = (at + part) % extent_pages


class Playback(harness.PlimsollTest):
    """Pattern files that are made here."""

    in_memory = True
    # Moments are kept however busy the machine is.
    agents_ahead = True

    def pattern(self, *streams, length_s=1.0, name="pattern.plimsoll"):
        return pattern_files.write(self.base / name, streams, length_s)

    def play(self, pattern, *arguments, **options):
        """A run that plays the file, for two seconds unless the arguments say otherwise. Storage in memory is faster than
        any recording."""
        if "--hosts" not in arguments:
            arguments = ("--hosts", self.agent("alpha").address, *arguments)
        if "--duration" not in arguments:
            arguments = ("--duration", "2", *arguments)
        return self.run_plan("--pattern", pattern, *arguments, **options)

    def assert_commits(self, scope, expected, pages):
        """So many commits, but for one at each edge of the step, each of so many pages."""
        self.assertAlmostEqual(scope["throughput"]["count"], expected, delta=2)
        self.assertEqual(scope["throughput"]["bytes"], scope["throughput"]["count"] * pages * PAGE_BYTES)

    def test_each_recorded_write_is_a_commit_when_it_began_and_the_recording_begins_again(self):
        run = self.play(self.pattern(even(100, 2)), "--require", "commit_max<10s")
        (step,) = run.report["steps"]
        (commits,) = commits_of(step)
        self.assert_commits(commits, 200, 2)
        self.assertEqual(step["group_commit"]["logical_bytes"], commits["throughput"]["bytes"])
        self.assertEqual(run.report["verdict"]["outcome"], "pass", run)
        # Nothing merges on fast storage, nor is a page written twice.
        self.assertAlmostEqual(harness.cluster(step)["bytes"], 200 * 2 * PAGE_BYTES, delta=2 * 2 * PAGE_BYTES)
        self.assertEqual(step["load_factor"], 1)
        self.assert_nothing_left()

    def test_a_load_factor_of_two_makes_twice_as_many_commits_in_the_same_time(self):
        pattern = self.pattern(even(100, 3))
        for factor, expected in (("1", 200), ("2", 400), ("0.5", 100)):
            with self.subTest(factor):
                (step,) = self.play(pattern, "--load-factor", factor).report["steps"]
                self.assert_commits(commits_of(step)[0], expected, 3)
                self.assertEqual(step["load_factor"], float(factor))

    def test_streams_are_played_by_the_writers_of_all_hosts_in_order_and_again_from_the_first(self):
        pattern = self.pattern(even(100, 1), even(50, 3), even(20, 5))
        agents = [self.agent(name) for name in ("alpha", "beta")]
        (step,) = self.play(pattern, "--hosts", ",".join(agent.address for agent in agents), "--qm", "2").report["steps"]
        for scope, (rate, pages) in zip(commits_of(step, "qm"), ((100, 1), (50, 3), (20, 5), (100, 1)), strict=True):
            self.assert_commits(scope, 2 * rate, pages)

    def test_what_arrives_while_a_write_stalls_leaves_with_the_next_one(self):
        filesystem = faultfs.mounted(self)
        agent = self.agent("alpha", root=filesystem.mountpoint)
        # Behind the three that fill the extents.
        fault = filesystem.fault("write *.LOG after=40 count=1 delay_ms=500")
        run = self.play(self.pattern(even(200, 1)), "--hosts", agent.address, dir=filesystem.mountpoint)
        self.assertEqual(fault.hits, 1)
        (step,) = run.report["steps"]
        (commits,) = commits_of(step)
        self.assert_commits(commits, 400, 1)
        # Some hundred arrived meanwhile, in one or two writes of 64 pages at most: an extent has no more.
        self.assertLess(harness.cluster(step)["writes"], 340)
        self.assertGreaterEqual(commits["latency"]["max_ns"], 500e6)
        (late,) = [one for one in harness.operations(step)["commit"]["distributions"] if one["kind"] == "cluster"]
        self.assertGreaterEqual(sum(count for from_ns, count in zip(late["from_ns"], late["count"]) if from_ns > 100e6), 60)

    def test_exact_playback_issues_the_recorded_sizes_in_their_order_and_every_output_says_what_it_is(self):
        if shutil.which("strace") is None:
            raise unittest.SkipTest("strace is not installed")
        if subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode:
            raise unittest.SkipTest("this machine does not let strace trace")
        sizes = [1 + number * 7 % 13 for number in range(50)]
        # Bursts of five: they are issued one after another, and never merged.
        pattern = self.pattern([(0.018 if number % 5 == 0 else 1e-6, pages) for number, pages in enumerate(sizes)])
        output = self.base / "strace"
        agent = self.agent("alpha", wrap=system_calls.options(output))
        run = self.play(pattern, "--playback", "writes", "--hosts", agent.address)
        self.stop_agents(agent)
        calls = system_calls.named(system_calls.threads(output), "qm1")
        writes = [system_calls.write_of(call) for call in calls if call.name == "pwritev2"]
        (step,) = run.report["steps"]
        scope = harness.cluster(step)
        issued = writes[-scope["writes"] - scope["closing"]["writes"]:]
        self.assertGreater(len(issued), 80)
        expected = within_extents(itertools.cycle(sizes), FILE_PAGES)
        self.assertEqual([write.length // PAGE_BYTES for write in issued], list(itertools.islice(expected, len(issued))))
        self.assertNotIn(run.report["verdict"]["outcome"], ("pass", "fail"))
        for text in (run.out, (run.results / "report.txt").read_text(), (run.results / "report.html").read_text(),
                     self.plimsoll("report", run.results, "--summary", "md").out):
            self.assertIn(NOT_MQ, " ".join(text.split()))

    def test_exact_playback_is_never_judged(self):
        pattern = self.pattern(even(100, 1))
        for arguments in (("run", "--require", "commit_p99<10s"), ("run", "--require", "p99<10s"),
                          ("limit", "--over", "load-factor", "--load-factor", "4", "--require", "commit_p99<10s")):
            with self.subTest(arguments):
                result = self.plimsoll(*arguments, "--pattern", pattern, "--playback", "writes", "--dir", self.dir, code=2)
                self.assertIn("--playback writes", result.err)
        self.assert_nothing_left()

    def test_a_pattern_that_was_changed_is_refused_by_its_digest_and_a_damaged_one_by_its_name(self):
        pattern = self.pattern(even(100, 1))
        plan = self.base / "plan.yaml"
        digest = subprocess.run(["sha256sum", pattern], capture_output=True, check=True, text=True).stdout.split()[0]
        plan.write_text(f"group_commit:\n  pattern: {pattern}\n  pattern_sha256: {digest}\n")
        self.run_plan(plan)
        data = bytearray(pattern.read_bytes())
        for change, why in ((-5, "this is another file, or it was changed"), (None, "SHA-256")):
            if change is None:
                pattern.write_bytes(data[:100])
            else:
                data[change] ^= 1
                pattern.write_bytes(data)
            result = self.plimsoll("run", plan, "--dir", self.dir, code=2)
            self.assertIn(str(pattern), result.err)
            self.assertIn(why, result.err)
        result = self.plimsoll("run", "--pattern", pattern, "--dir", self.dir, code=2)
        self.assertIn(f"{pattern}: damaged at byte", result.err)
        for other, why in ((self.base, "is a directory"), (plan, "not a pattern file"), (self.base / "none", "none")):
            result = self.plimsoll("run", "--pattern", other, "--dir", self.dir, code=2)
            self.assertIn(str(other), result.err)
            self.assertIn(why, result.err)
        self.assert_nothing_left()

    def test_what_a_recording_does_not_go_with_is_named(self):
        pattern = self.pattern(even(100, 1))
        for arguments, error in ((("--clients", "4"), "--clients and --pattern are both given"),
                                 (("--rate", "10"), "the recording sets the pace"),
                                 (("--load-factor", "1001"), "--load-factor"),
                                 (("--playback", "exact"), "--playback")):
            with self.subTest(arguments):
                self.assertIn(error, self.plimsoll("run", "--pattern", pattern, "--dir", self.dir, *arguments, code=2).err)
        self.assertIn("--pattern", self.plimsoll("run", "--load-factor", "2", "--dir", self.dir, code=2).err)

    def test_a_search_over_the_load_factor_ends_with_the_highest_that_meets_the_criteria(self):
        # A percentile needs 1,000 commits.
        pattern = self.pattern(even(500, 1))
        for criterion, met in (("commit_p99<10s", True), ("commit_p99<1ns", False)):
            with self.subTest(criterion):
                out = self.base / f"limit-{met}"
                process = self.start_plimsoll("limit", "--hosts", self.agent(f"agent-{met}".lower()).address, "--pattern", pattern,
                                              "--over", "load-factor", "--load-factor", "8", "--dir", self.dir, "--out", out,
                                              "--require", criterion, *SEARCH)
                report = self.finished(process, out, (0, 1, 3)).report
                found = report["limit"]
                self.assertEqual(found["over"], "load_factor")
                self.assertEqual(found["limit"], 8 if met else 0, process.err)
                self.assertIn("maximum", [step["purpose"] for step in report["steps"]])
                self.assertEqual(max(step["load_factor"] for step in report["steps"]), 8)
        self.assert_nothing_left()

    def test_the_journal_has_all_that_the_outputs_show(self):
        run = self.play(self.pattern(even(200, 2)), "--qm", "2")
        files = ("report.json", "report.txt", "report.csv", "report.html")
        before = {name: (run.results / name).read_bytes() for name in files}
        self.plimsoll("report", run.results)
        for name, content in before.items():
            self.assertEqual((run.results / name).read_bytes(), content, name)


class FromWatch(watching.StandInTest):
    """Programs that were watched."""

    def plan_from(self, results, *arguments):
        """The plan that is made of a watch, and the streams of its pattern."""
        plan = self.base / "plan.yaml"
        made = self.plimsoll("plan", "from-watch", results, "--out", plan, *arguments)
        self.assertIn(f"{plan}: 1 queue manager", made.out)
        return plan, pattern_files.read(results / "pattern.plimsoll"), made

    def play(self, plan, *arguments):
        out = self.base / f"simulated-{len(list(self.base.iterdir()))}"
        process = self.start_plimsoll("run", plan, "--dir", self.dir, "--out", out, *arguments, wrap=harness.ahead())
        return self.finished(process, out)

    def assert_plays(self, run, recorded):
        """Each recorded write was a commit of the run, but for those at its edges."""
        (commits,) = commits_of(run.report["steps"][0])
        self.assertAlmostEqual(commits["throughput"]["count"], recorded, delta=max(3, recorded // 500))

    def test_the_writes_of_a_program_are_recorded_and_played_on_its_own_storage(self):
        program = self.base / "writer.py"
        program.write_text(WRITER)
        watched = self.watch("--max-overhead", "100", "--summary", "md", "--", sys.executable, "-B", program, self.dir, 400, 0.002)
        logged = json.loads(watched.out.partition("###")[0])
        plan, (stream,), _ = self.plan_from(watched.results)
        self.assertFalse(stream["per_second"])
        self.assertEqual(stream["stated_writes"], len(logged))
        self.assertEqual([pages for _, pages in stream["writes"]], [whole_pages(size) for size, _, _ in logged])
        self.assertEqual(stream["bytes"], sum(size for size, _, _ in logged))
        self.assertEqual(stream["paged_bytes"], PAGE_BYTES * sum(whole_pages(size) for size, _, _ in logged))
        # One start of the recording fits all moments, but for the bound of the clock probes, which is below 1 ms on one machine.
        earliest = max(before_ns - moment_ns for (moment_ns, _), (_, before_ns, _) in zip(stream["writes"], logged))
        latest = min(after_ns - moment_ns for (moment_ns, _), (_, _, after_ns) in zip(stream["writes"], logged))
        self.assertLessEqual(earliest - latest, 1e6)
        simulated = self.play(plan)
        self.assert_plays(simulated, len(logged))
        self.assertIn("a watched program", self.plimsoll("compare", watched.results, simulated.results, code=(0, 1)).out)
        exact = self.play(plan, "--playback", "writes")
        self.assertAlmostEqual(harness.cluster(exact.report["steps"][0])["bytes"], stream["paged_bytes"], delta=3 * 4 * PAGE_BYTES)
        self.assertIn(NOT_MQ, " ".join(exact.out.split()))
        # Twice as fast, the recording is played twice.
        self.assert_plays(self.play(plan, "--load-factor", "2"), 2 * len(logged))

    def test_a_pattern_has_as_many_writes_and_bytes_as_the_stand_in_logged(self):
        watched, made = self.watch_stand_in(500, 0, 2)
        plan, (stream,), command = self.plan_from(watched.results)
        self.assertEqual(len(stream["writes"]), len(made["write"]))
        self.assertEqual(stream["stated_writes"], len(made["write"]))
        self.assertEqual(stream["bytes"], sum(size for _, _, size in made["write"]))
        # Writes of two threads may overlap, and a write that another one overtook at a frame's border has no trace.
        scope = harness.cluster(watched.report["steps"][0])
        self.assertEqual(stream["per_second"], scope["untraced_writes"] > 0)
        self.assertEqual("note: " in command.err, stream["per_second"])
        self.assert_plays(self.play(plan), len(made["write"]))

    def test_a_watch_whose_traces_stopped_is_played_by_second(self):
        stand_in = self.start_stand_in(self.dir / "active", 500, 0, 3)
        process = self.start_watch("--pid", stand_in.pid, "--interval", "1", "--duration", 6, "--max-overhead", "100", "--trace-limit",
                                   "1k")
        self.await_lines(process)
        stand_in.write(b"\n")
        made = self.made(stand_in)["write"]
        watched = self.finish_watch(process)
        plan, (stream,), command = self.plan_from(watched.results)
        self.assertTrue(stream["per_second"])
        self.assertIn("writes are in no trace (--trace, --trace-limit", command.err)
        self.assertIn("by second", plan.read_text())
        self.assertEqual((len(stream["writes"]), stream["bytes"]), (len(made), sum(size for _, _, size in made)))
        self.assert_plays(self.play(plan), len(made))

    def test_results_that_are_no_watch_of_a_log_are_refused_by_name(self):
        # In memory, writes without a pause leave no CPU to spare on a busy machine: the run would doubt itself.
        run = self.run_plan("--delay", "1ms")
        result = self.plimsoll("plan", "from-watch", run.results, code=2)
        self.assertIn(f"{run.results}: a run, whose writes are Plimsoll's own", result.err)
        self.assertFalse(os.path.exists(run.results / "pattern.plimsoll"))


if __name__ == "__main__":
    harness.main()
