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
import watching

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

# Writes as fast as it can, to the log and to files of the same names elsewhere, and ends at once after the last write.
# Arguments: directory, number of log writes.
HASTY_WRITER = r"""
import os, sys
directory, count = sys.argv[1], int(sys.argv[2])
log, other = (os.open(os.path.join(directory, name, "S0000000.LOG"), os.O_CREAT | os.O_RDWR, 0o600)
              for name in ("active", "elsewhere"))
for number in range(count):
    os.pwrite(log, b"x" * 4096, 4096 * (number % 16))
    if number % 7 == 0:
        os.pwrite(other, b"y" * 512, 0)
os._exit(0)
"""

# Has a name that is neither valid UTF-8 nor harmless on a terminal, and writes until it is ended. Argument: directory.
MALICIOUS_WRITER = r"""
import ctypes, os, sys, time
ctypes.CDLL(None).prctl(15, b"\xc3\x1b[31m\n<b>", 0, 0, 0)
log = os.open(os.path.join(os.fsencode(sys.argv[1]), b"active", b"S0\xff\x1b[2J.LOG"), os.O_CREAT | os.O_RDWR, 0o600)
while True:
    os.pwrite(log, b"x" * 4096, 0)
    time.sleep(0.002)
"""

# Its log is a pipe that nothing reads: 16 writes fit, and the next one never returns. Argument: directory.
HUNG_WRITER = r"""
import os, sys
path = os.path.join(sys.argv[1], "active", "S0000000.LOG")
os.mkfifo(path)
log = os.open(path, os.O_RDWR)
sys.stdin.readline()
while True:
    os.write(log, b"x" * 4096)
"""


class Watch(watching.WatchingTest):

    def setUp(self):
        super().setUp()
        self.program = self.base / "writer.py"
        self.program.write_text(WRITER)

    def writer(self, count, pause_s):
        return [sys.executable, "-B", str(self.program), str(self.dir), str(count), str(pause_s)]

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

    def test_an_agent_in_a_pid_namespace_of_its_own_counts_every_write(self):
        # The kernel's records number threads as the initial namespace does.
        if os.geteuid() != 0:
            self.skipTest("only root may make a PID namespace")
        out = self.base / "namespace"
        process = self.start_plimsoll("watch", "--log-dir", self.dir / "active", "--out", out, "--summary", "md", "--",
                                      *self.writer(200, 0.002), wrap=("unshare", "--pid", "--fork", "--mount-proc"))
        process.results = out
        result = self.finish_watch(process)
        logged = json.loads(result.out.partition("###")[0])
        self.assertFalse(result.report["watch"]["bounds"], result.report["notes"])
        self.assertEqual(harness.cluster(result.report["steps"][0])["latency"]["count"], len(logged))
        (process,) = result.report["watch"]["hosts"][0]["writers"][0]["processes"]
        self.assertLess(process["pid"], 10)

    def test_the_last_writes_of_a_program_that_ends_at_once_are_counted(self):
        (self.dir / "elsewhere").mkdir()
        program = self.base / "hasty.py"
        program.write_text(HASTY_WRITER)
        for count in (10_000, 40_000):
            with self.subTest(count=count):
                result = self.watch("--max-overhead", "100", "--", sys.executable, "-B", program, self.dir, count,
                                    out=f"hasty-{count}")
                self.assertFalse(result.report["watch"]["bounds"], result.report["notes"])
                self.assertEqual(harness.cluster(result.report["steps"][0])["latency"]["count"], count)
                host = result.report["watch"]["hosts"][0]["counts"]
                self.assertGreaterEqual(host["max_overhead_percent"], 1e-9)
                self.assertRegex(host["ended_processes"][0], r"\(python")

    def test_a_program_that_executes_another_one_is_watched_on(self):
        program = self.base / "hasty.py"
        program.write_text(HASTY_WRITER)
        (self.dir / "elsewhere").mkdir()
        result = self.watch("--max-overhead", "100", "--", "sh", "-c", "exec env \"$@\"", "sh", sys.executable, "-B",
                            program, self.dir, 10_000)
        self.assertFalse(result.report["watch"]["bounds"], result.report["notes"])
        self.assertEqual(harness.cluster(result.report["steps"][0])["latency"]["count"], 10_000)

    def test_a_write_that_never_returns_fails_a_limit_of_the_longest_time(self):
        writer = self.start_program(HUNG_WRITER, stdin=subprocess.PIPE)
        harness.wait_until((self.dir / "active" / "S0000000.LOG").exists, "the writer's file")
        process = self.start_watch("--pid", writer.pid, "--interval", "1", "--duration", "4", "--require", "max<500ms")
        self.await_lines(process)
        writer.write(b"\n")
        result = self.finish_watch(process, code=1)
        outcomes = {one["criterion"]: one["outcome"] for one in result.report["verdict"]["criteria"]}
        self.assertEqual(outcomes, {"max<500ms": "fail"})
        step = result.report["steps"][0]
        self.assertEqual(harness.cluster(step)["latency"]["count"], 16)
        self.assertGreater(step["in_flight"][0]["age_ns"], 500_000_000)
        self.assertGreaterEqual(step["stalls"]["count"], 1)
        self.assertIn("a write had been in flight for", " ".join(result.report["notes"]))

    def test_a_process_that_is_found_during_the_watch_makes_the_figures_bounds(self):
        process = self.start_watch("-m", "QM1", "--interval", "1", "--duration", "5", "--require", "max<1h")
        self.await_lines(process)
        self.start_program(WRITER, "-", "0.002")
        result = self.finish_watch(process, code=3)
        self.assertGreater(harness.cluster(result.report["steps"][0])["latency"]["count"], 0)
        self.assertTrue(result.report["watch"]["bounds"])
        self.assertRegex(" ".join(result.report["verdict"]["reasons"]), r"\(python\S*\) was found during the watch")

    def test_names_of_processes_and_files_break_neither_session_nor_terminal(self):
        writer = self.start_program(MALICIOUS_WRITER)
        harness.wait_until(lambda: list((self.dir / "active").iterdir()), "the writer's file")
        result = self.watch("--pid", writer.pid, "--interval", "1", "--duration", "1", "--profile", "--histogram")
        self.assertGreater(harness.cluster(result.report["steps"][0])["latency"]["count"], 0)
        full = self.plimsoll("report", result.results, "--full").out
        for text in (result.out, result.err, full, (result.results / "report.html").read_text()):
            self.assertNotIn("\x1b", text)
        self.assertNotIn("<b>", (result.results / "report.html").read_text().split("<body>")[0])

    def test_a_report_made_from_the_journal_again_has_the_same_bytes(self):
        result, _ = self.watch_program(100, 0.002, "--profile")
        names = ("report.txt", "report.json", "report.html")
        before = {name: (result.results / name).read_bytes() for name in names}
        for name in names:
            (result.results / name).unlink()
        self.plimsoll("report", result.results)
        self.assertEqual({name: (result.results / name).read_bytes() for name in names}, before)

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
        # As long as the program wrote, not as long as it might have been watched.
        self.assertRegex(command[command.index("--duration") + 1], r"^\d+s$")
        self.plimsoll(*command[1:], "--warmup", "0", "--file-size", "1m", "--dry-run")

    def test_a_watch_compares_with_a_run(self):
        watched, _ = self.watch_program(600, 0.002, "--profile")
        simulated = self.run_plan("--bsize-mix", "4k=34,8k=33,12k=33", "--direct", "off", "--duration", "2")
        text = self.plimsoll("compare", watched.results, simulated.results).out
        self.assertIn("a watched program", text)
        self.assertRegex(text, r"p50")
        self.assertNotRegex(text, r"open flags\n +A +none")

    def test_a_process_that_runs_is_watched_until_it_is_idle(self):
        writer = self.start(harness.Process, self.writer("-", 0.002), stdin=subprocess.DEVNULL)
        harness.wait_until(lambda: (self.dir / "active" / "S0000001.LOG").exists(), "the writer's second file")
        process = self.start_plimsoll("watch", "--log-dir", self.dir / "active", "--pid", writer.pid, "--until-idle=1s",
                                      "--interval", "1", "--duration", "60", "--out", self.base / "idle")
        harness.wait_until(lambda: re.search(r"(?m)^ +2 write +[1-9]", process.err) or not process.running(), "lines")
        os.kill(writer.pid, signal.SIGSTOP)
        code = process.finish()
        os.kill(writer.pid, signal.SIGCONT)
        self.skip_where_refused(process)
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


class StandIn(watching.StandInTest):

    def test_counts_one_write_a_second(self):
        _, made = self.watch_stand_in(1, 0, 3)
        self.assertEqual(len(made["write"]), 4)

    def test_counts_20000_writes_a_second(self):
        self.watch_stand_in(20000, 0, 2)

    def test_counts_and_times_calls_beside_writes(self):
        result, made = self.watch_stand_in(100, 1000, 2, "--calls", "MQPUT,MQGET,MQCMIT")
        self.assertEqual(set(made), {"write", "MQPUT", "MQGET", "MQCMIT"})
        self.assertEqual(set(harness.operations(result.report["steps"][0])), {"MQPUT", "MQGET", "MQCMIT"})

    def test_both_hosts_of_a_pair_are_on_one_timeline(self):
        # Two agents here stand for two hosts; each sees the processes that hold its log.
        active = self.base / "shared" / "active"
        agents = [self.agent(name, more=("--allow-watch",)) for name in ("alpha", "beta")]
        stand_in = self.start_stand_in(active, 200, 0, 2)
        process = self.start_plimsoll("watch", "--hosts", ",".join(agent.address for agent in agents), "-m", "QM1",
                                      "--log-dir", active, "--interval", "1", "--duration", "6", "--max-overhead", "100",
                                      "--out", self.base / "pair")
        process.results = self.base / "pair"
        self.await_lines(process)
        stand_in.write(b"\n")
        made = self.made(stand_in)
        result = self.finish_watch(process)
        for host in ("alpha", "beta"):
            self.check(result, host, made)
        self.assertEqual(harness.cluster(result.report["steps"][0])["latency"]["count"], 2 * len(made["write"]))

    def test_a_program_whose_agent_is_killed_goes_on_and_its_figures_pass_nothing(self):
        stand_in = self.start_stand_in(self.dir / "active", 100, 500, 4)
        agent = self.agent("alpha", more=("--allow-watch",))
        process = self.start_plimsoll("watch", "--hosts", agent.address, "--pid", stand_in.pid, "--log-dir",
                                      self.dir / "active", "--calls", "MQPUT,MQGET", "--interval", "1", "--duration", "60",
                                      "--max-overhead", "100", "--require", "max<1h", "--out", self.base / "killed")
        process.results = self.base / "killed"
        self.await_lines(process)
        stand_in.write(b"\n")
        harness.wait_until(lambda: re.search(r"MQPUT +[1-9]", process.err) or not process.running(), "calls")
        agent.signal(signal.SIGKILL)
        result = self.finish_watch(process, code=3)
        self.assertEqual(result.report["verdict"]["outcome"], "inconclusive")
        self.assertNotIn("its files remain", result.err + result.out)
        # Breakpoints without an event behind them would end it with SIGTRAP.
        self.assertIn("MQPUT", self.made(stand_in))
        stand_in.write(b"\n")
        self.assertEqual(stand_in.finish(), 0)


# IBM's MQ Log Disk Tester is not part of this tree: where PLIMSOLL_MQLDT names one, it is watched.
if "PLIMSOLL_MQLDT" in os.environ:

    class Mqldt(watching.WatchingTest):

        def test_counts_and_times_each_write_that_mqldt_counts(self):
            files, bsize, table = 3, 4096, self.base / "mqldt.csv"
            result = self.watch("--max-overhead", "100", "--", os.environ["PLIMSOLL_MQLDT"], f"--dir={self.dir / 'active'}",
                                "--bsize=4K", f"--fileSize={1 << 20}", f"--numFiles={files}", "--duration=3",
                                f"--csvFile={table}")
            heading, values = list(csv.reader(table.read_text().splitlines()))[-2:]
            own = {name.strip(): int(value) for name, value in zip(heading, values)}
            self.assertFalse(result.report["watch"]["bounds"], result.report["notes"])
            rows = list(csv.DictReader(self.plimsoll("export", result.results, "--format", "csv").out.splitlines()))
            writes = [int(row["latency_ns"]) for row in rows if int(row["bytes"]) == bsize]
            self.assertEqual(len(writes), own["Total writes to files"])
            # It formats each file by one write first, which it does not count.
            self.assertEqual(len(rows), len(writes) + files)
            # The call alone is shorter than the time between mqldt's clock readings around it.
            self.assertLessEqual(max(writes), own["Max latency of write (ns)"])
            self.assertLessEqual(min(writes), own["Min latency of write (ns)"])


if __name__ == "__main__":
    harness.main()
