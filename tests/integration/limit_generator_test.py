"""`plimsoll limit` with an agent that has too little CPU: the load generator is the limit, and the answer a lower bound."""

import os
import re

import harness


class LimitOfTheLoadGenerator(harness.PlimsollTest):

    # Writers that never wait for a disk.
    in_memory = True

    def limit(self, found, *arguments):
        """Searches with an agent whose only CPU is busy otherwise; returns what the report has of the limit, which is `found`."""
        agent = self.agent("alpha", wrap=("taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))))
        out = self.base / "results"
        # Blocks so large that the recorder, which shares that CPU, keeps up.
        process = self.start_plimsoll("limit", "--hosts", agent.address, "--dir", self.dir, "--out", out, "--bsize", "256k",
                                      "--file-size", "256k", "--num-files", "2", "--cpu-load", "2", "--over", "qm",
                                      "--duration", "500ms", "--warmup", "100ms", "--hold", "1s", *arguments)
        process.finish(120)
        result = self.result_of(process, out, code=3)
        limit = result.report["limit"]
        self.assertEqual((limit["cause"], limit["host"]), ("load_generator", "alpha"), result)
        cause = r"at \S.* the load generator on alpha may be CPU-bound: its writers waited \d+\.\d % of their time for a CPU"
        self.assertRegex(limit["cause_text"], f"^{cause}")
        verdict = result.report["verdict"]
        self.assertEqual(verdict["outcome"], "inconclusive")
        self.assertEqual(limit["limit"], found, result)
        bound = "the result is a lower bound; " if found > 0 else ""
        reason = f"[Tt]he limit is the load generator, not the storage: {bound}{cause}"
        # An agent without a CPU may have been suspended as well, which is a cause of its own.
        self.assertTrue([one for one in verdict["reasons"] if re.match(reason, one)], verdict["reasons"])
        # Sentences may be broken anywhere between two words.
        text = " ".join(result.out.split())
        self.assertRegex(text, f"^Verdict INCONCLUSIVE.* {reason}")
        self.assertIn("Limit at least " if bound else "Limit no load was shown to meet the criteria", text)
        self.assertRegex(text, f"Cause the load generator: {cause}")
        self.assert_nothing_left()
        return limit

    def test_queue_managers_that_wait_for_a_cpu_give_a_lower_bound(self):
        # Whatever they waited for, both wrote: no load exceeds the criterion.
        limit = self.limit(2, "--qm", "2", "--require", "p50<10s", "--budget", "15s")
        self.assertTrue(limit["held"])
        self.assertNotIn("exceeded_at", limit)

    def test_a_rate_that_is_missed_for_want_of_a_cpu_is_no_limit_of_the_storage(self):
        # One of them would write 10 GB/s, which no third of a CPU does.
        limit = self.limit(0, "--qm", "64", "--rate", "40000", "--require", "p50<50ms", "--budget", "20s")
        (maximum,) = [point for point in limit["points"] if point["purpose"] == "maximum"]
        # Measuring it again would decide nothing, so that the search goes down from there.
        self.assertEqual((maximum["load"], maximum["state"], maximum["criterion"]), (64, "undecided", "rate_achieved>=99%"))
        loads = [point["load"] for point in limit["points"] if point["purpose"] != "probe"]
        self.assertEqual(loads, [64, 32, 16, 8, 4, 2, 1][:len(loads)])
        # Judged by its interval, as every load of a search.
        self.assertIn("confidence", maximum)


if __name__ == "__main__":
    harness.main()
