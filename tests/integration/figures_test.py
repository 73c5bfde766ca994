"""The figures of real runs agree with one another, and with the files that were written."""

import csv
import io

import harness


class Figures(harness.PlimsollTest):
    """harness.run_plan puts every report through invariants.check; these runs give it something to look at."""

    def test_the_figures_of_several_writers_on_several_hosts_add_up(self):
        agents = [self.agent(name) for name in ("alpha", "beta")]
        report = self.run_plan("--hosts", ",".join(agent.address for agent in agents), "--qm", "3", "--bsize",
                               "4k,64k", "--duration", "2").report
        self.assertEqual([len(harness.scopes(step, "qm")) for step in report["steps"]], [6, 6])
        for step in report["steps"]:
            self.assertEqual(harness.cluster(step)["bandwidth"]["seconds"], 2)
            self.assertEqual(step["measured_ns"], 2_000_000_000)

    def test_the_figures_of_thousands_of_writes_add_up(self):
        # At a rate that the recorder keeps up with on a busy machine, too.
        report = self.run_plan("--qm", "2", "--sync", "none", "--direct", "off", "--bsize", "64k", "--rate", "2000",
                               "--duration", "1").report
        self.assertGreater(harness.cluster(report["steps"][0])["writes"], 1000)
        self.assertEqual(harness.cluster(report["steps"][0])["untraced_writes"], 0)

    def test_a_clock_that_counts_nanoseconds_is_not_called_coarse(self):
        # Writes to memory: on a busy machine the recorder may fall behind them, which the verdict says rightly (3).
        process = self.start_run("--sync", "none", "--direct", "off", "--bsize", "4k")
        code = process.finish()
        self.assertIn(code, (0, 3))
        reasons = self.result_of(process, process.results, code).report["verdict"]["reasons"]
        self.assertEqual([reason for reason in reasons if "coarse" in str(reason)], [])

    def test_pauses_between_writes_are_outside_of_their_latency(self):
        report = self.run_plan("--delay", "20ms", "--sync", "none", "--direct", "off", "--duration", "1").report
        scope = harness.cluster(report["steps"][0])
        self.assertLessEqual(scope["writes"], 50)
        self.assertGreater(scope["writes"], 0)
        self.assertGreaterEqual(scope["time_between_writes_ns"], (scope["writes"] - 1) * 20_000_000)

    def test_the_csv_files_hold_the_same_figures(self):
        result = self.run_plan("--qm", "2", "--bsize", "4k,8k")
        report = result.report
        rows = list(csv.DictReader(io.StringIO((result.results / "report.csv").read_text())))
        scopes = [(step, scope) for step in report["steps"] for scope in step["scopes"]]
        self.assertEqual(len(rows), len(scopes))
        for row, (step, scope) in zip(rows, scopes):
            self.assertEqual(int(row["step"]), step["number"])
            self.assertEqual((row["kind"], row["host"], int(row["qm"] or 0)),
                             (scope["kind"], scope["host"], scope["qm"]))
            self.assertEqual((int(row["writes"]), int(row["bytes"])), (scope["writes"], scope["bytes"]))
            for name in ("writes", "bytes", "latency_sum_ns", "latency_max_ns", "length_ns"):
                self.assertEqual(int(row["closing_" + name]), scope["closing"][name])
            # Blank where a writer got no CPU in the whole step.
            latency = scope["latency"]
            self.assertEqual(row["latency_max_ns"], str(latency["max_ns"]) if latency["count"] > 0 else "")
        seconds = list(csv.DictReader(io.StringIO((result.results / "timeline.csv").read_text())))
        for number, step in enumerate(report["steps"], start=1):
            total = sum(int(row["writes"]) for row in seconds
                        if row["kind"] == "cluster" and int(row["step"]) == number)
            self.assertEqual(total, harness.cluster(step)["latency"]["count"])


if __name__ == "__main__":
    harness.main()
