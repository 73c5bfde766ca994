"""Three hosts on one disk with OCFS2: one storage, coherent caches, and fcntl locks that hold on one host only."""

import lab_support
from lab_support import harness

SAN = "/mnt/san"
HOST_PAUSE_S = 3


def assert_nothing_is_left():
    left = lab_support.traces_of_lab()
    if left:
        raise AssertionError(f"left after `down`: {left}")


class SharedDisk(lab_support.LabTest):
    up = ("--san",)

    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(assert_nothing_is_left)  # Comes after `down`.
        super().setUpClass()

    def hold(self, host, kind, path):
        """Takes a lock on the host, and keeps it until the test ends."""
        said = f"/run/{kind}.said"
        pid = self.on(host, f"lab_lock hold {kind} {path} >{said} 2>&1 & echo $!; until [ -s {said} ]; do usleep 10000; done")
        self.addCleanup(self.lab.machine(host).execute, f"kill {pid}")
        self.assertEqual(self.on(host, f"cat {said}"), "held\n")

    def tried(self, kind, path):
        return {host: self.on(host, f"lab_lock try {kind} {path}").strip() for host in self.all_hosts()}

    def test_one_report_of_all_hosts(self):
        run = self.start_lab_run(self.all_hosts(), "--bsize", "4k,64k", "--qm", "2", "--duration", "3", dir=SAN)
        run.finish(180)
        report = self.result_of(run, run.results).report
        self.assertEqual([host["label"] for host in report["hosts"]], self.all_hosts())
        self.assertEqual({host["storage"] for host in report["hosts"]}, {1}, "one disk is one storage")
        for host in report["hosts"]:
            mount = host["mount"]
            self.assertEqual((mount["fs_type"], mount["fs_source"], mount["direct"]), ("ocfs2", "/dev/vdb", True))
        for step in report["steps"]:
            for host in harness.scopes(step, "host"):
                self.assertGreater(host["writes"], 0)
        self.assertEqual(self.on("host1", f"ls -d {SAN}/plimsoll-* 2>/dev/null; true"), "", "nothing is left on the disk")

    def test_storage_names_the_file_system_and_its_device(self):
        text = self.lab_plimsoll("storage", SAN, "--hosts", self.addresses(*self.all_hosts())).out
        described = text.count("  directory        ")  # groups of hosts that are alike
        self.assertGreater(described, 0, text)
        self.assertEqual(text.count(f"file system      ocfs2 from /dev/vdb, mounted on {SAN}\n"), described, text)
        self.assertEqual(text.count("devices          vdb: disk, 1 GiB"), described, text)

    def test_what_one_host_writes_the_others_read_at_once(self):
        file = f"{SAN}/seen"
        for writer in self.all_hosts():
            self.on(writer, f"echo written by {writer} >{file}")
            # They have read it before, so it is in their caches.
            for reader in self.all_hosts():
                self.assertEqual(self.on(reader, f"cat {file}"), f"written by {writer}\n", reader)

    def test_a_lock_by_fcntl_binds_one_host_only(self):
        self.hold("host1", "fcntl", f"{SAN}/by_fcntl")
        self.assertEqual(self.tried("fcntl", f"{SAN}/by_fcntl"), {"host1": "taken", "host2": "free", "host3": "free"})

    def test_a_lock_by_flock_binds_all_hosts(self):
        self.hold("host1", "flock", f"{SAN}/by_flock")
        self.assertEqual(self.tried("flock", f"{SAN}/by_flock"), {"host1": "taken", "host2": "taken", "host3": "taken"})

    def test_a_suspended_host_is_paused_and_no_other_stalls(self):
        machine = self.lab.machine("host2")

        def pause():
            machine.pause()
            return machine.resume

        result, stalls = self.stalls_while(SAN, pause, HOST_PAUSE_S)
        self.assertEqual([(stall["stall_class"], stall["hosts"]) for stall in stalls], [("host_paused", ["host2"])], result)

    def test_a_host_whose_plug_was_pulled_joins_again(self):
        self.on("host3", f"echo kept >{SAN}/kept && sync")
        self.lab.machine("host3").kill()
        lab_support.lab("start", "host3")
        self.assertEqual(self.on("host3", f"cat {SAN}/kept"), "kept\n")
        self.on("host3", f"echo again >{SAN}/kept && sync")
        self.assertEqual(self.on("host1", f"cat {SAN}/kept"), "again\n")


if __name__ == "__main__":
    harness.main()
