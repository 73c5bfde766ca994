"""`plimsoll fsck` on hosts of the lab, and what its report says."""

import lab_support
import schema
from lab_support import harness

REQUIREMENTS = ("data_write_integrity", "exclusive_access", "locks_released_on_failure")
TIMESTAMPS = "time.timestamps-against-host-clocks"
# Emulated hosts are slow.
SLOW_S = 700


class FsckTest(lab_support.LabTest):
    hosts = 2

    def check(self, directory, *arguments, code):
        """The report on the directory, of all hosts."""
        process = self.start_plimsoll("fsck", directory, "--hosts", self.addresses(*self.all_hosts()), "--json", "--lease",
                                      "60s", *arguments, wrap=lab_support.IN_LAB)
        ended = process.finish(SLOW_S)
        report = schema.parse(self.result_of(process, None, ended).out, "fsck")
        amiss = {name: reason for outcome in ("fail", "undecided", "unsupported", "not_tested")
                 for name, reason in self.reasons(report, outcome).items()}
        self.assertIn(ended, code if isinstance(code, tuple) else (code,), (amiss, report["notes"]))
        if "--kill-host" in arguments:
            # The host that was killed removes its files when its agent starts.
            harness.wait_until(lambda: self.left(directory) == "", "nothing left", 120)
        self.assertEqual(self.left(directory), "", "nothing is left")
        return report

    def restart_command(self):
        """One program, for no shell runs the command."""
        script = self.base / "restart"
        script.write_text(f"#!/bin/sh\nset -e\n{lab_support.SCRIPT} kill storage\n{lab_support.SCRIPT} start storage\n")
        script.chmod(0o755)
        return ("--restart-server", script)

    def host_commands(self):
        return ("--kill-host", f"{lab_support.SCRIPT} kill {{host}}", "--restore-host", f"{lab_support.SCRIPT} start {{host}}")

    def left(self, directory):
        return self.on("host1", f"ls -d {directory}/plimsoll-* 2>/dev/null; true")

    def verdicts(self, report):
        found = {each["requirement"]: each["verdict"] for each in report["requirements"]}
        return tuple(found[name] for name in REQUIREMENTS)

    def reasons(self, report, outcome):
        return {check["name"]: check["reason"] for check in report["checks"] if check["outcome"] == outcome}
