"""Three hosts with kernels of their own on one NFS export: one report, and stalls whose causes are distinguished."""

import lab_support
from lab_support import harness
import network

SERVER_PAUSE_S = 5
HOST_PAUSE_S = 3


class Smoke(lab_support.LabTest):

    def test_one_report_of_all_hosts(self):
        run = self.start_lab_run(self.all_hosts(), "--bsize", "4k,64k", "--qm", "2", "--duration", "3")
        run.finish(180)
        report = self.result_of(run, run.results).report
        self.assertEqual([host["label"] for host in report["hosts"]], self.all_hosts())
        self.assertEqual({host["storage"] for host in report["hosts"]}, {1}, "one export is one storage")
        for host in report["hosts"]:
            self.assertEqual((host["mount"]["fs_type"], host["mount"]["direct"]), ("nfs4", True))
            self.assertIn("wsize=65536", host["mount"]["mount_options"])
        kernels = {self.on(name, "cat /proc/sys/kernel/random/boot_id") for name in self.all_hosts()}
        self.assertEqual(len(kernels), 3, "each has a kernel of its own")
        for step in report["steps"]:
            for host in harness.scopes(step, "host"):
                self.assertGreater(host["writes"], 0)
        self.assertEqual(self.on("host1", f"ls {lab_support.MQLOG}"), "", "nothing is left on the export")

    def test_a_stalled_server_is_all_hosts(self):
        server = self.lab.machine("storage")

        def pause():
            server.pause()
            return server.resume

        result, stalls = self.stalls_while(lab_support.MQLOG, pause, SERVER_PAUSE_S)
        self.assertEqual([stall["stall_class"] for stall in stalls], ["all_hosts"], result)
        self.assertEqual(sorted(stalls[0]["hosts"]), self.all_hosts())

    def assert_cut_is_one_host(self):
        number = self.lab.machine("host1").number

        def cut():
            network.set_port(lab_support.NAMESPACE, "storage", number, False)
            return lambda: network.set_port(lab_support.NAMESPACE, "storage", number, True)

        result, stalls = self.stalls_while(lab_support.MQLOG, cut, SERVER_PAUSE_S)
        self.assertEqual([(stall["stall_class"], stall["hosts"]) for stall in stalls], [("one_host", ["host1"])], result)
        self.assertEqual(stalls[0]["others"], ["host2", "host3"])
        return result.report

    def test_a_client_whose_storage_link_is_cut_is_one_host(self):
        self.assert_cut_is_one_host()

    def test_a_link_that_is_cut_while_all_writes_are_slow_is_one_host(self):
        for machine in self.lab.machines():
            self.lab.netem(machine, "20ms", ["storage"])
            self.addCleanup(self.lab.netem, machine, "0", ["storage"])
        report = self.assert_cut_is_one_host()
        for host in harness.scopes(report["steps"][0], "host"):
            self.assertGreater(host["latency"]["p50_ns"], 40e6, "20 ms there and 20 ms back")

    def test_a_suspended_host_is_paused(self):
        machine = self.lab.machine("host2")

        def pause():
            machine.pause()
            return machine.resume

        result, stalls = self.stalls_while(lab_support.MQLOG, pause, HOST_PAUSE_S)
        self.assertEqual([(stall["stall_class"], stall["hosts"]) for stall in stalls], [("host_paused", ["host2"])], result)


class Down(lab_support.LabTest):
    """`down` removes what a lab made, also after a crash; it comes last, in a lab of its own."""

    hosts = 1
    up = ()

    def heal(self):
        pass

    def test_nothing_is_left_even_after_a_crash(self):
        self.assertNotEqual(lab_support.traces_of_lab(), [])
        self.lab.machine("host1").kill()
        (lab_support.HOSTS / "settings").unlink()
        lab_support.lab("down")
        self.assertEqual(lab_support.traces_of_lab(), [])


if __name__ == "__main__":
    harness.main()
