"""`plimsoll fsck` between hosts with kernels of their own, on NFSv4.2 and on NFSv3 whose locks are local to each host."""

import lab_support
from fsck_lab import FsckTest, SLOW_S, TIMESTAMPS
from lab_support import MQLOG, harness

LOCAL = "/mnt/v3"


class Nfs(FsckTest):

    def test_nfs_4_2_fails_nothing_and_quick_says_what_it_did_not_test(self):
        report = self.check(MQLOG, code=3)
        # The clocks of emulated hosts are set to a second.
        self.assertLessEqual(set(self.reasons(report, "fail")), {TIMESTAMPS})
        self.assertEqual(self.reasons(report, "undecided"), {})
        self.assertEqual(self.verdicts(report), ("not_tested", "pass", "not_tested"))
        self.assertEqual([host["fs_type"] for host in report["hosts"]], ["nfs4", "nfs4"])

    def test_nfs_3_with_local_locks_is_not_exclusive(self):
        server = self.on("host1", "sed -n 's/.*,addr=\\([0-9.]*\\).*/\\1/p' /proc/mounts").split()[0]
        for host in self.all_hosts():
            self.on(host, "modprobe nfsv3; pidof rpcbind || rpcbind; mkdir -p /mnt/v3; mount -t nfs -o "
                          f"vers=3,hard,nolock,local_lock=posix,proto=tcp,port=2049,mountproto=tcp,mountport=20048,"
                          f"addr={server},mountaddr={server} {server}:/mnt/disk/mqlog {LOCAL}")
            self.addCleanup(self.lab.machine(host).execute, f"umount -l {LOCAL}")
        report = self.check(LOCAL, code=1)
        self.assertEqual(self.verdicts(report)[1], "fail")
        self.assertRegex(self.reasons(report, "fail")["lock.exclusive"], "^granted twice: host2 was granted the lock that host1")

    def test_a_directory_that_each_host_has_for_itself_is_named(self):
        process = self.start_plimsoll("fsck", "/mnt/disk", "--hosts", self.addresses(*self.all_hosts()), wrap=lab_support.IN_LAB)
        process.finish(SLOW_S)
        self.assertRegex(self.result_of(process, None, 2).err, r"host1: /mnt/disk \(ext4 from \S+\) does not show what host2 made")


if __name__ == "__main__":
    harness.main()
