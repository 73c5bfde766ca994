"""What a report and `plimsoll storage` say of an NFS mount: the kernel's times beside ours, and what is wrong with the mount."""

import lab_support
from lab_support import harness

# Every answer of the server comes so much later: far more than what else an emulated host needs on a quiet machine.
DELAY_MS = 100
OPTIONS = "vers=4.2,soft,wsize=4096,rsize=65536,proto=tcp,timeo=600,sec=sys"


class Figures(lab_support.LabTest):
    hosts = 1

    def heal(self):
        super().heal()
        lab_support.lab("netem", "storage", "0")

    def step_loads(self, *arguments):
        """The steps of a run, each with what the host's kernel counted of its NFS mount."""
        run = self.start_lab_run(["host1"], "--duration", "5", *arguments)
        run.finish(180)
        result = self.result_of(run, run.results)
        self.assertIn("NFS, from kernel statistics; times per operation in ms", result.out)
        return [(harness.cluster(step), step["load"][0]["nfs"]) for step in result.report["steps"]]

    def assert_beside_ours(self, scope, operation):
        our_avg_ms = scope["latency"]["avg_ns"] / 1e6
        # The kernel counts whole milliseconds, and the samples' ends are not those of the step.
        self.assertGreaterEqual(operation["round_trip_ms"], DELAY_MS - 1)
        self.assertGreaterEqual(operation["execute_ms"], operation["round_trip_ms"])
        self.assertLess(operation["execute_ms"], our_avg_ms * 1.1)
        self.assertLess(our_avg_ms, DELAY_MS * 10)
        self.assertEqual((operation["retransmits"], operation["timeouts"]), (0, 0))

    def test_the_kernels_times_stand_beside_ours(self):
        lab_support.lab("netem", "storage", f"{DELAY_MS}ms")
        (small, small_nfs), (large, large_nfs) = self.step_loads("--bsize", "4k,128k")
        self.assert_beside_ours(small, small_nfs["write"])
        self.assertAlmostEqual(small_nfs["write"]["operations"], small["writes"], delta=small["writes"] / 3)
        self.assertEqual(small_nfs["commit"]["operations"], 0)
        # Two WRITEs, side by side, and then a COMMIT.
        self.assert_beside_ours(large, large_nfs["write"])
        self.assert_beside_ours(large, large_nfs["commit"])
        self.assertAlmostEqual(large_nfs["write"]["operations"], 2 * large_nfs["commit"]["operations"], delta=2)
        self.assertGreater(large["latency"]["avg_ns"], 2e6 * DELAY_MS)

    def storage(self, directory, *arguments):
        """What `plimsoll storage` says, in one line each but for the breaks that it makes."""
        return " ".join(self.lab_plimsoll("storage", directory, "--hosts", self.addresses("host1"), *arguments).out.split())

    def test_storage_shows_the_mount_of_the_lab(self):
        text = self.storage(lab_support.MQLOG, "--bsize", "64k")
        for words in ("file system nfs4 from 10.77.2.1:/, mounted on /mnt/mqlog", "NFS version 4.2", "server 10.77.2.1",
                      "export /", "retry hard, timeo=600", "sizes wsize=65536, rsize=65536", "locks local_lock=none"):
            self.assertIn(words, text)
        self.assertNotRegex(text, "PROBLEM|warning")
        self.assertRegex(text, r"hint the client cannot see whether the export is sync: .* must show sync \[exports\(5\)\]")
        self.assertRegex(self.storage(lab_support.MQLOG),
                         r"warning wsize=65536 is below the largest write \(128k\): .*\[docs/nfs\.md\]")

    def test_storage_reports_what_is_wrong_with_a_mount(self):
        self.on("host1", "mkdir -p /mnt/soft && "
                f"mount -t nfs4 -o {OPTIONS},addr=10.77.2.1,clientaddr=10.77.2.11 10.77.2.1:/ /mnt/soft")
        self.addCleanup(self.on, "host1", "umount /mnt/soft")
        text = self.storage("/mnt/soft", "--bsize", "64k")
        self.assertRegex(text, r"retry soft, timeo=600")
        self.assertRegex(text, r"PROBLEM soft mount: a write that the server is slow to answer fails .*; mount it hard \[nfs\(5\)\]")
        self.assertRegex(text, r"warning wsize=4096 is below the largest write \(64k\): .*raise wsize .*\[docs/nfs\.md\]")
        self.assertLess(text.index("PROBLEM"), text.index("warning"), "the worst comes first")
        self.assertNotIn("soft", self.storage(lab_support.MQLOG))


if __name__ == "__main__":
    harness.main()
