"""A short drill over NFSv4.2: one round each of a switch, a killed instance and a frozen host."""

from ha_lab import HaTest
from lab_support import harness


class Smoke(HaTest):

    def test_a_switch_a_kill_and_a_freeze_lose_nothing(self):
        report = self.drill("switch", "kill", "freeze", rounds=3)
        self.assertEqual((report["verdict"]["outcome"], report["verdict"]["reasons"]), ("pass", []))
        self.assertEqual([takeover["outcome"] for _, takeover in self.takeovers(report)], ["taken"] * 3)


if __name__ == "__main__":
    harness.main()
