"""`plimsoll fsck --level full`: the server is reset and a host is killed; and an `async` export, which loses what it acknowledged."""

import lab_support
from fsck_lab import FsckTest
from lab_support import MQLOG, harness

DSYNC, LOCK, DEATH = "data.dsync-survives-server-restart", "lock.after-server-restart", "lock.released-at-host-death"


class Failures(FsckTest):

    def only(self, *checks):
        return ("--level", "full", "--allow-commands", "--only", ",".join(checks))

    def test_honest_nfs_keeps_data_and_locks_over_a_restart(self):
        report = self.check(MQLOG, *self.only(DSYNC, LOCK), *self.restart_command(), code=3)
        self.assertEqual({check["name"] for check in report["checks"] if check["outcome"] == "pass"}, {DSYNC, LOCK}, report)

    def test_the_lock_of_a_dead_host_is_released_before_it_is_back(self):
        process = self.start_plimsoll("fsck", MQLOG, "--hosts", self.addresses(*self.all_hosts()), "--lease", "20s",
                                      "--full", *self.only(DEATH), *self.host_commands(), wrap=lab_support.IN_LAB)
        process.finish(400)
        result = self.result_of(process, None, 3)
        self.assertRegex(result.out, rf"(?m)^  {DEATH} +pass +[\d.]+ s\n +granted [\d.]+ s after the command that killed host2 began")
        harness.wait_until(lambda: self.left(MQLOG) == "", "nothing left", 120)

    def test_an_async_export_that_loses_acknowledged_writes_fails(self):
        self.on("storage", "sed -i 's/(rw,sync,/(rw,async,/' /etc/exports && exportfs -ra")
        report = self.check(MQLOG, *self.only(DSYNC), *self.restart_command(), code=1)
        self.assertEqual(self.verdicts(report)[0], "fail")
        # The server lost writes, the page with the run's token, or the whole file.
        self.assertRegex(self.reasons(report, "fail")[DSYNC], "^acknowledged write lost: ")


if __name__ == "__main__":
    harness.main()
