"""A minute of the stand-in queue manager through `plimsoll watch`, against its own log: every write and call."""

import harness
import watching


class Minute(watching.StandInTest):

    def test_counts_a_minute_at_one_write_a_second(self):
        _, made = self.watch_stand_in(1, 2, 60, "--calls", "MQPUT,MQGET,MQCMIT")
        self.assertGreaterEqual(len(made["write"]), 60)

    def test_counts_a_minute_at_20000_writes_a_second(self):
        _, made = self.watch_stand_in(20000, 0, 60)
        self.assertEqual(len(made["write"]), 1_200_000)


if __name__ == "__main__":
    harness.main()
