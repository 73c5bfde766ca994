"""Honest storage never fails a drill: 100 rounds of switch, kill, host loss and freeze with fenced extents."""

import collections

import drills
import faultfs
import harness
import takeovers


def setUpModule():
    faultfs.own_mounts()


class Honest(drills.DrillTest):

    server_lease_s = 0.3

    def test_a_hundred_rounds_find_nothing(self):
        seed = str(int.from_bytes(drills.os.urandom(3), "big"))
        print(f"--seed {seed}")
        report = self.drill("--qm", "2", "--seed", seed, faults=("switch", "kill", "poweroff", "freeze"), rounds=100)
        self.assertEqual(report["verdict"]["outcome"], "pass", report["text"])
        outcomes = collections.Counter(
            (each["fault"], one["outcome"]) for each in report["ha"]["rounds"] for one in each["takeovers"])
        self.assertEqual(outcomes, {(fault, "taken"): 50 for fault in ("switch", "kill", "poweroff", "freeze")})
        found = report["ha"]["findings"]
        for name in ("lost", "torn", "misplaced", "overwritten", "order_broken", "split_brain", "late_writers", "not_released"):
            self.assertEqual(found[name], 0, report["text"])
        takeovers.assert_little_is_added(self, report, lock_poll_ns=50_000_000)
        for each in report["ha"]["rounds"]:
            for one in each["takeovers"]:
                self.assertGreater(one["gap"]["ns"] + one["gap"]["error_ns"], 0, one)


if __name__ == "__main__":
    harness.main()
