"""An agent killed at each of its steps of making and removing a run's directory: its successor leaves nothing."""

import shutil
import subprocess
import unittest

import harness

# The calls that make, mark, name and remove.
CALLS = ("mkdirat", "renameat2", "unlinkat", "pwrite64", "ftruncate")


class KilledAgent(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        if shutil.which("strace") is None:
            raise unittest.SkipTest("strace is not installed")
        if subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode:
            raise unittest.SkipTest("this machine does not let strace trace")

    def killed_at(self, call, number):
        """A short run with an agent that is killed at this call of its kind; False where it makes no such call."""
        agent = self.agent("alpha", wrap=[
            "strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e",
            f"inject={call}:signal=KILL:when={number}"
        ])
        run = self.start_run("--hosts", agent.address, "--duration", "100ms", "--file-size", "16k", "--num-files", "1")
        run.finish()
        if harness.is_alive(agent.agent_pid):
            self.assertEqual(run.finish(), 0, run.err)
            agent.end()
            return False
        agent.finish()
        return True

    def test_its_successor_removes_what_it_had_begun(self):
        for call in CALLS:
            number = 1
            while self.killed_at(call, number):
                with self.subTest(call=call, number=number):
                    self.agent("alpha").end()
                    self.assert_nothing_left()
                number += 1
            self.assertGreater(number, 1, f"no {call} was ever made: this tests nothing")


if __name__ == "__main__":
    harness.main()
