"""The ways to say what to run: hosts, options in either spelling, plans."""

import csv
import io
import re
import socket
import unittest

import yaml

import harness

MQLDT_COLUMNS = [
    "Blocksize", "Total writes to files", "Total bytes written to files",
    "Max bytes/sec written to files (over 1 sec interval)", "Min bytes/sec written to files (over 1 sec interval)",
    "Avg bytes/sec written to files", "Max latency of write (ns)", "Min latency of write (ns)",
    "Avg latency of write (ns)", "Min bytes/sec (slowest write)", "Max bytes/sec (fastest write)"
]


class Hosts(harness.PlimsollTest):

    def labels(self, *arguments):
        return [host["label"] for host in self.run_plan(*arguments).report["hosts"]]

    def test_agents_of_one_name_get_labels_of_their_own(self):
        agents = [self.agent("alpha") for _ in range(3)]
        report = self.run_plan("--hosts", ",".join(agent.address for agent in agents)).report
        self.assertEqual([host["label"] for host in report["hosts"]], ["alpha", "alpha-2", "alpha-3"])
        self.assertEqual([scope["host"] for scope in harness.scopes(report["steps"][0], "host")],
                         ["alpha", "alpha-2", "alpha-3"])
        self.assert_nothing_left()

    def test_ipv6_addresses(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError as error:
            raise unittest.SkipTest(f"no IPv6 here: {error}") from error
        alpha = self.agent("alpha", listen="[::1]:0")
        self.assertRegex(alpha.address, r"^\[::1\]:\d+$")
        self.assertEqual(self.labels("--hosts", alpha.address), ["alpha"])

    def test_unix_sockets(self):
        self.agent("alpha", listen=f"unix:{self.base}/a.sock")
        self.assertEqual(self.labels("--hosts", f"unix:{self.base}/a.sock"), ["alpha"])

    def test_sixteen_agents_write_in_step(self):
        names = [f"host{number:02}" for number in range(1, 17)]
        for name in names:
            self.agent(name, listen=f"unix:{self.base}/{name}.sock")
        hosts = ",".join(f"unix:{self.base}/{name}.sock" for name in names)
        report = self.run_plan("--hosts", hosts, "--duration", "2", "--file-size", "16k").report
        self.assertEqual([host["label"] for host in report["hosts"]], names)
        self.assertEqual(report["storages"][0]["hosts"], names)
        for scope in harness.scopes(report["steps"][0], "host"):
            self.assertGreater(scope["writes"], 0, scope)
        self.assert_nothing_left()

    def test_a_file_of_hosts_beside_the_option(self):
        alpha, beta, gamma = (self.agent(name) for name in ("alpha", "beta", "gamma"))
        hosts = self.base / "hosts"
        hosts.write_text(f"# storage test\n{beta.address}\n\n  {gamma.address}  # the third\n")
        self.assertEqual(self.labels("--hosts", alpha.address, "--hosts-file", hosts), ["alpha", "beta", "gamma"])
        self.assertRegex(self.plimsoll("hosts", "--hosts-file", hosts).out, r"(?ms)^  beta .*^  gamma ")


class Options(harness.PlimsollTest):

    def test_mqldts_spellings_and_its_csv_file(self):
        table = self.base / "mqldt.csv"
        report = self.run_plan("--bsize=4K,16K", "--fileSize=1048576", "--numFiles=2", "--duration=1", "--qm=1",
                               f"--csvFile={table}").report
        self.assertEqual((report["plan"]["workload"]["file_size_bytes"], report["plan"]["workload"]["num_files"]),
                         (1048576, 2))
        rows = list(csv.DictReader(io.StringIO(table.read_text())))
        self.assertEqual(list(rows[0]), MQLDT_COLUMNS)
        self.assertEqual([row["Blocksize"] for row in rows], ["4096", "16384"])
        for row, step in zip(rows, report["steps"]):
            scope = harness.cluster(step)
            value = {name: int(row[name]) for name in MQLDT_COLUMNS}
            self.assertEqual(value["Total writes to files"], scope["writes"])
            self.assertEqual(value["Total bytes written to files"], scope["bytes"])
            self.assertEqual(value["Max latency of write (ns)"], scope["latency"]["max_ns"])
            self.assertEqual(value["Min latency of write (ns)"], scope["latency"]["min_ns"])
            self.assertEqual(value["Avg latency of write (ns)"], round(scope["latency"]["avg_ns"]))
            slowest = step["block_size_bytes"] * 1e9 / scope["latency"]["max_ns"]
            fastest = step["block_size_bytes"] * 1e9 / scope["latency"]["min_ns"]
            self.assertAlmostEqual(value["Min bytes/sec (slowest write)"], slowest, delta=1)
            self.assertAlmostEqual(value["Max bytes/sec (fastest write)"], fastest, delta=1)
            # One second: all three are the same.
            self.assertEqual(len({value[name] for name in MQLDT_COLUMNS[3:6]}), 1, value)

    def test_dry_run_shows_what_would_be_and_touches_nothing(self):
        alpha = self.agent("alpha")
        before = sorted(self.base.rglob("*"))
        result = self.plimsoll("run", "--hosts", alpha.address, "--dir", self.dir, "--dry-run", "--qm", "2",
                               "--file-size", "1m", "--num-files", "4", "--bsize", "4k,8k")
        self.assertRegex(result.out, rf"(?m)^alpha +{self.dir} +2 +8 +8 ?MiB")
        self.assertIn("Nothing was touched.", result.out)
        self.assertIn("2 steps", result.out)
        self.assertEqual(sorted(self.base.rglob("*")), before)
        self.assertNotIn("session of", alpha.err)

    def test_a_dry_run_keeps_its_columns_with_long_names(self):
        names = ("a-rather-long-storage-client-name-01.example.co", "beta")
        agents = [self.agent(name) for name in names]
        out = self.plimsoll("run", "--hosts", ",".join(agent.address for agent in agents), "--dir", self.dir, "--dry-run",
                            "--file-size", "1m", "--num-files", "4", "--qm", "2").out
        heading, *rows = out.splitlines()[:3]
        self.assertEqual([row.split()[0] for row in rows], list(names))
        for row in rows:
            self.assertEqual(row.index(str(self.dir)), heading.index("directory"), out)
            self.assertEqual(len(row), len(heading), out)

    def test_repeat_runs_all_steps_again(self):
        report = self.run_plan("--repeat", "2", "--bsize", "4k,8k").report
        self.assertEqual([(step["repetition"], step["block_size_bytes"]) for step in report["steps"]],
                         [(1, 4096), (1, 8192), (2, 4096), (2, 8192)])

    def test_a_rate_is_kept_and_response_times_are_reported(self):
        result = self.run_plan("--rate", "50", "--sync", "none", "--direct", "off", "--bsize", "64k", "--duration", "2")
        scope = harness.cluster(result.report["steps"][0])
        rate = scope["rate"]
        self.assertEqual(rate["asked_iops"], 50)
        self.assertEqual(scope["latency"]["count"] + rate["unserved"], 100)
        self.assertEqual(rate["response"]["count"], 100)
        # A response begins when the write was due, so it takes no less than the write.
        self.assertGreaterEqual(rate["response"]["sum_ns"], scope["latency"]["sum_ns"])

    def test_a_rate_that_cannot_be_kept_is_reported(self):
        # A machine without a CPU for it would be the reason else.
        result = self.run_plan("--rate", "1000000", "--duration", "500ms", wrap=harness.ahead())
        rate = harness.cluster(result.report["steps"][0])["rate"]
        self.assertFalse(rate["held"])
        self.assertGreater(rate["unserved"], 0)
        self.assertGreater(rate["max_behind_ns"], 0)
        self.assertRegex(result.out,
                         r"\AVerdict +COMPLETED \(no criteria\), target rate\s+missed:\s+[\d.]+ %\s+of\s+it\s+in\s+step 1,\s+\S+/qm1")
        self.assertIn("target rate missed: 1,000,000 writes/s", " ".join(result.out.split()))

    def test_many_queue_managers_are_all_shown_where_that_is_asked_for(self):
        result = self.run_plan("--qm", "9", "--bsize", "4k", "--duration", "2")
        label = result.report["hosts"][0]["label"]

        def shown(text):
            return sorted({int(qm) for qm in re.findall(rf"(?m)^  {re.escape(label)} +(\d+) ", text)})

        self.assertEqual(shown(self.plimsoll("report", result.results).out), [])
        full = self.plimsoll("report", "--full", result.results).out
        self.assertEqual(shown(full), list(range(1, 10)), full)
        self.assertEqual(result.out, full)
        self.assertEqual(full.rpartition("\nDigest  ")[0], (result.results / "report.txt").read_text())
        rows = (result.results / "report.csv").read_text()
        self.assertEqual(len(re.findall(r"Z,qm,", rows)), 9, rows)
        self.plimsoll("report", result.results, "--json", "--full", code=2)

    def test_warm_up_writes_are_counted_apart(self):
        report = self.run_plan("--warmup", "2s", "--duration", "500ms", "--qm", "2").report
        (step,) = report["steps"]
        self.assertEqual((step["warmup_ns"], step["duration_ns"], step["measured_ns"]),
                         (2_000_000_000, 500_000_000, 500_000_000))
        for scope in harness.scopes(step, "qm"):
            self.assertGreater(scope["warmup_writes"], 0)

    def test_traces_can_be_left_out(self):
        # Paced: at the page cache's full speed a busy machine may rightly call a run inconclusive.
        on, off = (self.run_plan("--trace", mode, "--sync", "none", "--direct", "off", "--rate", "2000", "--duration",
                                 "300ms") for mode in ("on", "off"))
        scope = harness.cluster(off.report["steps"][0])
        self.assertEqual(scope["untraced_writes"], scope["latency"]["count"])
        self.assertEqual(harness.cluster(on.report["steps"][0])["untraced_writes"], 0)


class Plans(harness.PlimsollTest):

    def test_the_plan_among_the_results_runs_again_and_comes_out_the_same(self):
        first = self.run_plan("--duration", "1", "--bsize", "4k,8k", "--qm", "2", "--name", "A: \"quoted\" title # no comment",
                              "--require", "max<1m")
        out = self.base / "again"
        process = self.start_plimsoll("run", first.results / "plan.yaml", "--out", out)
        again = self.result_of(process, out)
        self.assertEqual((out / "plan.yaml").read_text(), (first.results / "plan.yaml").read_text())
        self.assertEqual(again.report["plan"], first.report["plan"])

    def test_every_default_is_in_the_plan_as_run(self):
        plan = yaml.safe_load((self.run_plan().results / "plan.yaml").read_text())
        self.assertEqual(plan["workload"]["dir"], str(self.dir))
        self.assertEqual((plan["workload"]["qm"], plan["workload"]["num_files"], plan["repeat"]), (1, 3, 1))
        self.assertEqual(plan["block_size"], ["4k"])

    def test_options_override_the_plan_and_hosts_may_differ(self):
        alpha, beta = self.agent("alpha"), self.agent("beta")
        (self.dir / "other").mkdir()
        plan = self.base / "plan.yaml"
        plan.write_text(
            yaml.safe_dump({
                "hosts": [{"address": alpha.address},
                          {"address": beta.address, "workload": {"qm": 2, "dir": f"{self.dir}/other"}}],
                "workload": {"dir": str(self.dir), "file_size": "128k", "num_files": 2},
                "block_size": ["4k", "64k"],
                "duration": "60s",
                "warmup": 0,
            }))
        self.plimsoll("plan", "check", plan)
        out = self.base / "out"
        process = self.start_plimsoll("run", plan, "--duration", "300ms", "--bsize", "8k", "--out", out)
        report = self.result_of(process, out).report
        self.assertEqual([step["block_size_bytes"] for step in report["steps"]], [8192])
        self.assertEqual(report["steps"][0]["duration_ns"], 300_000_000)
        self.assertEqual([(host["workload"]["qm"], host["workload"]["dir"]) for host in report["hosts"]],
                         [(1, str(self.dir)), (2, f"{self.dir}/other")])
        self.assertEqual([path.name for path in self.dir.rglob("*")], ["other"])

    def test_the_example_of_a_plan_is_a_good_one(self):
        plan = self.base / "plan.yaml"
        plan.write_text(self.plimsoll("plan", "example").out)
        self.plimsoll("plan", "check", plan)


if __name__ == "__main__":
    harness.main()
