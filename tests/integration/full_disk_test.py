"""Storage that is too small: refused before anything is written where that can be known, given back where it cannot."""

import pathlib

import harness
import namespaces

# Mounts a file system in memory on $1 with the options $2, for the rest of the command line alone.
MOUNT = 'mount -t tmpfs -o "$2" none "$1" && shift 2 && exec "$@"'


class FullDisk(harness.PlimsollTest):

    def mounted(self, options):
        namespaces.need("--mount")
        return ["unshare", "--mount", "sh", "-c", MOUNT, "sh", str(self.dir), options]

    def test_a_disk_too_small_is_refused_with_the_numbers_before_anything_is_written(self):
        result = self.run_plan("--file-size", "1m", "--num-files", "4", wrap=self.mounted("size=4m"), code=2)
        (line,) = result.errors
        self.assertRegex(line, r"below .* has 4 ?MiB free, the run needs 4 ?MiB \(4,194,304 bytes\)")
        self.assertFalse(result.results.exists())

    def test_a_disk_that_is_just_large_enough_is_taken(self):
        self.run_plan("--file-size", "1m", "--num-files", "3", "--bsize", "64k", wrap=self.mounted("size=5m"))

    def agent_on(self, options):
        """An agent on a mount of its own, and a look at what is there from outside."""
        agent = self.agent("alpha", wrap=self.mounted(options))
        return agent, pathlib.Path(f"/proc/{agent.agent_pid}/root{self.dir}")

    def test_a_disk_that_fills_up_while_preparing_is_told_and_everything_is_given_back(self):
        # Two files and their directories find room, the third does not: the free bytes do not tell.
        agent, inside = self.agent_on("size=64m,nr_inodes=9")
        result = self.run_plan("--hosts", agent.address, "--num-files", "8", code=2)
        self.assertRegex(result.errors[-1], r"^plimsoll: alpha: .*No space left on device")
        self.assert_nothing_left(inside)
        self.assertFalse(result.results.exists())

    def test_a_limit_on_the_size_of_files_is_told_and_everything_is_given_back(self):
        agent = self.agent("alpha", wrap=["prlimit", "--fsize=524288"])
        result = self.run_plan("--hosts", agent.address, "--file-size", "1m", code=2)
        self.assertRegex(result.errors[-1], r"^plimsoll: alpha: .*S0000000.LOG.*File too large")
        self.assert_nothing_left()
        self.run_plan("--hosts", agent.address, "--file-size", "256k")


if __name__ == "__main__":
    harness.main()
