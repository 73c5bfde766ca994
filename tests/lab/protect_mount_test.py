"""`--protect mount=DIR` by a kernel's counters of NFS: a program writes to the mount, and the run beside it to memory."""

import re

import lab_support
from lab_support import harness

HOST = "host1"
LOCAL = "/mnt/local"
SLOW_S = 120


class ProtectedMount(lab_support.LabTest):
    hosts = 1

    def setUp(self):
        super().setUp()
        self.on(HOST, f"mkdir -p {LOCAL}; mountpoint -q {LOCAL} || mount -t tmpfs local {LOCAL}")
        self.on(HOST, "while [ ! -e /tmp/enough ]; do dd if=/dev/zero of=/mnt/mqlog/other bs=4k count=1 conv=notrunc,fsync; done "
                      "</dev/null >/dev/null 2>&1 & echo $! >/tmp/writer.pid")
        self.addCleanup(self.end_writer)

    def end_writer(self):
        self.heal()
        machine = self.lab.machine(HOST)
        self.on(HOST, "touch /tmp/enough")
        harness.wait_until(lambda: machine.execute("kill -0 $(cat /tmp/writer.pid)")[1] != 0, "the writer's end", timeout_s=SLOW_S)
        self.on(HOST, "rm -f /tmp/enough /tmp/writer.pid /mnt/mqlog/other")

    def start_protected(self, *arguments):
        # The guest has little memory.
        return self.start_lab_run([HOST], "--protect", f"mount={lab_support.MQLOG}", "--min-free", "0", *arguments, dir=LOCAL)

    def test_a_server_that_stops_answering_ends_the_run(self):
        run = self.start_protected("--duration", "10m", "--protect-factor", "1000")
        self.await_running(run)
        self.lab.machine("storage").pause()
        run.finish(SLOW_S)
        result = self.result_of(run, run.results, 3)
        # The write that hangs is in none of the kernel's counters.
        self.assertRegex(" ".join(result.report["verdict"]["reasons"]),
                         rf"--protect mount=/mnt/mqlog: {HOST}: no write to it has ended for \d+ s, and requests may be in flight")
        self.assertRegex(" ".join(result.report["notes"]),
                         rf"Protected mount=/mnt/mqlog \(\S+ of {HOST}\): writes to it took [\d.]+ ms on average in the 10 s before")
        # The run's own storage does not hang: it cleaned up.
        self.assertEqual(result.report["hosts"][0]["clean_up"]["left_behind"], "")
        self.assertEqual(self.on(HOST, f"ls -A {LOCAL}").strip(), "")

    def test_a_run_on_the_mount_itself_is_refused(self):
        run = self.start_lab_run([HOST], "--protect", f"mount={lab_support.MQLOG}")
        run.finish(SLOW_S)
        refused = self.result_of(run, code=2)
        self.assertIn("/mnt/mqlog is on it (", refused.err)
        self.assertFalse(run.results.exists())
        mount = re.escape(LOCAL)
        run = self.start_lab_run([HOST], "--protect", f"mount={LOCAL}", dir=LOCAL)
        run.finish(SLOW_S)
        self.assertRegex(self.result_of(run, code=2).err, rf"{HOST}: the kernel counts no writes of {mount} \(tmpfs\)")


if __name__ == "__main__":
    harness.main()
