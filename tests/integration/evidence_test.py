"""What an auditor and a storage vendor can use: programs, command and clocks in a report, and the evidence that is exported."""

import collections
import csv
import hashlib
import io
import pathlib
import shlex
import signal
import time

import harness

SLOWEST = 100
# Longer than the stall threshold of the test, and shorter than a lease.
PAUSE_S = 0.8


def sha256_of(name):
    """Digest of one of the programs under test."""
    return hashlib.sha256(pathlib.Path(harness.binary(name)).read_bytes()).hexdigest()


class Evidence(harness.PlimsollTest):
    # Each writer writes in each step.
    agents_ahead = True

    def run_two_hosts(self, *arguments):
        agents = [self.agent(name) for name in ("alpha", "beta")]
        return self.run_plan("--hosts", ",".join(agent.address for agent in agents), "--qm", "2", *arguments)

    def export(self, result, form, *arguments, code=0):
        return self.plimsoll("export", result.results, "--format", form, *arguments, code=code).out

    def evidence(self, result, *arguments):
        """(facts by name, rows by kind)."""
        text = self.export(result, "evidence", *arguments)
        lines = text.split("\r\n")
        head = [line for line in lines if line.startswith("# ")]
        facts = dict(line[2:].split(": ", 1) for line in head)
        rows = collections.defaultdict(list)
        for row in csv.DictReader(io.StringIO("\r\n".join(lines[len(head):]))):
            rows[row["kind"]].append(row)
        return facts, rows

    def check_rows(self, result, rows):
        """Each row is the one of the exported traces, and the slowest are there, in order."""
        traced = {(row["host"], row["qm"], row["step"], row["seq"]): row
                  for row in csv.DictReader(io.StringIO(self.export(result, "csv")))}
        slowest = sorted((int(row["latency_ns"]) for row in traced.values()), reverse=True)[:len(rows)]
        self.assertEqual([int(row["latency_ns"]) for row in rows], slowest)
        hosts = {host["label"]: host for host in result.report["hosts"]}
        for row in rows:
            same = traced[row["host"], row["qm"], row["step"], row["seq"]]
            for name in ("latency_ns", "bytes"):
                self.assertEqual(row[name], same[name], row)
            # Each moment is within its own error of the truth.
            self.assertLessEqual(abs(harness.moment_ns(row["utc"]) - harness.moment_ns(same["utc"])), int(row["error_ns"]) + int(same["error_ns"]))
            host = hosts[row["host"]]
            self.check_place(row, host)
            clock = result.report["run"]["controller"]["time"]
            self.assertEqual(row["utc_error_ns"], str(int(row["error_ns"]) + clock["max_error_ns"]) if clock["synchronized"] else "")

    def check_place(self, row, host):
        """The writes of a log follow one another in its extents, which are used again and again."""
        workload = host["workload"]
        of_extent = workload["file_size_bytes"] // int(row["bytes"])
        place = (int(row["seq"]) - 1) % (workload["num_files"] * of_extent)
        self.assertEqual(int(row["offset"]), place % of_extent * int(row["bytes"]), row)
        self.assertEqual(row["file"], f"{host['mount']['directory']}/qm{row['qm']}/active/S{place // of_extent:07d}.LOG")

    def test_a_report_names_the_programs_that_made_it_and_how_they_were_called(self):
        result = self.run_two_hosts("--change", "it's CHG 1")
        controller = result.report["run"]["controller"]
        self.assertEqual(controller["program_sha256"], sha256_of("plimsoll"))
        self.assertEqual([host["program_sha256"] for host in result.report["hosts"]], [sha256_of("plimsoll-agent")] * 2)
        called = list(map(str, result.argv))
        self.assertEqual(shlex.split(controller["command"]), called[called.index(harness.binary("plimsoll")):])
        # One kernel has one status.
        for host in result.report["hosts"]:
            self.assertEqual(host["clock"]["time_synchronized"], controller["time"]["synchronized"])
        text = (result.results / "report.txt").read_text()
        self.assertRegex(text, r"(?m)^Command   \S*plimsoll run ")
        self.assertRegex(text, r"(?m)^UTC       The controller's clock is (not )?synchronised")
        self.assertIn("Measured latencies do not depend on it.", " ".join(text.split()))
        for program in ("plimsoll", "plimsoll-agent"):
            self.assertIn(f"\n  {sha256_of(program)}\n", text)
            self.assertIn(sha256_of(program), (result.results / "report.html").read_text())
        # All of it is in the journal.
        again = self.plimsoll("report", result.results, "--json", code=result.code)
        self.assertEqual(again.out, (result.results / "report.json").read_text())

    def test_hosts_shows_the_programs_of_the_agents(self):
        agent = self.agent("alpha")
        self.assertIn(sha256_of("plimsoll-agent"), self.plimsoll("hosts", "--hosts", agent.address).out)

    def test_the_slowest_writes_are_those_of_the_exported_traces(self):
        result = self.run_two_hosts("--bsize", "4k,64k", "--warmup", "200ms", "--duration", "700ms")
        facts, rows = self.evidence(result)
        self.assertEqual(len(rows["write"]), SLOWEST)
        self.assertEqual(facts["run"], result.report["run"]["id"])
        self.assertIn(sha256_of("plimsoll"), facts["controller"])
        self.assertEqual(facts["command"], result.report["run"]["controller"]["command"])
        self.assertRegex(facts["host beta"], rf"; SHA-256 {sha256_of('plimsoll-agent')}; ")
        self.assertNotIn("no trace", facts["slowest"])
        self.check_rows(result, rows["write"])
        _, few = self.evidence(result, "--slowest", "7")
        self.assertEqual(few["write"], rows["write"][:7])
        _, second = self.evidence(result, "--step", "2")
        self.assertEqual({row["step"] for row in second["write"]}, {"2"})
        self.check_stalls(result, rows["stall"])
        kept = self.base / "evidence.csv"
        self.plimsoll("export", result.results, "--format", "evidence", "--output", kept)
        self.assertEqual(kept.read_bytes().decode(), self.export(result, "evidence"))

    def check_stalls(self, result, rows):
        """A row for each writer of each stall of the report."""
        expected = [(str(step["number"]), str(number), writer["host"], str(writer["qm"]), str(writer["length_ns"]), stall["stall_class"])
                    for step in result.report["steps"] for number, stall in enumerate(step["stalls"]["stalls"], 1)
                    for writer in stall["writers"]]
        self.assertEqual([tuple(row[name] for name in ("step", "stall", "host", "qm", "latency_ns", "stall_class")) for row in rows],
                         expected)

    def test_without_traces_the_slowest_writes_are_those_of_the_report(self):
        result = self.run_two_hosts("--trace", "off")
        facts, rows = self.evidence(result)
        self.assertRegex(facts["slowest"], r"; [\d,]+ have no trace: ")
        (step,) = result.report["steps"]
        for row, slow in zip(rows["write"], step["slowest"]):
            self.assertEqual(int(row["latency_ns"]), slow["latency_ns"])
        named = {(row["host"], int(row["qm"]), int(row["seq"])): row for row in rows["write"]}
        hosts = {host["label"]: host for host in result.report["hosts"]}
        for slow in step["slowest"]:
            row = named[slow["host"], slow["qm"], slow["number"]]
            self.assertTrue(row["file"].endswith(f"S{slow['extent']:07d}.LOG"), row)
            self.assertEqual(int(row["offset"]), slow["offset_bytes"])
            self.check_place(row, hosts[row["host"]])

    def test_a_stall_has_what_the_kernel_counted_around_it(self):
        agent = self.agent("alpha")
        process = self.start_run("--hosts", agent.address, "--duration", "5s", "--stall", "300ms")
        self.await_running(process)
        agent.signal(signal.SIGSTOP)
        harness.wait_until(lambda: harness.is_stopped(agent.agent_pid), "the agent is stopped")
        time.sleep(PAUSE_S)
        agent.signal(signal.SIGCONT)
        result = self.finished(process, process.results, code=(0, 3))
        _, rows = self.evidence(result)
        self.check_stalls(result, rows["stall"])
        self.assertTrue(rows["stall"], result)
        row = max(rows["stall"], key=lambda one: int(one["latency_ns"]))
        self.assertEqual(row["stall_class"], "host_paused")
        self.assertGreater(int(row["latency_ns"]), 300_000_000)
        if row["counters_to_utc"]:
            self.assertLessEqual(harness.moment_ns(row["counters_from_utc"]), harness.moment_ns(row["utc"]))
            self.assertGreaterEqual(harness.moment_ns(row["counters_to_utc"]), harness.moment_ns(row["utc"]) + int(row["latency_ns"]))
            self.assertRegex(row["cpu_wait_ms"], r"^[\d.e-]+$")


if __name__ == "__main__":
    harness.main()
