"""Simulated clients in real runs: the writes that the kernel gets, the figures, and Little's law."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faultfs"))

import faultfs  # noqa: E402
import harness  # noqa: E402
import system_calls  # noqa: E402

PAGE_BYTES = 4096
FILE_BYTES = 256 << 10
THINK_S = 500e-6
# A run of a second has some thousand commits of few clients: their think times alone vary by 2 %.
NEAR = 0.1


def commits_of(step, kind="cluster"):
    """The scopes of the step's commits."""
    return [one for one in harness.operations(step)["commit"]["scopes"] if one["kind"] == kind]


def clients_by_littles_law(scope, think_s=THINK_S):
    """How many clients made these commits: rate x (think time + latency)."""
    return scope["throughput"]["iops"] * (think_s + scope["latency"]["avg_ns"] / 1e9)


class Log:
    """Checks a writer's calls, one by one: where a log write may go, and what it must be preceded by."""

    def __init__(self, test, copies):
        self.test, self.copies = test, copies
        self.end_bytes = FILE_BYTES - (PAGE_BYTES if copies else 0)
        self.rewritten = self.copied = 0
        self._before = self._copy = None

    def take(self, write):
        where = (os.path.basename(write.path), write.offset, write.length)
        self.test.assertEqual((write.offset % PAGE_BYTES, write.length % PAGE_BYTES), (0, 0), where)
        if self.copies and write.offset == self.end_bytes:
            self.test.assertEqual(write.length, PAGE_BYTES, where)
            self.test.assertIsNone(self._copy, "two copies in succession")
            self._copy = write
            self.copied += 1
            return
        self.test.assertLessEqual(write.offset + write.length, self.end_bytes, where)
        before, copy = self._before, self._copy
        self._before, self._copy = write, None
        if before is None:
            return
        end = before.offset + before.length
        if write.path != before.path:
            self.test.assertEqual((end, write.offset), (self.end_bytes, 0), "an extent is filled before the next one")
            self.test.assertIsNone(copy, where)
            return
        again = write.offset == end - PAGE_BYTES
        self.rewritten += again
        self.test.assertTrue(again or write.offset == end, (before, write))
        if self.copies:
            self.test.assertEqual(copy is not None, again, (before, write))
        if copy is not None:
            self.test.assertEqual(copy.path, write.path)


class GroupCommit(harness.PlimsollTest):
    in_memory = True

    def clients(self, number, *arguments):
        return ("--clients", str(number), "--think-time", "500us", *arguments)

    def trace(self, clients, integrity):
        """Two queue managers of one run under strace: the report, and the log writes of each by its number."""
        output = self.base / f"strace-{clients}-{integrity}"
        agent = self.agent("alpha", wrap=[*harness.ahead(), *system_calls.options(output)])
        report = self.run_plan("--hosts", agent.address, "--qm", "2", "--duration", "1", "--log-write-integrity", integrity,
                               *self.clients(clients)).report
        self.stop_agents(agent)
        threads = system_calls.threads(output)
        writes = {}
        for qm in (1, 2):
            calls = system_calls.named(threads, f"qm{qm}")
            writes[qm] = [system_calls.write_of(call) for call in calls if call.name == "pwritev2"]
        return report, writes

    def test_the_kernel_gets_the_writes_that_the_report_counts_where_a_log_has_them(self):
        if shutil.which("strace") is None:
            raise unittest.SkipTest("strace is not installed")
        if subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode:
            raise unittest.SkipTest("this machine does not let strace trace")
        for clients in (1, 12, 60):
            for integrity, copies in (("TripleWrite", True), ("SingleWrite", False)):
                with self.subTest(clients=clients, integrity=integrity):
                    self.check_traced(*self.trace(clients, integrity), clients, copies)

    def check_traced(self, report, writes, clients, copies):
        (step,) = report["steps"]
        logical = sum(scope["throughput"]["bytes"] for scope in commits_of(step, "qm"))
        for scope in harness.scopes(step, "qm"):
            count = scope["writes"] + scope["closing"]["writes"]
            # The first ones fill the three extents.
            filling, log_writes = writes[scope["qm"]][:-count], writes[scope["qm"]][-count:]
            self.assertEqual([write.length for write in filling], 3 * [FILE_BYTES])
            self.assertEqual(sum(write.length for write in log_writes), scope["bytes"] + scope["closing"]["bytes"])
            log = Log(self, copies)
            for write in log_writes:
                log.take(write)
            if clients == 1:
                self.assertGreater(log.rewritten, 10, "one client's writes end within a page")
            # One client's record is smaller than a page: what is not the page again is a copy of it.
            self.assertTrue(not copies or log.rewritten <= log.copied <= log.rewritten + 1)
        made, cluster = step["group_commit"], harness.cluster(step)
        self.assertEqual((step["clients"], made["logical_bytes"]), (clients, logical))
        self.assertAlmostEqual(made["physical_over_logical"], cluster["bytes"] / logical)
        self.assertAlmostEqual(made["mean_write_bytes"], cluster["bytes"] / cluster["writes"])
        self.assertGreaterEqual(cluster["bytes"], logical)
        (commits,) = commits_of(step)
        self.assertEqual(made["commits_per_second"], commits["throughput"]["iops"])
        self.assertGreaterEqual(commits["latency"]["avg_ns"], cluster["latency"]["avg_ns"])
        found = clients_by_littles_law(commits)
        self.assertAlmostEqual(found / (2 * clients), 1, delta=NEAR, msg=f"{found} of {2 * clients} clients")

    def test_two_hosts_commit_by_littles_law_and_every_output_calls_them_simulated(self):
        agents = [self.agent(name) for name in ("alpha", "beta")]
        run = self.run_plan("--hosts", ",".join(agent.address for agent in agents), "--qm", "2", "--duration", "2", "--warmup",
                            "200ms", "--message-size", "20k", "--log-buffer-pages", "4096", "--require", "commit_p99<10s",
                            *self.clients(30))
        (step,) = run.report["steps"]
        self.assertEqual(run.report["verdict"]["criteria"][0]["outcome"], "pass", run)
        for scope in commits_of(step, "qm"):
            self.assertAlmostEqual(clients_by_littles_law(scope) / 30, 1, delta=NEAR)
        for text in ((run.results / "report.txt").read_text(), self.plimsoll("report", run.results).out,
                     self.plimsoll("report", run.results, "--summary", "md").out):
            self.assertRegex(" ".join(text.split()), r"Group commit \(simulated\): [\d,]+ commits/s of 30 clients per queue manager")
            self.assertNotIn("in no trace", text)
        # The journal has all of it.
        files = ("report.json", "report.txt", "report.csv", "report.html")
        before = {name: (run.results / name).read_bytes() for name in files}
        self.plimsoll("report", run.results)
        for name, content in before.items():
            self.assertEqual((run.results / name).read_bytes(), content, name)
        csv = self.plimsoll("export", run.results, "--format", "csv", "--output", self.base / "writes.csv")
        self.assertIn("runs with --clients or --pattern have no traces", csv.err)
        for other in ("hlog", "fio-json"):
            self.assertNotIn("no traces", self.plimsoll("export", run.results, "--format", other, "--output", self.base / other).err)
        self.assert_nothing_left()

    def test_a_write_that_stalls_makes_all_clients_wait_for_the_next_one(self):
        filesystem = faultfs.mounted(self)
        agent = self.agent("alpha", root=filesystem.mountpoint)
        # Behind the three that fill the extents.
        fault = filesystem.fault("write *.LOG after=40 count=1 delay_ms=600")
        run = self.run_plan("--hosts", agent.address, "--duration", "2", "--stall", "400ms", *self.clients(20), dir=filesystem.mountpoint)
        self.assertEqual(fault.hits, 1)
        (step,) = run.report["steps"]
        (commits,) = commits_of(step)
        self.assertGreaterEqual(harness.cluster(step)["latency"]["max_ns"], 600e6)
        self.assertGreaterEqual(commits["latency"]["max_ns"], 600e6)
        self.assertAlmostEqual(clients_by_littles_law(commits) / 20, 1, delta=NEAR)
        self.assertEqual(step["stalls"]["count"], 1, run)
        self.assertGreaterEqual(step["stalls"]["stalls"][0]["length_ns"], 600e6)
        # One write, but of every client a commit.
        (late,) = [one for one in harness.operations(step)["commit"]["distributions"] if one["kind"] == "cluster"]
        self.assertGreaterEqual(sum(count for from_ns, count in zip(late["from_ns"], late["count"]) if from_ns > 500e6), 15)

    def test_a_rate_of_commits_is_reached_whatever_the_writes_take(self):
        (step,) = self.run_plan("--clients", "60", "--client-rate", "50", "--duration", "2").report["steps"]
        (commits,) = commits_of(step)
        self.assertAlmostEqual(commits["throughput"]["iops"] / 3000, 1, delta=NEAR)

    def test_a_search_over_clients_ends_with_the_most_that_meet_the_criteria(self):
        for criterion, limit in (("commit_p99<10s", 40), ("commit_p99<1ns", 0)):
            with self.subTest(criterion):
                out = self.base / f"limit-{limit}"
                process = self.start_plimsoll("limit", "--dir", self.dir, "--out", out, "--file-size", "256k", "--duration", "300ms",
                                              "--warmup", "0", "--hold", "600ms", "--budget", "15s", "--require", criterion,
                                              *self.clients(40))
                report = self.finished(process, out, (0, 1, 3)).report
                found = report["limit"]
                self.assertEqual(found["over"], "clients")
                self.assertNotIn("agent refused", process.err)
                self.assertEqual([step["purpose"] for step in report["steps"]][:2], ["probe", "maximum"])
                self.assertEqual([step["clients"] for step in report["steps"]][:2], [1, 40])
                self.assertEqual(found["limit"], limit, process.err)
                self.assertRegex(process.err, r"step 1, probe: 1 client per queue manager: [\d,.]+ commits/s of all hosts")
                self.assertIn("maximum: 40 clients per queue manager", process.err)
        self.assert_nothing_left()

    def test_sides_with_other_clients_are_compared_by_their_commits(self):
        runs = [self.run_plan(*self.clients(number), "--duration", "1").results for number in (4, 40)]
        self.assertIn("not comparable: simulated clients or recording (--clients, --pattern)", self.plimsoll("compare", *runs, code=(1, 2)).err)
        compared = self.plimsoll("compare", *runs, "--differs", "clients", code=(0, 1)).out
        self.assertIn("commit in", compared)
        self.assertIn("The commits show which side is faster.", " ".join(compared.split()))

    def test_an_interrupted_run_and_one_that_loses_a_host_report_the_commits_until_then(self):
        process = self.start_run("--duration", "30", *self.clients(12))
        self.await_running(process)
        process.signal(signal.SIGINT)
        process.finish()
        report = harness.report_of(process.results)
        (step,) = report["steps"]
        self.assertNotIn(report["verdict"]["outcome"], ("pass", "done"))
        self.assertGreater(step["group_commit"]["commits_per_second"], 0)
        self.assert_nothing_left()
        alpha, beta = (self.agent(name) for name in ("alpha", "beta"))
        process = self.start_run("--hosts", f"{alpha.address},{beta.address}", "--duration", "3", "--require", "commit_p99<10s",
                                 *self.clients(12))
        self.await_running(process)
        beta.signal(signal.SIGKILL)
        process.finish()
        report = harness.report_of(process.results)
        self.assertEqual(report["verdict"]["outcome"], "inconclusive")
        (alone,) = [scope for scope in commits_of(report["steps"][0], "host") if scope["host"] == "alpha"]
        self.assertAlmostEqual(clients_by_littles_law(alone) / 12, 1, delta=NEAR)

    def test_what_clients_do_not_go_with_is_named(self):
        for arguments, error in ((("--message-size", "4k"), "--clients (group_commit.clients) is missing"),
                                 (("--clients", "4294967295"), "from 1 to 10000"),
                                 (("--clients", "4", "--rate", "10"), "clients set the pace"),
                                 (("--clients", "4", "--trace", "on"), "traces have no sizes")):
            self.assertIn(error, self.plimsoll("run", "--dir", self.dir, *arguments, code=2).err)


if __name__ == "__main__":
    harness.main()
