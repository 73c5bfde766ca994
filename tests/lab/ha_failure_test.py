"""`plimsoll ha` over NFSv4.2 while hosts lose storage, power or locks, boot, and the server is reset: 5 rounds of each."""

from ha_lab import HaTest
from lab_support import harness

ROUNDS = 5


class Failures(HaTest):

    def assert_passed(self, report):
        self.assertEqual((report["verdict"]["outcome"], report["verdict"]["reasons"]), ("pass", []))

    def test_a_host_that_is_cut_off_from_its_storage_loses_its_locks(self):
        self.assert_passed(self.drill("cut", rounds=ROUNDS))
        self.assertGreater(self.journal_says(rb"Input/output error \(5\)"), 0)

    def test_a_host_without_power_is_replaced_and_comes_back_as_the_standby(self):
        self.assert_passed(self.drill("poweroff", rounds=ROUNDS))

    def test_a_host_that_is_reset_is_replaced_and_comes_back_as_the_standby(self):
        self.assert_passed(self.drill("reboot", rounds=ROUNDS))

    def test_all_write_again_after_a_reset_of_the_server(self):
        self.assert_passed(self.drill("server-restart", rounds=ROUNDS))

    def test_a_host_whose_locks_the_server_drops_is_replaced_and_its_instance_ends(self):
        report = self.drill("lock-loss", rounds=ROUNDS)
        self.assert_passed(report)
        self.assertEqual(report["ha"]["findings"]["late_writers"], 0)
        # The host itself is well: its kernel refuses what the old instance does under the locks that are gone.
        self.assertGreaterEqual(self.journal_says(rb"Input/output error \(5\)"), ROUNDS)


if __name__ == "__main__":
    harness.main()
