"""Restart I/O on NFS: a delay in the network moves the slope by twice itself for each call, and the log is read over the wire."""

import json

import lab_support
import restart_study
from lab_support import harness

DELAY_US = 3000


class RestartTest(lab_support.LabTest):

    hosts = 1
    up = ("--nfs", "--pin")

    def test_a_delay_each_way_adds_two_for_each_of_the_2_4_calls_of_a_record_and_next_to_none_where_pages_are_merged(self):
        out = self.base / "study"
        out.mkdir()
        lines = restart_study.measure(harness.binary("plimsoll"), out, [0, DELAY_US], [50, 100, 200], 3)
        trips, error = restart_study.shift(lines, "per_record", DELAY_US)
        # Emulated hosts are late beside other work: what they were late by is in the error.
        self.assertLess(abs(trips - 2.4), 4 * error + 0.3, (trips, error))
        merged, error = restart_study.shift(lines, "coalesced", DELAY_US)
        self.assertLess(abs(merged), 4 * error + 0.3, (merged, error))
        for results in out.iterdir():
            (side,) = json.loads((results / "report.json").read_text())["restart_time"]["sides"]
            self.assertEqual(side["fs_type"], "nfs4")
            # The mount's counters saw the log.
            self.assertTrue(side["cold"], side)


if __name__ == "__main__":
    harness.main()
