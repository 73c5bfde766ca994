"""The server is killed and started again: locks are reclaimed, and nobody else gets one meanwhile. And NFSv3 beside v4."""

import lab_support
import network
from lab_support import MQLOG, harness

GRACE_S = 10
# Emulated hosts are slow.
SLOW_S = 120


class ServerRestart(lab_support.LabTest):
    hosts = 2

    def hold(self, host, path):
        """Takes a lock on the host, and keeps it until the test ends."""
        said = f"/run/held{path.replace('/', '_')}"
        pid = self.on(host, f"lab_lock hold fcntl {path} >{said} 2>&1 & echo $!; until [ -s {said} ]; do usleep 10000; done")
        self.addCleanup(self.lab.machine(host).execute, f"kill {pid}")
        self.assertEqual(self.on(host, f"cat {said}"), "held\n")

    def tried(self, host, path):
        return self.on(host, f"lab_lock try fcntl {path}").strip()

    def restart_server(self):
        self.lab.machine("storage").kill()
        lab_support.lab("start", "storage")

    def grace_began_s(self):
        """In seconds since the server's start."""
        log = self.on("storage", "dmesg")
        began = [line for line in log.splitlines() if f"starting {GRACE_S}-second grace period" in line]
        self.assertEqual(len(began), 1, log)
        return float(began[0].split("]")[0].strip("[ "))

    def test_a_lock_outlives_the_server(self):
        held = f"{MQLOG}/held"
        self.hold("host1", held)
        self.restart_server()
        self.grace_began_s()
        self.assertEqual(self.tried("host2", held), "taken", "host1 has reclaimed it")

    def test_while_a_client_may_still_reclaim_nobody_gets_a_lock(self):
        held, free = f"{MQLOG}/held_by_one_that_is_cut_off", f"{MQLOG}/free"
        self.hold("host1", held)
        self.on("host2", f"echo there >{free}")
        number = self.lab.machine("host1").number
        network.set_port(lab_support.NAMESPACE, "storage", number, False)
        self.restart_server()
        # Returns when the server has said yes or no.
        self.assertEqual(self.tried("host2", free), "free")
        granted_s = float(self.on("storage", "cut -d' ' -f1 /proc/uptime"))
        # The server counts whole seconds.
        self.assertGreater(granted_s - self.grace_began_s(), GRACE_S - 1)
        self.assertEqual(self.tried("host2", held), "free", "host1 came too late")
        network.set_port(lab_support.NAMESPACE, "storage", number, True)

    def test_what_the_server_acknowledged_is_there_after_its_restart(self):
        run = self.start_lab_run(["host1", "host2"], "--duration", "30", "--lease", "60s", "--hang-limit", "5m")
        self.await_running(run)
        self.restart_server()
        run.finish(SLOW_S + 60)
        result = self.result_of(run, run.results)
        (step,) = result.report["steps"]
        for host in harness.scopes(step, "host"):
            self.assertGreater(host["writes"], 0)
        self.assertEqual(self.on("host1", f"ls -d {MQLOG}/plimsoll-* 2>/dev/null; true"), "", "nothing is left")

    def test_nfs_version_3_with_local_locks_binds_one_host_only(self):
        server = self.on("host1", "sed -n 's/.*,addr=\\([0-9.]*\\).*/\\1/p' /proc/mounts").split()[0]
        for host in self.all_hosts():
            self.on(host, "modprobe nfsv3; pidof rpcbind || rpcbind; mkdir -p /mnt/v3; mount -t nfs -o "
                          f"vers=3,hard,nolock,local_lock=posix,proto=tcp,port=2049,mountproto=tcp,mountport=20048,"
                          f"addr={server},mountaddr={server} {server}:/mnt/disk/mqlog /mnt/v3")
            self.addCleanup(self.lab.machine(host).execute, "umount -l /mnt/v3")
        self.on("host1", "echo seen >/mnt/v3/seen && sync")
        self.assertEqual(self.on("host2", "cat /mnt/v3/seen"), "seen\n", "one file system")
        self.hold("host1", "/mnt/v3/locked")
        self.assertEqual({host: self.tried(host, "/mnt/v3/locked") for host in self.all_hosts()},
                         {"host1": "taken", "host2": "free"})


if __name__ == "__main__":
    harness.main()
