"""Storage that is too small: refused before anything is written where that can be known, given back where it cannot."""

import pathlib

import harness
import namespaces

# Mounts a file system in memory on $1 with the options $2, for the rest of the command line alone.
MOUNT = 'mount -t tmpfs -o "$2" none "$1" && shift 2 && exec "$@"'
# In memory an agent writes faster than a busy machine records.
PAUSES = ("--delay", "1ms")


class FullDisk(harness.PlimsollTest):

    def mounted(self, options):
        namespaces.need(*namespaces.own_mounts())
        return ["unshare", *namespaces.own_mounts(), "sh", "-c", MOUNT, "sh", str(self.dir), options]

    def test_a_disk_too_small_is_refused_with_the_numbers_before_anything_is_written(self):
        result = self.run_plan("--file-size", "1m", "--num-files", "4", "--min-free", "0", wrap=self.mounted("size=4m"), code=2)
        (line,) = result.errors
        self.assertRegex(line, r"below .* has 4 ?MiB free, the run needs 4 ?MiB \(4,194,304 bytes\)")
        self.assertFalse(result.results.exists())

    def test_a_disk_that_is_just_large_enough_is_taken(self):
        self.run_plan("--file-size", "1m", "--num-files", "3", "--bsize", "64k", "--min-free", "0", *PAUSES,
                      wrap=self.mounted("size=6m"))

    def test_a_run_leaves_free_what_min_free_says(self):
        arguments = ["--file-size", "1m", "--num-files", "3", "--bsize", "64k"]
        result = self.run_plan(*arguments, wrap=self.mounted("size=64m"), code=2)
        self.assertRegex(result.errors[0], r"and leaves 256 MiB free \(--min-free\)")
        self.run_plan(*arguments, "--min-free", "32m", *PAUSES, wrap=self.mounted("size=64m"))
        self.run_plan(*arguments, "--min-free", "62m", wrap=self.mounted("size=64m"), code=2)

    def test_hosts_that_share_a_file_system_unseen_are_summed_before_anything_is_filled(self):
        # Each alone finds room; two mounts of one size and free space count as one file system.
        first, inside = self.agent_on("size=64m")
        second = self.agent("beta", wrap=self.mounted("size=64m"))
        result = self.run_plan("--hosts", f"{first.address},{second.address}", "--file-size", "10m", "--num-files", "4",
                               "--min-free", "1m", code=2)
        self.assertRegex(result.errors[0], r"alpha, beta: the storage that they share \(equal size and free space\)")
        self.assert_nothing_left(inside)

    def agent_on(self, options):
        """An agent on a mount of its own, and a look at what is there from outside."""
        agent = self.agent("alpha", wrap=self.mounted(options))
        return agent, pathlib.Path(f"/proc/{agent.agent_pid}/root{self.dir}")

    def test_a_disk_that_fills_up_while_preparing_is_reported_and_everything_is_given_back(self):
        # Each directory alone finds room for its files: neither the free bytes nor the free inodes tell.
        agent, inside = self.agent_on("size=64m,nr_inodes=20")
        for name in ("a", "b"):
            (inside / name).mkdir()
        arguments = ["--qm", "2", "--num-files", "8", "--min-free", "0"]
        result = self.plimsoll("run", *harness.quick_defaults(arguments), *arguments, "--hosts", agent.address, "--qm-dirs",
                               f"{self.dir}/a,{self.dir}/b", "--out", self.base / "results", code=2)
        self.assertRegex(result.errors[-1], r"^plimsoll: alpha: .*No space left on device")
        self.assertEqual([str(path.relative_to(inside)) for path in sorted(inside.rglob("*"))], ["a", "b"])
        self.assertFalse((self.base / "results").exists())

    def test_too_many_files_for_the_inodes_are_refused_before_anything_is_written(self):
        arguments = ["--num-files", "8", "--min-free", "0"]
        for options in (["--dry-run"], []):
            result = self.run_plan(*arguments, *options, wrap=self.mounted("size=64m,nr_inodes=12"), code=2)
            self.assertRegex(result.errors[0], r": .* has room for 11 more files \(inodes\), the run makes 13 and leaves 0 free: "
                             "lower --num-files")
        self.run_plan(*arguments, *PAUSES, wrap=self.mounted("size=64m,nr_inodes=15"))

    def test_a_limit_on_the_size_of_files_is_reported_and_everything_is_given_back(self):
        agent = self.agent("alpha", wrap=["prlimit", "--fsize=524288"])
        result = self.run_plan("--hosts", agent.address, "--file-size", "1m", code=2)
        self.assertRegex(result.errors[-1], r"^plimsoll: alpha: .*S0000000.LOG.*File too large")
        self.assert_nothing_left()
        self.run_plan("--hosts", agent.address, "--file-size", "256k")


if __name__ == "__main__":
    harness.main()
