"""Criteria: the verdict, the exit code, and the line that says why."""

import re

import harness


class Verdict(harness.PlimsollTest):

    def test_without_a_criterion_nothing_passes(self):
        result = self.run_plan()
        self.assertEqual(result.report["verdict"]["outcome"], "done")
        self.assertRegex(result.out, r"\AVerdict +COMPLETED \(no criteria\)\n")

    def test_criteria_that_hold_pass(self):
        result = self.run_plan("--require", "avg<30s", "--require", "iops>=1", "--bsize", "4k,8k")
        verdict = result.report["verdict"]
        self.assertEqual((verdict["outcome"], verdict["reasons"]), ("pass", []))
        self.assertEqual([(one["criterion"], one["outcome"]) for one in verdict["criteria"]],
                         [("avg<30s", "pass"), ("iops>=1", "pass")])
        self.assertRegex(result.out, r"\AVerdict +PASS\n")
        # The worst value in each step.
        for step, size in ((1, "4 KiB"), (2, "8 KiB")):
            self.assertRegex(result.out, rf"(?m)^  avg<30s +PASS +{step} +{size} \| +[\d.]+ ms +cluster$")
            self.assertRegex(result.out, rf"(?m)^  iops>=1 +PASS +{step} +{size} \| +[\d.,]+ writes/s +cluster$")
        for one in verdict["criteria"]:
            self.assertEqual([step["step"] for step in one["steps"]], [1, 2])
            self.assertIn((one["value"], one["value_text"]), [(step["value"], step["value_text"]) for step in one["steps"]])

    def test_one_that_does_not_hold_fails_the_run_and_says_what_was_measured_where(self):
        result = self.run_plan("--require", "max<1ns", "--require", "iops>=1", "--bsize", "4k,8k", code=1)
        report = result.report
        bad, good = report["verdict"]["criteria"]
        self.assertEqual((report["verdict"]["outcome"], bad["outcome"], good["outcome"]), ("fail", "fail", "pass"))
        worst = max(report["steps"], key=lambda step: harness.cluster(step)["latency"]["max_ns"])
        self.assertEqual((bad["step"], bad["value"]), (worst["number"], harness.cluster(worst)["latency"]["max_ns"]))
        self.assertRegex(result.out, r"\AVerdict +FAIL\n")
        self.assertRegex(result.out, rf"(?m)^  max<1ns +FAIL +{bad['step']} .* {re.escape(bad['value_text'])} +cluster$")

    def test_the_report_made_again_has_the_same_exit_code(self):
        result = self.run_plan("--require", "max<1ns", code=1)
        self.plimsoll("report", result.results, code=1)

    def test_a_percentile_of_too_few_writes_is_inconclusive(self):
        result = self.run_plan("--require", "p99.99<10s", "--delay", "10ms", code=3)
        (criterion,) = result.report["verdict"]["criteria"]
        self.assertEqual(criterion["outcome"], "inconclusive")
        self.assertIn("fewer than 10 of", criterion["reason"])
        self.assertRegex(result.out, r"\AVerdict +INCONCLUSIVE\n")


if __name__ == "__main__":
    harness.main()
