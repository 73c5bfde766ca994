"""A sweep: a run whose steps go through lists of rates and of numbers of queue managers."""

import csv
import io
import re

import harness

# Rate and number of queue managers of each step, in the order of the steps.
LOADS = [(40, 1), (40, 2), (80, 1), (80, 2)]


class Sweep(harness.PlimsollTest):

    in_memory = True

    def swept(self, *arguments):
        return self.run_plan("--rate", "40,80", "--qm", "1,2", "--bsize", "4k", "--duration", "1", *arguments)

    def test_each_step_has_its_rate_and_its_queue_managers_in_every_output(self):
        junit = self.base / "junit.xml"
        result = self.swept("--require", "p50<10s", "--require", "rate_achieved>=10%", "--junit", junit)
        report = result.report
        self.assertEqual([(step["rate_per_second"], step["queue_managers"]) for step in report["steps"]], LOADS)
        self.assertEqual(report["plan"]["sweep"], {"rate_per_second": [40, 80], "qm": [1, 2]})
        for step, (rate, qms) in zip(report["steps"], LOADS):
            writers = harness.scopes(step, "qm")
            self.assertEqual([scope["qm"] for scope in writers], list(range(1, qms + 1)), "the first so many write")
            self.assertEqual({scope["rate"]["asked_iops"] for scope in writers}, {rate})
            (cluster,) = harness.scopes(step, "cluster")
            self.assertEqual(cluster["rate"]["asked_iops"], rate * qms)
            self.assertLessEqual(cluster["writes"], rate * qms + qms)
        (host,) = report["hosts"]
        self.assertEqual(host["workload"]["qm"], 2)
        workload = host["workload"]
        self.assertEqual(host["mount"]["prepared_bytes"], 2 * int(workload["file_size_bytes"]) * workload["num_files"],
                         "prepared once, for the largest number")
        self.assertEqual(report["verdict"]["outcome"], "pass", "writers that wait by plan are not missed")

        rows = list(csv.DictReader(io.StringIO((result.results / "report.csv").read_text())))
        self.assertEqual([(float(row["rate_per_queue_manager"]), int(row["queue_managers_per_host"])) for row in rows
                          if row["kind"] == "cluster"], LOADS)
        text = (result.results / "report.txt").read_text()
        self.assertIn("\nStep 3 of 4   4 KiB   80 writes/s per QM   1 QM per host\n", text)
        self.assertRegex(text, r"\n +2 +4 KiB +40 +2 ")
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertIn("run.step 4 (4 KiB, 80 writes/s per QM, 2 QMs per host)", junit.read_text())
        self.assertRegex(result.err, r"step 2/4  4 KiB  40 writes/s per QM  2 QMs per host")
        self.assert_nothing_left()

        # The plan that the results keep is the same sweep.
        kept = result.results / "plan.yaml"
        self.assertRegex(kept.read_text(), r"(?m)^  qm: \[1, 2\]$")
        self.assertRegex(kept.read_text(), r"(?m)^  rate: \[40, 80\]$")
        checked = self.plimsoll("plan", "check", kept).out
        self.assertIn("4 steps", checked)
        self.assertIn("\n  3: 4 KiB, 80 writes/s per QM, 1 QM per host\n", checked)

        # Neither side of a comparison pools its loads.
        refused = self.plimsoll("compare", result.results, result.results, code=2).err
        self.assertIn("not comparable: it is a sweep, whose steps have different loads", refused)

    def test_a_closed_loop_may_be_one_of_the_rates_and_its_step_has_no_rate_to_achieve(self):
        # A closed loop in memory may have the load generator as its limit.
        result = self.run_plan("--rate", "0,50", "--duration", "1", "--require", "p50<10s", code=(0, 3))
        first, second = result.report["steps"]
        self.assertEqual([first["rate_per_second"], second["rate_per_second"]], [0, 50])
        self.assertNotIn("queue_managers", first)
        self.assertNotIn("rate", harness.scopes(first, "cluster")[0])
        self.assertIn("rate", harness.scopes(second, "cluster")[0])
        (added,) = [one for one in result.report["verdict"]["criteria"] if one["criterion"].startswith("rate_achieved")]
        self.assertEqual([one["step"] for one in added["steps"]], [2])

    def test_a_dry_run_lists_the_steps(self):
        result = self.run_plan("--rate", "40,0", "--qm", "1,2", "--dry-run")
        self.assertIn("4 steps of ", result.out)
        self.assertIn("Steps:\n  1: 4 KiB, 40 writes/s per QM, 1 QM per host\n", result.out)
        self.assertIn("\n  4: 4 KiB, closed loop, 2 QMs per host\n", result.out)

    def test_lists_are_refused_where_a_run_would_not_know_what_to_do_with_them(self):
        lists = ["--dir", self.dir, "--qm", "1,2"]
        own = [self.base / "a", self.base / "b"]
        for directory in own:
            directory.mkdir()
        for arguments, words in (
            (["run", *lists, "--rate", "5,5"], r"--rate \(workload\.rate\): 5 is listed twice"),
            (["run", "--qm-dirs", ",".join(map(str, own)), "--qm", "1,2"], r"--qm \(workload\.qm\) is a list; pass one --dir"),
            (["limit", *lists, "--require", "p99<5ms"], r"a search for the highest load takes one value, not a list"),
            (["accept", *lists, "--require", "p99<5ms", "--require", "max<500ms"], r"an acceptance takes one value, not a list"),
            (["ab", *lists, "--vary", "sync=dsync,none"], r"ab takes no list of --rate or --qm"),
        ):
            with self.subTest(arguments=arguments):
                result = self.plimsoll(*arguments, code=2)
                self.assertEqual(result.out, "")
                self.assertRegex(result.err, re.compile(words))
        self.assert_nothing_left()


if __name__ == "__main__":
    harness.main()
