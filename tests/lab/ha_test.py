"""`plimsoll ha` over NFSv4.2, between hosts with kernels of their own: 5 rounds of each fault that leaves the hosts up."""

from ha_lab import HaTest
from ha_plan import SERVER_LEASE_S
from lab_support import harness

ROUNDS = 5
# What the old active instance's verification reads through the descriptor that holds `active`, once the lock is lost.
LOST = rb"/data/active: Input/output error \(5\)"


class Drills(HaTest):

    def assert_passed(self, report):
        self.assertEqual((report["verdict"]["outcome"], report["verdict"]["reasons"]), ("pass", []))

    def test_switch_kill_and_hang_pass_with_extents_locked(self):
        self.assert_passed(self.drill("switch", "kill", "hang", rounds=3 * ROUNDS))

    def test_switch_kill_and_hang_pass_without_a_fence(self):
        self.assert_passed(self.drill("switch", "kill", "hang", rounds=3 * ROUNDS, fence="none"))

    def test_a_frozen_host_whose_extents_were_locked_writes_nothing_late(self):
        report = self.drill("freeze", rounds=ROUNDS)
        self.assert_passed(report)
        self.assertEqual(report["ha"]["findings"]["late_writers"], 0)
        for _, takeover in self.takeovers(report):
            # The lock is the frozen host's until its lease is over, which it may have renewed just before.
            self.assertGreater(takeover["to_granted"]["ns"] + takeover["to_granted"]["error_ns"], SERVER_LEASE_S * 0.5e9)
        self.assertGreater(self.journal_says(rb"Input/output error \(5\)"), 0, "the old active instance lost its locks")

    def test_a_frozen_host_without_a_fence_may_write_late_and_its_lock_is_lost(self):
        report = self.drill("freeze", rounds=ROUNDS, fence="none", code=(0, 1))
        # An acknowledged block that a zombie's write destroys is lost, whether that was in flight at the freeze or came later.
        found = report["ha"]["findings"]
        self.assertEqual(report["verdict"]["reasons"], [])
        self.assertEqual(report["verdict"]["outcome"], "fail" if found["lost"] > 0 else "pass")
        if report["ha"]["findings"]["late_writers"] > 0:
            self.assertIn("unfenced writer", report["verdict"]["remark"])
        self.assertGreater(self.journal_says(LOST), 0)


if __name__ == "__main__":
    harness.main()
