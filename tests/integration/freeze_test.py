"""A freeze of the whole run shows as seconds without a write."""

import signal
import time

import harness

FREEZE_S = 3.2


class Freeze(harness.PlimsollTest):

    def test_a_freeze_of_three_seconds_shows_as_seconds_without_a_write(self):
        alpha = self.agent("alpha")
        run = self.start_run("--hosts", alpha.address, "--duration", "6", "--lease", "10s")
        self.await_running(run)
        alpha.signal(signal.SIGSTOP)
        run.signal(signal.SIGSTOP)
        time.sleep(FREEZE_S)  # The length of the freeze is what is tested.
        alpha.signal(signal.SIGCONT)
        run.signal(signal.SIGCONT)
        report = self.result_of(run, run.results).report
        self.assertEqual(report["run"]["state"], "complete")
        (step,) = report["steps"]
        bandwidth = harness.cluster(step)["bandwidth"]
        self.assertEqual((bandwidth["seconds"], bandwidth["min_bytes_per_second"]), (6, 0))
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
