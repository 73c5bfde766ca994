"""A host whose monotonic clock is far ahead is measured like any other."""

import datetime

import harness
import namespaces

AHEAD_S = 100_000
# Far more than a busy machine makes of it, far less than a wrong offset would.
SKEW_LIMIT_NS = 200_000_000


class Clock(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        namespaces.need("--time", "--fork")
        near = self.agent("near")
        far = self.agent("far", wrap=namespaces.clock_ahead(AHEAD_S))
        self.hosts = f"{near.address},{far.address}"

    def test_a_clock_far_ahead_changes_nothing_but_its_offset(self):
        # To memory: no stall of a disk may make a second without a write.
        report = self.run_plan("--hosts", self.hosts, "--duration", "2", "--bsize", "64k,128k", "--sync", "none",
                               "--direct", "off", "--rate", "1000").report
        near, far = (host["clock"] for host in report["hosts"])
        self.assertLess(abs(near["offset_ns"]), 1_000_000_000)
        self.assertLess(abs(far["offset_ns"] - AHEAD_S * 1_000_000_000), 1_000_000_000)
        self.assertEqual((near["steps"], far["steps"]), ([], []))
        # One reads this machine's clock, as the controller does, but nothing proves that; the other is in a time
        # namespace of its own.
        self.assertGreater(near["error_ns"], 0)
        self.assertLessEqual(abs(near["offset_ns"]), near["error_ns"])
        self.assertGreater(far["error_ns"], 0)
        for step in report["steps"]:
            self.assertLess(step["start_skew"]["skew_ns"], SKEW_LIMIT_NS)
            begin = datetime.datetime.fromisoformat(step["start"][:26])
            for scope in harness.scopes(step, "host"):
                self.assertEqual((scope["measured_ns"], scope["bandwidth"]["seconds"]), (2_000_000_000, 2))
                slowest = datetime.datetime.fromisoformat(scope["slowest"]["start"][:26])
                self.assertLess(abs((slowest - begin).total_seconds()), 60)
            # Both wrote in each of the seconds, which are the controller's.
            for series in step["series"]:
                self.assertEqual(series["second"][:2], [0, 1])
                self.assertTrue(all(writes > 0 for writes in series["writes"][:2]), series)

    def test_an_agent_that_the_controller_starts_has_its_clock(self):
        (child,) = (host["clock"] for host in self.run_plan().report["hosts"])
        self.assertEqual((child["offset_ns"], child["error_ns"]), (0, 0))

    def test_hosts_shows_the_offset(self):
        lines = self.plimsoll("hosts", "--hosts", self.hosts).out
        self.assertRegex(lines, r"(?m)^  near +\S+ +[\d.]+ +(-?0\.0\d+) +[\d.]+ ")
        self.assertRegex(lines, r"(?m)^  far +\S+ +[\d.]+ +(99999\.9|100000\.0)\d+ +[\d.]+ ")


class ClockSpeed(harness.PlimsollTest):

    def agent_at(self, speed, name):
        return self.agent(name, wrap=("env", f"LD_PRELOAD={harness.binary('clock_speed.so')}",
                                      f"PLIMSOLL_CLOCK_SPEED={speed}"))

    def verdict_of(self, *hosts, criterion="p50<10s"):
        run = self.start_run("--hosts", ",".join(host.address for host in hosts), "--duration", "3", "--rate", "100",
                             "--sync", "none", "--direct", "off", "--require", criterion)
        return self.result_of(run, run.results, code=3)

    def test_an_agent_whose_clock_runs_at_the_wrong_speed_passes_nothing_and_is_named(self):
        right = self.agent("right")
        for speed, name in ((0.5, "half"), (1.05, "fast")):
            with self.subTest(speed):
                wrong = self.agent_at(speed, name)
                result = self.verdict_of(right, wrong)
                self.assertEqual(result.report["verdict"]["outcome"], "inconclusive")
                self.assertEqual(result.report["verdict"]["reasons"][0],
                                 f"{name}'s clock runs at {speed:.2f}x the controller's.")
                self.assertIn(f"INCONCLUSIVE: {name}'s clock runs at {speed:.2f}x the controller's", result.out)
                drift = result.report["hosts"][1]["clock"]["drift_ppm"]
                self.assertLess(abs(drift / 1e6 - (speed - 1)), 0.01)
                wrong.end()

    def test_what_such_a_clock_shows_as_too_slow_fails_nothing(self):
        result = self.verdict_of(self.agent_at(2, "double"), criterion="p50<1ns")
        self.assertEqual(result.report["verdict"]["outcome"], "inconclusive")


if __name__ == "__main__":
    harness.main()
