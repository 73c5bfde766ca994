"""`plimsoll fsck` on hosts of the lab, and what its report says."""

import json

import lab_support

REQUIREMENTS = ("data_write_integrity", "exclusive_access", "locks_released_on_failure")
# Emulated hosts are slow.
SLOW_S = 400


class FsckTest(lab_support.LabTest):
    hosts = 2

    def check(self, directory, *arguments, code):
        """The report on the directory, of all hosts."""
        process = self.start_plimsoll("fsck", directory, "--hosts", self.addresses(*self.all_hosts()), "--json", "--lease",
                                      "60s", *arguments, wrap=lab_support.IN_LAB)
        ended = process.finish(SLOW_S)
        self.assertIn(ended, code if isinstance(code, tuple) else (code,), process.err)
        report = json.loads(self.result_of(process, None, ended).out)
        self.assertEqual(self.on("host1", f"ls -d {directory}/plimsoll-* 2>/dev/null; true"), "", "nothing is left")
        return report

    def verdicts(self, report):
        found = {each["requirement"]: each["verdict"] for each in report["requirements"]}
        return tuple(found[name] for name in REQUIREMENTS)

    def reasons(self, report, outcome):
        return {check["name"]: check["reason"] for check in report["checks"] if check["outcome"] == outcome}
