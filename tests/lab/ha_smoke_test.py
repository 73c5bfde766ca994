"""A short drill over NFSv4.2: one round each of a switch, a killed instance and a frozen host."""

from ha_lab import HaTest
from lab_support import harness


class Smoke(HaTest):

    def test_a_switch_a_kill_and_a_freeze_lose_nothing(self):
        report = self.drill("switch", "kill", "freeze", rounds=3)
        self.assertEqual((report["verdict"]["outcome"], report["verdict"]["reasons"]), ("pass", []))
        self.assertEqual([takeover["outcome"] for _, takeover in self.takeovers(report)], ["taken"] * 3)

    def test_a_host_is_frozen_and_resumed_by_the_commands_of_options(self):
        report = self.drill("freeze", rounds=2, by_options=True)
        self.assertEqual((report["verdict"]["outcome"], report["verdict"]["reasons"]), ("pass", []))
        # Both were frozen, one after the other: the first one came back, and took over from the second.
        self.assertEqual([takeover["new_host"] for _, takeover in self.takeovers(report)], ["host2", "host1"])


if __name__ == "__main__":
    harness.main()
