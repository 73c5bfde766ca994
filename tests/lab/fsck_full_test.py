"""`plimsoll fsck --level full` with all its checks and commands, on NFSv4.2 between hosts with kernels of their own."""

import json

from fsck_lab import FsckTest, TIMESTAMPS
from lab_support import MQLOG, harness


class Full(FsckTest):

    def test_an_honest_server_passes_every_check_and_every_requirement(self):
        report = self.check(MQLOG, "--level", "full", "--allow-commands", *self.restart_command(), *self.host_commands(),
                            code=0)
        # For whoever reads the test's output.
        for check in report["checks"]:
            print(f"{check['name']} {check['outcome']} {check['duration_ns'] / 1e9:.1f} s: {json.dumps(check['evidence'])}", flush=True)
        # The clocks of emulated hosts are set to a second.
        self.assertLessEqual({check["name"] for check in report["checks"] if check["outcome"] != "pass"}, {TIMESTAMPS})
        self.assertEqual(self.verdicts(report), ("pass", "pass", "pass"))
        self.assertEqual((report["verdict"], report["notes"]), ("pass", []))
        self.assertEqual([each["omitted"] + each["reasons"] for each in report["requirements"]], [[], [], []])


if __name__ == "__main__":
    harness.main()
