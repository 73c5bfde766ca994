"""Runs that read: the system calls of their writers, and their reports."""

import collections
import os
import re
import shutil
import subprocess
import unittest

import harness
import path_files

FILE_BYTES = 256 << 10
BLOCK_BYTES = 16 << 10
FILES = 2
# The places of a writer's blocks, in the order of a log.
LAP = [(f"S{number:07}.LOG", offset) for number in range(FILES) for offset in range(0, FILE_BYTES, BLOCK_BYTES)]

_TRANSFER = re.compile(r"^p(?P<kind>read|write)v2\(\d+<(?P<path>[^>]*)>, \[\{iov_base=.*, iov_len=(?P<length>\d+)\}\], 1, "
                       r"(?P<offset>\d+), \w+\) += (?P<done>-?\d+)")

Transfer = collections.namedtuple("Transfer", "kind place")


class Calls(harness.PlimsollTest):

    in_memory = True

    def setUp(self):
        super().setUp()
        if shutil.which("strace") is None:
            raise unittest.SkipTest("strace is not installed")
        if subprocess.run(["strace", "-ff", "-o", self.base / "probe", "true"], capture_output=True,
                          check=False).returncode:
            raise unittest.SkipTest("this machine does not let strace trace")
        self.runs = 0

    def transfers(self, output, name):
        """The writes and reads of blocks by the thread of that name, in order. strace writes a file for each thread."""
        found = []
        for path in harness.paths(output):
            lines = path.read_text(errors="replace").splitlines()
            if not any(f'PR_SET_NAME, "{name}"' in line for line in lines):
                continue
            for line in lines:
                match = _TRANSFER.match(line)
                # The writes that fill an extent before the start are larger.
                if match is None or int(match["length"]) != BLOCK_BYTES:
                    continue
                self.assertEqual(int(match["done"]), BLOCK_BYTES, line)
                found.append(Transfer(match["kind"], (os.path.basename(match["path"]), int(match["offset"]))))
        return found

    def trace(self, *arguments, qms=1):
        """Runs one step under strace. Returns its result, and the transfers of each writer."""
        self.runs += 1
        output = self.base / f"strace-{self.runs}"
        output.mkdir()
        agent = self.agent("alpha", wrap=[*harness.ahead(), "strace", "-ff", "-y", "-s", "16", "-e",
                                          "trace=prctl,preadv2,pwritev2", "-o", output / "calls"])
        # The pauses let programs make progress that do not run ahead. The verdict does not matter here.
        result = self.run_plan("--hosts", agent.address, "--bsize", "16k", "--file-size", "256k", "--num-files", FILES,
                               "--duration", "1", "--qm", qms, "--delay", "500us", *arguments, code=(0, 3))
        self.stop_agents(agent)
        writers = [self.transfers(output, f"qm{qm}") for qm in range(1, qms + 1)]
        for writer in writers:
            self.assertGreater(len(writer), 200, "too few operations to see anything")
        return result, writers

    def check_passes(self, places):
        """Each pass takes every block once, in another order than the one before and than a log."""
        passes = [places[begin:begin + len(LAP)] for begin in range(0, len(places), len(LAP))]
        for number, taken in enumerate(passes):
            self.assertEqual(len(set(taken)), len(taken), f"pass {number}: a block twice")
        for taken, after in zip(passes[:-1], passes[1:]):
            self.assertEqual(set(taken), set(LAP), "every block")
            self.assertNotEqual(taken, LAP)
            if len(after) == len(LAP):
                self.assertNotEqual(taken, after)

    def check_share(self, writer, percent):
        """Exactly `percent` of each hundred operations read."""
        hundreds = [writer[begin:begin + 100] for begin in range(0, len(writer) - 99, 100)]
        reads = [sum(one.kind == "read" for one in hundred) for hundred in hundreds]
        self.assertGreater(len(reads), 1)
        self.assertEqual(set(reads), {percent})

    def test_a_mixed_run_in_random_order_makes_the_calls_that_its_report_counts(self):
        result, writers = self.trace("--read-percent", "30", "--access", "random", qms=2)
        (step,) = result.report["steps"]
        for number, writer in enumerate(writers, start=1):
            self.check_passes([one.place for one in writer])
            self.check_share(writer, 30)
            counts = collections.Counter(one.kind for one in writer)
            (scope,) = [one for one in harness.scopes(step, "qm") if one["qm"] == number]
            self.assertEqual(scope["latency"]["count"], counts["write"])
            (reads,) = [one for one in harness.scopes(harness.operations(step)["read"], "qm") if one["qm"] == number]
            self.assertEqual(reads["latency"]["count"], counts["read"])
            closing = reads["latency"]["count"] - reads["throughput"]["count"] + scope["closing"]["writes"]
            self.assertIn(closing, (0, 1), "one operation at a time is in flight at the end")
            self.assertEqual(reads["throughput"]["bytes"], reads["throughput"]["count"] * BLOCK_BYTES)
        first, second = writers
        self.assertNotEqual(first[:len(LAP)], second[:len(LAP)], "each writer has an order of its own")
        everything = [one for writer in writers for one in writer]
        self.assertEqual(harness.cluster(step)["latency"]["count"], sum(one.kind == "write" for one in everything))
        self.assertEqual(harness.cluster(harness.operations(step)["read"])["latency"]["count"],
                         sum(one.kind == "read" for one in everything))

    def test_reads_in_the_order_of_a_log_take_their_turn_with_the_writes(self):
        result, (writer,) = self.trace("--read-percent", "50")
        self.assertEqual([one.place for one in writer], [LAP[number % len(LAP)] for number in range(len(writer))])
        self.check_share(writer, 50)
        (step,) = result.report["steps"]
        self.assertEqual(harness.cluster(harness.operations(step)["read"])["latency"]["count"],
                         sum(one.kind == "read" for one in writer))

    def test_writes_alone_can_be_in_random_order(self):
        result, (writer,) = self.trace("--access", "random")
        self.check_passes([one.place for one in writer])
        self.assertEqual({one.kind for one in writer}, {"write"})
        (step,) = result.report["steps"]
        self.assertEqual(harness.operations(step), {})
        self.assertEqual(harness.cluster(step)["latency"]["count"], len(writer))

    def test_a_run_that_only_reads_writes_nothing_and_says_so(self):
        result, (writer,) = self.trace("--read-percent", "100", "--access", "random")
        self.assertEqual({one.kind for one in writer}, {"read"})
        self.check_passes([one.place for one in writer])
        (step,) = result.report["steps"]
        self.assertEqual(harness.operations(step), {})
        self.assertEqual(harness.cluster(step)["latency"]["count"], len(writer))
        self.assertEqual(result.report["plan"]["read_percent"], 100)
        text = (result.results / "report.txt").read_text()
        self.assertRegex(text, r"\breads\b")
        self.assertRegex(text, r"Slowest reads, by service time")
        self.assertNotRegex(text, r"[Ss]lowest write|writes/s|\d writes\b")

    def test_with_one_seed_operations_and_blocks_come_in_one_order(self):
        arguments = ("--read-percent", "40", "--access", "random")
        result, (drawn,) = self.trace(*arguments)
        seed = result.report["plan"]["seed"]
        again, (same,) = self.trace(*arguments, "--seed", seed)
        self.assertEqual(again.report["plan"]["seed"], seed)
        _, (other,) = self.trace(*arguments, "--seed", (seed + 1) % (1 << 32))
        begin = min(map(len, (drawn, same, other)))
        self.assertEqual(drawn[:begin], same[:begin])
        self.assertNotEqual([one.kind for one in drawn[:begin]], [one.kind for one in other[:begin]])
        self.assertNotEqual([one.place for one in drawn[:begin]], [one.place for one in other[:begin]])


class Reports(harness.PlimsollTest):

    in_memory = True
    runs_ahead = True

    def mixed(self, *arguments, code=0):
        return self.run_plan("--read-percent", "50", "--access", "random", "--duration", "1", "--require", "read_p90<10s",
                             "--require", "read_iops>=1", *arguments, code=code)

    def outcomes(self, report):
        return {one["criterion"]: one["outcome"] for one in report["verdict"]["criteria"]}

    def test_a_criterion_of_reads_passes_where_they_reach_the_storage(self):
        result = self.mixed(code=(0, 3))
        report = result.report
        self.assertEqual(self.outcomes(report), {"read_p90<10s": "pass", "read_iops>=1": "pass"})
        # Not every file system takes O_DIRECT.
        direct = path_files.takes_direct(self.dir)
        self.assertEqual(report["hosts"][0]["mount"]["direct"], direct)
        self.assertEqual(result.code, 0 if direct else 3, result)
        self.assertEqual("page cache" in str(report["verdict"]["reasons"]), not direct)
        self.assert_nothing_left()

    def test_reads_through_the_page_cache_pass_no_criterion(self):
        report = self.mixed("--direct", "off", code=3).report
        self.assertEqual(self.outcomes(report), {"read_p90<10s": "pass", "read_iops>=1": "pass"})
        self.assertIn("its reads went through the page cache", str(report["verdict"]["reasons"]))
        # Without criteria such reads are only noted.
        self.assertEqual(self.run_plan("--read-percent", "50", "--direct", "off").report["verdict"]["outcome"], "done")

    def test_a_target_rate_is_that_of_reads_and_writes_together(self):
        report = self.run_plan("--read-percent", "50", "--rate", "200", "--duration", "1").report
        (step,) = report["steps"]
        scope = harness.cluster(step)
        self.assertEqual(scope["rate"]["asked_iops"], 200)
        reads = harness.cluster(harness.operations(step)["read"])
        # Half of each hundred operations read; neither count has what was in flight at the end or never issued.
        done = scope["writes"] + reads["throughput"]["count"]
        late = scope["rate"]["unserved"] + 1
        self.assertLessEqual(done, 201)
        self.assertGreaterEqual(done + late, 200)
        self.assertLessEqual(abs(scope["writes"] - reads["throughput"]["count"]), 2 * late)
        self.assertEqual(reads["response"]["count"], reads["latency"]["count"])
        self.assertGreater(reads["response"]["min_ns"], 0)

    def test_the_journal_gives_the_same_report_again(self):
        for percent in (50, 100):
            with self.subTest(percent):
                result = self.run_plan("--read-percent", percent, "--access", "random")
                copy = self.base / f"copy-{percent}"
                copy.mkdir()
                shutil.copy(result.results / "journal", copy)
                self.plimsoll("report", copy)
                for name in ("report.csv", "report.html", "report.json", "report.txt", "timeline.csv"):
                    self.assertEqual((copy / name).read_bytes(), (result.results / name).read_bytes(), name)

    def test_a_plan_that_only_writes_refuses_reads_before_anything_is_made(self):
        refused = self.plimsoll("accept", "--dir", self.dir, "--rate", "100", "--require", "p99<1s", "--read-percent", "10",
                                "--out", self.base / "acceptance", code=2)
        self.assertIn("an acceptance only writes", refused.err)
        unread = self.run_plan("--require", "read_p99<5ms", code=2)
        self.assertIn("is about reads, and there are none: give --read-percent", unread.err)
        self.assert_nothing_left()


if __name__ == "__main__":
    harness.main()
