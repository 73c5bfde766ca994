"""What tests of `plimsoll watch` share: watches that are skipped where the kernel refuses, and the stand-in queue manager
(tests/standin), compared with its own log."""

import csv
import re
import subprocess
import sys

import harness

# What an agent reports where it may not attach, or cannot.
REFUSALS = r"perf_event|tracefs|tracepoint|uprobe|CAP_|permission|not permitted|kernel"
# The error of a moment for which the export has no bound, as on an emulated host without a CPU to run on.
UNBOUNDED_NS = 10_000_000


class WatchingTest(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        (self.dir / "active").mkdir()

    def start_watch(self, *arguments, out="watched"):
        process = self.start_plimsoll("watch", "--log-dir", self.dir / "active", "--out", self.base / out,
                                      *arguments, wrap=harness.ahead() if "--" not in arguments else ())
        process.results = self.base / out
        return process

    def finish_watch(self, process, code=0):
        """The result of a watch; the test is skipped where the kernel refuses to attach."""
        process.finish(timeout_s=180)
        self.skip_where_refused(process)
        return self.result_of(process, process.results, code)

    def skip_where_refused(self, process):
        if process.finish() in (2, 4) and re.search(REFUSALS, process.err):
            self.skipTest(process.err.strip().splitlines()[-1])

    def await_lines(self, process):
        """Waits until the first interval is over, or the watch is."""
        harness.wait_until(lambda: re.search(r"(?m)^ +1 \w", process.err) or not process.running(), "the first line")

    def watch(self, *arguments, code=0, out="watched"):
        return self.finish_watch(self.start_watch(*arguments, out=out), code)

    def start_program(self, text, *arguments, **popen):
        """Starts a Python program on the test's directory."""
        program = self.base / "program.py"
        program.write_text(text)
        return self.start(harness.Process, [sys.executable, "-B", program, self.dir, *arguments], **popen)


class StandInTest(WatchingTest):
    """The stand-in queue manager of tests/standin, through command, agent and journal, against its own log."""

    # Synchronous writes take microseconds.
    in_memory = True

    def start_stand_in(self, directory, writes, calls, seconds):
        """Starts one that waits for a line on its standard input."""
        directory.mkdir(parents=True, exist_ok=True)
        record = self.base / f"record-{directory.parent.name}"
        process = self.start(harness.Process, [harness.binary("standin_qm"), directory, record, writes, calls, seconds],
                             stdin=subprocess.PIPE)
        harness.wait_until(lambda: "ready" in process.out, "the stand-in")
        process.record = record
        return process

    def made(self, stand_in):
        """What it logged: for each operation, the moments before and after, and bytes."""
        harness.wait_until(lambda: "done" in stand_in.out, "the end of the stand-in", timeout_s=120)
        return self.parse_record(stand_in.record.read_text())

    @staticmethod
    def parse_record(text):
        made = {}
        for line in text.splitlines():
            words = line.split()
            name = words[0] if words[0] == "write" else words[1]
            made.setdefault(name, []).append(tuple(map(int, words[2:5])))
        return {name: sorted(entries) for name, entries in made.items()}

    def seen_writes(self, results, host):
        """Each write of a host in the export, on the program's clock: this machine's, but for the error."""
        export = self.plimsoll("export", results, "--format", "csv", "--output", "-", code=(0, 3)).out
        return [{name: int(row[name] or UNBOUNDED_NS) for name in ("seq", "timeline_ns", "latency_ns", "error_ns", "bytes")}
                for row in csv.DictReader(export.splitlines()) if row["host"] == host]

    @staticmethod
    def fits(row, entry):
        """Whether a write that was seen can be the one that the program made between these clock readings."""
        start, latency, error = row["timeline_ns"], row["latency_ns"], row["error_ns"]
        before, after, size = entry
        return (size == row["bytes"] and before - error <= start and start + latency <= after + error and
                latency <= after - before)

    def compare_writes(self, results, scope, made):
        """Each write of a host in the export against the program's clock readings; those of two threads may overlap."""
        rows = sorted(self.seen_writes(results, scope["host"]), key=lambda row: row["timeline_ns"])
        # A few that another one overtook at a frame's border have no trace.
        self.assertEqual(len(rows) + scope["untraced_writes"], len(made))
        self.assertLessEqual(scope["untraced_writes"], len(made) // 100)
        upcoming = iter(made)
        window = []
        for row in rows:
            window = [entry for entry in window if entry[1] + row["error_ns"] >= row["timeline_ns"]]
            while len(window) < 8 and (entry := next(upcoming, None)) is not None:
                window.append(entry)
            fits = [entry for entry in window if self.fits(row, entry)]
            self.assertTrue(fits, f"{row} is none of {window}")
            window.remove(min(fits, key=lambda entry: entry[1]))

    def check(self, result, host, made):
        """The counts of the report's host, exactly."""
        step = result.report["steps"][0]
        (scope,) = [one for one in harness.scopes(step, "host") if one["host"] == host]
        self.assertEqual(scope["latency"]["count"], len(made["write"]))
        self.assertEqual(scope["bytes"] + scope["closing"]["bytes"], sum(size for _, _, size in made["write"]))
        for name, operation in harness.operations(step).items():
            (own,) = [one for one in operation["scopes"] if one["kind"] == "host" and one["host"] == host]
            self.assertEqual(own["latency"]["count"], len(made[name]), name)
            self.assertEqual(own["throughput"]["bytes"], sum(size for _, _, size in made[name]), name)
            self.assertLessEqual(own["latency"]["max_ns"], max(after - before for before, after, _ in made[name]))
        self.compare_writes(result.results, scope, made["write"])

    def watch_stand_in(self, writes, calls, seconds, *arguments):
        stand_in = self.start_stand_in(self.dir / "active", writes, calls, seconds)
        process = self.start_watch("--pid", stand_in.pid, "--interval", "1", "--duration", seconds + 4, "--max-overhead",
                                   "100", *arguments)
        self.await_lines(process)
        stand_in.write(b"\n")
        made = self.made(stand_in)
        result = self.finish_watch(process)
        self.assertFalse(result.report["watch"]["bounds"], result.report["notes"])
        (host,) = result.report["hosts"]
        self.check(result, host["label"], made)
        return result, made
