"""`plimsoll watch`: programs that run, watched from outside, against what they log of themselves.

Where the kernel refuses, the tests that attach are skipped with its reason."""

import csv
import json
import os
import re
import signal
import subprocess
import sys

import harness
import schema

# Writes a log as a queue manager does, one write after the other in two files, and what the log is not beside it. Prints, as
# JSON, of every log write its size and the moments before and after it. Arguments: directory, number of writes, seconds
# between them; "-": until it is ended.
WRITER = r"""
import json, os, signal, sys, time
directory, count, pause_s = sys.argv[1], sys.argv[2], float(sys.argv[3])
flags = os.O_CREAT | os.O_RDWR | os.O_DSYNC
logs = [os.open(os.path.join(directory, "active", name), flags, 0o600) for name in ("S0000000.LOG", "S0000001.LOG")]
other = os.open(os.path.join(directory, "messages"), os.O_CREAT | os.O_RDWR, 0o600)
ended = []
signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
seen = []
number = 0
while not ended and (count == "-" or number < int(count)):
    size = 4096 * (1 + number % 3)
    at = 65536 * (number % 16)
    begin = time.monotonic_ns()
    os.pwrite(logs[number // 16 % 2], b"x" * size, at)
    seen.append((size, begin, time.monotonic_ns()))
    os.write(other, b"no log")
    number += 1
    time.sleep(pause_s)
json.dump(seen, sys.stdout)
"""

# What an agent reports where it may not attach, or cannot.
REFUSALS = r"perf_event|tracefs|tracepoint|uprobe|CAP_|permission|not permitted|kernel"


class Watch(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        (self.dir / "active").mkdir()
        self.program = self.base / "writer.py"
        self.program.write_text(WRITER)
        self.seen = self.base / "seen.json"

    def writer(self, count, pause_s):
        return [sys.executable, "-B", str(self.program), str(self.dir), str(count), str(pause_s)]

    def watch(self, *arguments, code=0, out="watched"):
        results = self.base / out
        process = self.start_plimsoll("watch", "--log-dir", self.dir / "active", "--out", results, *arguments)
        process.finish()
        if process.finish() in (2, 4) and re.search(REFUSALS, process.err):
            self.skipTest(process.err.strip().splitlines()[-1])
        return self.result_of(process, results, code)

    def watch_program(self, count, pause_s, *arguments, **options):
        """Watches the writer to its end. Returns the result, and what the writer has logged."""
        # The report follows the program's own output.
        result = self.watch(*arguments, "--summary", "md", "--", *self.writer(count, pause_s), **options)
        logged, _, _ = result.out.partition("###")
        return result, json.loads(logged)

    def test_every_write_of_a_program_is_counted_and_no_other(self):
        result, logged = self.watch_program(300, 0.002, "--interval", "1")
        cluster = harness.cluster(result.report["steps"][0])
        self.assertEqual(result.report["run"]["state"], "complete")
        self.assertEqual(result.report["verdict"]["outcome"], "done")
        self.assertFalse(result.report["watch"]["bounds"], result.report["notes"])
        self.assertEqual(cluster["latency"]["count"], len(logged))
        self.assertEqual(cluster["bytes"] + cluster["closing"]["bytes"], sum(size for size, _, _ in logged))
        self.assertRegex(result.err, r"operation +count +max +min +avg \| +total")
        self.assertRegex(result.err, r"(?m)^ +1 write ")
        self.assertIn("ended: exit code 0", result.err)
        host = result.report["watch"]["hosts"][0]
        self.assertGreater(host["write_overhead_ns"], 0)
        self.assertEqual(host["counts"]["lost_records"], 0)

    def test_each_write_lies_between_the_clock_readings_around_it(self):
        result, logged = self.watch_program(200, 0.001)
        rows = list(csv.DictReader(self.plimsoll("export", result.results, "--format", "csv").out.splitlines()))
        self.assertEqual(len(rows), len(logged))
        # The timeline is this machine's CLOCK_MONOTONIC, but for the bound of the clock probes.
        for row, (size, before, after) in zip(rows, logged):
            start, latency, error = (int(row[name]) for name in ("timeline_ns", "latency_ns", "error_ns"))
            self.assertEqual(int(row["bytes"]), size)
            self.assertGreaterEqual(start, before - error)
            self.assertLessEqual(start + latency, after + error)
            self.assertLessEqual(latency, after - before)

    def test_a_profile_shows_how_the_log_is_written_and_what_simulates_it(self):
        result, _ = self.watch_program(200, 0.001, "--profile")
        watch = result.report["watch"]
        aspects = {one["aspect"]: one for one in watch["aspects"]}
        self.assertIn("O_DSYNC", aspects["open flags"]["seen"])
        self.assertTrue(aspects["write sizes"]["differs"])
        self.assertIn("one at a time", aspects["writes outstanding"]["seen"])
        command = watch["simulation"].replace("DIR", str(self.dir)).split()
        self.assertEqual(command[:2], ["plimsoll", "run"])
        self.plimsoll(*command[1:], "--duration", "200ms", "--warmup", "0", "--file-size", "1m", "--dry-run")

    def test_a_watch_compares_with_a_run(self):
        watched, _ = self.watch_program(600, 0.002)
        simulated = self.run_plan("--bsize-mix", "4k=34,8k=33,12k=33", "--direct", "off", "--duration", "2")
        text = self.plimsoll("compare", watched.results, simulated.results).out
        self.assertIn("a watched program", text)
        self.assertRegex(text, r"p99")

    def test_a_process_that_runs_is_watched_until_it_is_idle(self):
        writer = self.start(harness.Process, self.writer("-", 0.002), stdin=subprocess.DEVNULL)
        harness.wait_until(lambda: (self.dir / "active" / "S0000001.LOG").exists(), "the writer's second file")
        process = self.start_plimsoll("watch", "--log-dir", self.dir / "active", "--pid", writer.pid, "--until-idle=1s",
                                      "--interval", "1", "--duration", "60", "--out", self.base / "idle")
        harness.wait_until(lambda: re.search(r"(?m)^ +2 write +[1-9]", process.err) or not process.running(), "lines")
        os.kill(writer.pid, signal.SIGSTOP)
        code = process.finish()
        os.kill(writer.pid, signal.SIGCONT)
        if code in (2, 4) and re.search(REFUSALS, process.err):
            self.skipTest(process.err.strip().splitlines()[-1])
        result = self.result_of(process, self.base / "idle")
        self.assertLess(result.report["steps"][0]["measured_ns"], 50e9)
        self.assertEqual(result.report["run"]["state"], "complete")

    def test_json_fits_its_schema(self):
        result, _ = self.watch_program(50, 0.001, out="json")
        report = schema.parse((result.results / "report.json").read_text())
        self.assertEqual(report["plan"]["watch"]["log_dir"], str(self.dir / "active"))

    def test_an_agent_must_allow_a_watch(self):
        agent = self.agent("alpha")
        result = self.plimsoll("watch", "--hosts", agent.address, "-m", "QM1", "--duration", "1", code=2)
        self.assertIn("--allow-watch", result.err)

    def test_what_cannot_be_watched_is_refused_before_anything_starts(self):
        for arguments, why in [
            ((), "name the queue managers to watch"),
            (("--pid", "1"), "nothing of the process is watched"),
            (("--pid", "1", "--calls", "MQOPEN"), "'MQOPEN' is neither one of"),
            (("-m", "QM1", "--", "true"), "both given"),
            (("--hosts", "a,b", "--calls", "MQPUT", "--", "true"), "is started on this machine"),
            (("--calls", "MQPUT", "--", "no-such-program"), "is not in PATH"),
            (("--calls", "MQPUT", "--"), "is followed by no program"),
            (("-m", "QM1", "--dir", "/tmp"), "--dir"),
        ]:
            with self.subTest(arguments=arguments):
                self.assertIn(why, self.plimsoll("watch", *arguments, code=2).err)


if __name__ == "__main__":
    harness.main()
