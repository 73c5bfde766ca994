"""`plimsoll fsck` on OCFS2 under o2cb, where fcntl locks hold on one host only."""

from fsck_lab import FsckTest
from lab_support import harness


class SharedDisk(FsckTest):
    up = ("--san",)

    def test_locks_that_hold_on_one_host_fail_and_are_named(self):
        report = self.check("/mnt/san", code=1)
        self.assertEqual(self.verdicts(report)[1], "fail")
        self.assertRegex(self.reasons(report, "fail")["lock.exclusive"], "^granted twice: host2 was granted the lock that host1")
        self.assertEqual([host["fs_type"] for host in report["hosts"]], ["ocfs2", "ocfs2"])


if __name__ == "__main__":
    harness.main()
