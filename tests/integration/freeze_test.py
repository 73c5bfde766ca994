"""A freeze of the whole run shows as seconds without a write."""

import signal
import time

import harness

FREEZE_S = 3.2


class Freeze(harness.PlimsollTest):

    def freeze(self, run, agent, seconds):
        agent.signal(signal.SIGSTOP)
        run.signal(signal.SIGSTOP)
        time.sleep(seconds)  # The length of the freeze is what is tested.
        agent.signal(signal.SIGCONT)
        run.signal(signal.SIGCONT)

    def test_a_freeze_longer_than_the_lease_ends_the_run(self):
        alpha = self.agent("alpha")
        run = self.start_run("--hosts", alpha.address, "--duration", "60", "--lease", "2s")
        self.await_running(run)
        self.freeze(run, alpha, FREEZE_S)
        result = self.result_of(run, run.results, code=3)
        self.assertGreater(harness.cluster(result.report["steps"][0])["writes"], 0)
        self.assertRegex(result.out, "lease expired: no message")
        self.await_nothing_left()
        self.run_plan("--hosts", alpha.address)

    def test_a_freeze_of_three_seconds_shows_as_seconds_without_a_write(self):
        alpha = self.agent("alpha")
        run = self.start_run("--hosts", alpha.address, "--duration", "8", "--lease", "10s")
        self.await_running(run)
        self.freeze(run, alpha, FREEZE_S)
        report = self.result_of(run, run.results).report
        self.assertEqual(report["run"]["state"], "complete")
        (step,) = report["steps"]
        bandwidth = harness.cluster(step)["bandwidth"]
        self.assertEqual((bandwidth["seconds"], bandwidth["min_bytes_per_second"]), (8, 0))
        self.assertGreater(bandwidth["max_bytes_per_second"], 0)
        for series in step["series"]:
            irregular = {row["row"] for row in series["irregular"]}
            writes = dict(zip(series["second"], series["writes"]))
            whole = [writes[second] for row, second in enumerate(series["second"]) if row not in irregular]
            # 3.2 s hold at least two whole seconds.
            self.assertGreaterEqual(whole.count(0), 2, series)
            self.assertGreater(writes[0], 0)


if __name__ == "__main__":
    harness.main()
