"""`plimsoll storage` tells what lies under a directory, and changes nothing."""

import os
import pathlib
import tempfile
import unittest

import harness


class Storage(harness.PlimsollTest):

    def mount_of(self, directory):
        """Type and source of the file system below it, by the longest mount point above."""
        best = ("", "", "")
        for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
            fields = line.split()
            dash = fields.index("-")
            point = fields[4]
            if os.path.commonpath([point, directory]) == point and len(point) >= len(best[0]):
                best = (point, fields[dash + 1], fields[dash + 2])
        return best

    def test_an_agent_is_started_where_none_is_named_and_leaves_nothing(self):
        text = self.plimsoll("storage", self.dir).out
        point, fs_type, source = self.mount_of(str(self.dir))
        self.assertIn(f"directory        {self.dir}\n", text)
        if point:
            self.assertIn(f"file system      {fs_type} from {source}, mounted on {point}\n", text)
        else:
            # The root directory is no mount point, as in some containers.
            self.assertRegex(text, r"(?m)^  file system      \w+; its device and mount point are outside the agent's root directory$")
        self.assertNotRegex(text, r"(?m)from ,|mounted on *$|^  mount options *$")
        self.assert_nothing_left()

    def test_each_agent_is_asked(self):
        agents = [self.agent(name) for name in ("alpha", "beta")]
        text = self.plimsoll("storage", self.dir, "--hosts", ",".join(agent.address for agent in agents)).out
        self.assertEqual(text.splitlines()[0], "alpha,beta")
        self.assertEqual(text.count("  file system "), 1, "they are alike: one machine, one directory")

    def test_memory_is_no_place_for_a_log(self):
        if not os.access("/dev/shm", os.W_OK) or self.mount_of("/dev/shm")[1] != "tmpfs":
            raise unittest.SkipTest("/dev/shm is no tmpfs")
        with tempfile.TemporaryDirectory(prefix="plimsoll-test-", dir="/dev/shm") as directory:
            self.assertRegex(self.plimsoll("storage", directory).out, r"PROBLEM +tmpfs keeps data in memory: .*\[tmpfs\(5\)\]")

    def test_what_cannot_be_shown_names_the_cause(self):
        missing = self.dir / "missing"
        self.assertRegex(self.plimsoll("storage", missing, code=2).err, rf"^plimsoll: .*{missing} does not exist")
        self.assertRegex(self.plimsoll("storage", self.dir, "--bsize", "64q", code=2).err, r"^plimsoll: --bsize 64q: a size")
        self.assertRegex(self.plimsoll("storage", self.dir, "--hosts", "127.0.0.1:1", code=4).err, r"^plimsoll: 127.0.0.1:1: connection refused")
        agent = self.agent("alpha")
        self.assertRegex(self.plimsoll("storage", "/proc", "--hosts", agent.address, code=2).err, r"^plimsoll: alpha: DIR: ")


if __name__ == "__main__":
    harness.main()
