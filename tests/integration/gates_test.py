""".ci/run runs every gate, fails where any of them failed, and names those that its time did not allow, with stand-ins for the scripts that it calls."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
GATES = ["slow", "format", "release", "lab_smoke", "asan", "fuzz", "tsan", "clang", "tidy"]
# Long enough for a busy machine to reach a gate and read what it prints.
CUT_S = 6
CLOSING = "100% tests passed, 0 tests failed out of 3"


class Gates(unittest.TestCase):

    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="plimsoll-test-")
        self.addCleanup(place.cleanup)
        self.tree = pathlib.Path(place.name)
        (self.tree / ".ci").mkdir()
        (self.tree / "scripts").mkdir()
        shutil.copy(TREE / ".ci" / "run", self.tree / ".ci" / "run")
        self.git("init", "-q")
        self.commit()

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.tree, "-c", "user.name=a", "-c", "user.email=a@localhost", *arguments], check=True)

    def commit(self):
        self.git("commit", "-q", "--allow-empty", "-m", "one more")

    def script(self, name, text):
        path = self.tree / "scripts" / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)

    def run_gates(self, gates="", test=f"echo '{CLOSING}'", limit_s=4200):
        """Exit code, gates in the order in which they ran, and the verdict of each."""
        self.script("test", test)
        self.script("check", 'for name; do :; done\necho "$*" >>order\n' + f'case "$name" in {gates} esac\n')
        (self.tree / "order").write_text("")
        done = subprocess.run(["bash", ".ci/run"], cwd=self.tree, capture_output=True, text=True, check=False, timeout=120,
                              env={**os.environ, "PLIMSOLL_CI_LIMIT_S": str(limit_s)})
        self.lines = done.stdout.splitlines()
        verdicts = {}
        for line in self.lines:
            if found := re.fullmatch(r"gate (\w+) +\d+ s  (.*)", line):
                verdicts[found[1]] = found[2]
        return done.returncode, (self.tree / "order").read_text().splitlines(), verdicts

    def test_every_gate_runs_and_the_last_lines_have_each_after_the_closing_line_of_ctest(self):
        code, order, verdicts = self.run_gates()
        self.assertEqual(code, 0)
        self.assertEqual(sorted(order), sorted([*(GATES[:-2]), "--changed clang", "--changed tidy"]))
        self.assertEqual(verdicts, dict.fromkeys(["test", *GATES], "passed"))
        self.assertEqual(self.lines[-len(GATES) - 2], CLOSING)
        self.assertTrue(all(line.startswith("gate ") for line in self.lines[-len(GATES) - 1:]))

    def test_a_failure_fails_the_run_and_the_gates_after_it_still_run(self):
        for failing in ["slow", "tidy"]:
            code, order, verdicts = self.run_gates(f"{failing}) exit 1 ;;")
            self.assertEqual((code, len(order), verdicts[failing]), (1, len(GATES), "FAILED"))
        code, order, verdicts = self.run_gates(test="exit 1")
        self.assertEqual((code, len(order), verdicts["test"]), (1, len(GATES), "FAILED"))

    def test_a_gate_that_is_cut_off_is_not_run_and_never_passed(self):
        code, order, verdicts = self.run_gates("*) exec tail -f /dev/null ;;", limit_s=1)
        self.assertEqual((code, len(order), verdicts.pop("test")), (0, 1, "passed"))
        self.assertEqual(len(verdicts), len(GATES))
        self.assertTrue(all(verdict.startswith("not run") for verdict in verdicts.values()), verdicts)

    def test_a_gate_that_is_cut_off_after_a_failure_fails_the_run(self):
        for line in [" 3/120 Test   #3: histogram_test .......***Failed    0.11 sec", "FAILED: common/text.cc.o",
                     "text.cc:3:1: error: unknown type name 'strin'", "4/9 Test #7: a_test ....Subprocess aborted***Exception:   1.02 sec",
                     "5/9 Test #8: b_test ....***Timeout 300.01 sec"]:
            code, _, verdicts = self.run_gates(f"*) echo '{line}'; exec tail -f /dev/null ;;", limit_s=CUT_S)
            self.assertEqual(code, 1, line)
            self.assertIn("FAILED, then cut off", verdicts.values())
        # A test that was skipped, or passed, is none; nor is what a compiler reports that was ended with the gate.
        code, _, _ = self.run_gates("*) trap 'echo \"clang++: error: unable to execute command: Terminated\"; exit 1' TERM; tail -f /dev/null & wait ;;",
                                    limit_s=CUT_S)
        self.assertEqual(code, 0)
        code, _, _ = self.run_gates("*) echo '3/9 Test #3: a ...***Skipped 0.1 sec'; echo '4/9 Test #4: error_test ... Passed'; exec tail -f /dev/null ;;", limit_s=CUT_S)
        self.assertEqual(code, 0)

    def test_a_gate_that_is_killed_before_the_time_is_over_has_failed(self):
        code, _, verdicts = self.run_gates("tsan) kill -9 $$ ;;")
        self.assertEqual((code, verdicts["tsan"]), (1, "FAILED"))

    def test_the_order_rotates_with_the_commits_so_that_each_gate_comes_first_once(self):
        first = set()
        for _ in range(8):
            _, order, _ = self.run_gates()
            first.add(order[0].split()[-1])
            self.assertEqual(order.index("fuzz"), order.index("asan") + 1)
            self.commit()
        self.assertEqual(first, {"slow", "format", "release", "lab_smoke", "asan", "tsan", "clang", "tidy"})


if __name__ == "__main__":
    unittest.main()
