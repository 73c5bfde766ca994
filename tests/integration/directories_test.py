"""Queue managers of one host that write in directories of their own: each where it should, and nothing elsewhere or after."""

import os
import pathlib
import signal
import time
import unittest

import harness
import namespaces

# Mounts a file system in memory on $1 with the options $2, and one on $3 with $4, for the rest of the command line alone.
MOUNT = 'mount -t tmpfs -o "$2" none "$1" && mount -t tmpfs -o "$4" none "$3" && shift 4 && exec "$@"'


class Directories(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        self.first, self.second = self.dir / "lun1", self.dir / "lun2"
        self.first.mkdir()
        self.second.mkdir()
        self.both = f"{self.first},{self.second}"

    def start_with(self, *arguments, dirs=None):
        self._results += 1
        out = self.base / f"results-{self._results}"
        # Pauses, since in memory an agent writes faster than a busy machine records.
        process = self.start_plimsoll("run", *harness.quick_defaults(arguments), "--qm-dirs", dirs or self.both, "--out", out,
                                      "--delay", "1ms", "--full", *arguments)
        process.results = out
        return process

    def run_with(self, *arguments, code=0, dirs=None):
        process = self.start_with(*arguments, dirs=dirs)
        process.finish()
        return self.result_of(process, process.results, code)

    def mounted(self, first="size=64m", second="size=48m"):
        namespaces.need(*namespaces.own_mounts())
        return ["unshare", *namespaces.own_mounts(), "sh", "-c", MOUNT, "sh", str(self.first), first, str(self.second), second]

    def agent_on_mounts(self, **options):
        """An agent that has a file system in memory on each directory, and a look at both from outside."""
        agent = self.agent("alpha", wrap=self.mounted(**options))
        root = pathlib.Path(f"/proc/{agent.agent_pid}/root")
        return agent, [root / self.first.relative_to("/"), root / self.second.relative_to("/")]

    def assert_both_empty(self, places):
        for place in places:
            self.assert_nothing_left(place)

    def test_each_queue_manager_writes_in_its_own_directory_and_nothing_stays_in_any(self):
        agent, places = self.agent_on_mounts()
        process = self.start_with("--hosts", agent.address, "--duration", "6s", "--min-free", "0", "--num-files", "2")
        self.await_running(process)
        found = [[str(path.relative_to(place)).split("/", 2)[2] for path in harness.paths(place, "plimsoll-*/alpha/**/*.LOG")]
                 for place in places]
        self.assertEqual(found, [[f"qm{qm}/active/S000000{number}.LOG" for number in range(2)] for qm in (1, 2)])
        process.finish()
        run = self.result_of(process, process.results)
        (host,) = run.report["hosts"]
        self.assertEqual(host["workload"]["qm_dirs"], [str(self.first), str(self.second)])
        self.assertEqual(host["workload"]["qm"], 2)
        (more,) = host["more_mounts"]
        for mount, directory, megabytes in ((host["mount"], self.first, 64), (more, self.second, 48)):
            self.assertTrue(mount["directory"].startswith(f"{directory}/plimsoll-"), mount)
            self.assertEqual((mount["mount_point"], mount["fs_type"]), (str(directory), "tmpfs"))
            self.assertEqual(mount["total_bytes"], megabytes << 20)
            self.assertIn("O_DSYNC", mount["open_flags"])
        writers = harness.scopes(run.report["steps"][0], "qm")
        self.assertEqual([scope["qm"] for scope in writers], [1, 2])
        self.assertTrue(all(scope["writes"] > 0 for scope in writers))
        self.assertRegex(" ".join(run.out.split()), rf"Directories --qm-dirs {self.first} \(qm1\), {self.second} \(qm2\)")
        self.assertRegex(run.err, rf"{self.second}: .*memory")
        self.assert_both_empty(places)

    def test_queue_managers_may_share_one_of_the_directories(self):
        run = self.run_with("--num-files", "1", dirs=f"{self.both},{self.first}")
        (host,) = run.report["hosts"]
        self.assertEqual((host["workload"]["qm"], len(host["more_mounts"])), (3, 1))
        self.assertRegex(" ".join(run.out.split()), rf"--qm-dirs {self.first} \(qm1, qm3\), {self.second} \(qm2\)")
        self.assert_both_empty([self.first, self.second])

    def test_a_directory_that_cannot_be_used_is_refused_by_its_name_and_the_others_stay_empty(self):
        agent = self.agent("alpha")
        outside = self.base / "outside"
        outside.mkdir()
        link = self.dir / "link"
        link.symlink_to(self.second)
        for wrong, words in ((self.dir / "missing", "does not exist"), (outside, "is outside the directories of the agent's --root"),
                             (link, "link"), (f"{self.first}/", "is the same directory as")):
            with self.subTest(wrong=wrong):
                result = self.run_with("--hosts", agent.address, dirs=f"{self.first},{wrong}", code=2)
                line = result.errors[-1]
                self.assertIn(str(wrong).rstrip("/"), line)
                self.assertIn(words, line)
                self.assertFalse(result.results.exists())
                self.assert_both_empty([self.first, self.second])

    def test_a_file_system_too_small_for_its_queue_manager_is_refused_and_named(self):
        agent, places = self.agent_on_mounts(second="size=2m")
        result = self.run_with("--hosts", agent.address, "--file-size", "1m", "--num-files", "3", "--min-free", "0", code=2)
        (line,) = result.errors
        self.assertIn(f"the storage below {self.second} has 2 MiB free, the run needs 3 MiB", line)
        self.assertNotIn(str(self.first), line)
        self.assert_both_empty(places)

    def test_file_systems_of_equal_size_in_memory_are_not_taken_for_one(self):
        agent, places = self.agent_on_mounts(first="size=4m", second="size=4m")
        self.run_with("--hosts", agent.address, "--file-size", "1m", "--num-files", "2", "--min-free", "0")
        self.assert_both_empty(places)

    def test_of_two_hosts_with_equal_file_systems_one_of_each_may_be_one(self):
        agents = [self.agent(name, wrap=self.mounted("size=6m", "size=6m")) for name in ("alpha", "beta")]
        arguments = ["--hosts", ",".join(agent.address for agent in agents), "--file-size", "1m", "--min-free", "0", "--num-files"]
        self.run_with(*arguments, "2")
        (line,) = self.run_with(*arguments, "3", code=2).errors
        self.assertIn("alpha, beta: the storage that they share (equal size and free space)", line)
        self.assertIn("has 6 MiB free, the run needs 6 MiB", line)
        self.assertTrue(line.endswith("if these are different file systems, create a file of another size on one of them"), line)

    def test_directories_of_one_file_system_are_summed(self):
        inside = self.first
        one, two = inside / "a", inside / "b"
        agent, places = self.agent_on_mounts(first="size=5m")
        for place in (places[0] / "a", places[0] / "b"):
            place.mkdir()
        arguments = ["--hosts", agent.address, "--file-size", "1m", "--num-files", "3", "--min-free", "0"]
        result = self.run_with(*arguments, dirs=f"{one},{two}", code=2)
        (line,) = result.errors
        self.assertIn(f"the storage of several directories (one device of one kernel) below {one}, {two} has 5 MiB free, "
                      "the run needs 6 MiB", line)
        self.run_with(*arguments, dirs=f"{one},{self.second}")
        self.assertEqual(harness.paths(places[0]), [places[0] / "a", places[0] / "b"])

    def test_a_directory_with_too_few_inodes_is_named_and_nothing_is_left_in_any(self):
        agent, places = self.agent_on_mounts(second="size=64m,nr_inodes=9")
        result = self.run_with("--hosts", agent.address, "--num-files", "8", "--min-free", "0", code=2)
        self.assertRegex(result.errors[-1], rf"{self.second} has room for 8 more files \(inodes\), the run makes 13 ")
        self.assert_both_empty(places)

    def test_the_successor_of_a_killed_agent_cleans_every_directory(self):
        # One root for each, as a host with a mount for each has them.
        more = ["--root", self.second]
        agent = self.agent("alpha", root=self.first, more=more)
        process = self.start_with("--hosts", agent.address, "--duration", "30s")
        self.await_running(process)
        agent.signal(signal.SIGKILL)
        process.finish()
        for directory in (self.first, self.second):
            self.assertTrue(harness.paths(directory, "plimsoll-*/alpha/**/*.LOG"), "this tests nothing")
        self.assertRegex(" ".join(process.out.split()), rf"to remove them, run there: .*{self.first} .*{self.second}")
        self.agent("alpha", root=self.first, more=more)
        self.assert_both_empty([self.first, self.second])

    def test_a_lost_lease_and_an_interrupt_empty_every_directory(self):
        agent = self.agent("alpha")
        process = self.start_with("--hosts", agent.address, "--duration", "30s", "--lease", "3s")
        self.await_running(process)
        process.signal(signal.SIGKILL)
        for directory in (self.first, self.second):
            self.await_nothing_left(directory)
        process = self.start_with("--hosts", agent.address, "--duration", "30s")
        self.await_running(process)
        process.signal(signal.SIGINT)
        process.finish()
        self.assert_both_empty([self.first, self.second])

    def test_what_others_have_there_is_not_touched(self):
        for directory in (self.first, self.second):
            (directory / "S0000000.LOG").write_text("a live log")
        self.run_with()
        for directory in (self.first, self.second):
            self.assertEqual(harness.paths(directory), [directory / "S0000000.LOG"])
            self.assertEqual((directory / "S0000000.LOG").read_text(), "a live log")

    def test_kept_files_are_named_in_every_directory_and_can_be_cleaned(self):
        run = self.run_with("--keep-files")
        for directory in (self.first, self.second):
            self.assertRegex(run.out, rf"Files kept in {directory}/plimsoll-[0-9a-f]+/")
            self.assertTrue(harness.paths(directory, "plimsoll-*/*/qm*/active/S0000000.LOG"))
        for line in run.out.splitlines():
            if line.startswith("Remove them with: plimsoll "):
                self.plimsoll(*line.removeprefix("Remove them with: plimsoll ").split())
        self.assert_both_empty([self.first, self.second])

    def test_results_beside_any_of_the_directories_are_warned_of(self):
        memory = pathlib.Path("/dev/shm")
        if not os.access(memory, os.W_OK) or memory.stat().st_dev == self.base.stat().st_dev:
            raise unittest.SkipTest("there is no second file system to write in")
        elsewhere = memory / f"plimsoll-test-{os.getpid()}-{time.monotonic_ns()}"
        elsewhere.mkdir()
        self.addCleanup(elsewhere.rmdir)
        run = self.run_with(dirs=f"{elsewhere},{self.second}")
        self.assertIn(f"are on the file system under test ({self.second})", run.err)
        self.assertNotIn(f"under test ({elsewhere})", run.err)
        self.assert_both_empty([elsewhere, self.second])

    def test_dry_run_and_plan_check_show_each_directory_with_its_space(self):
        plan = self.base / "plan.yaml"
        plan.write_text(f"workload: {{qm_dirs: ['{self.first}', '{self.second}', '{self.second}'], file_size: 256k}}\n")
        dry = self.plimsoll("run", plan, "--dry-run").out
        self.assertRegex(dry, rf"(?m){self.first} +1 +3 +768 KiB$")
        self.assertRegex(dry, rf"(?m){self.second} +2 +6 +1.5 MiB$")
        checked = self.plimsoll("plan", "check", plan).out
        self.assertIn("is valid: this machine, 3 queue managers", checked)
        self.assertIn(f"  {self.first}: 768 KiB for 1 queue manager\n  {self.second}: 1.5 MiB for 2 queue managers\n", checked)
        # One directory stands in place of all; as many queue managers remain.
        dry = self.plimsoll("run", plan, "--dir", self.first, "--dry-run").out
        self.assertRegex(dry, rf"(?m){self.first} +3 +9 +2,304 KiB$")

    def test_runs_with_several_directories_are_not_compared(self):
        runs = [self.run_with().results for _ in range(2)]
        (line,) = self.plimsoll("compare", *runs, code=2).errors
        self.assertIn("not comparable: its queue managers wrote in several directories (--qm-dirs)", line)
        (line,) = self.plimsoll("ab", "--vary", "sync=dsync,fdatasync", "--qm-dirs", self.both, code=2).errors
        self.assertIn("measure each directory by itself, with --dir", line)
        self.assert_both_empty([self.first, self.second])

    def test_wrong_directories_of_a_plan_are_refused_with_their_line(self):
        plan = self.base / "plan.yaml"

        def refused(workload, more=""):
            plan.write_text(f"workload:\n{workload}\n{more}")
            return self.plimsoll("plan", "check", plan, code=2).errors

        (line,) = refused("  qm: 3\n  qm_dirs: [/a, /b]")
        self.assertEqual(line, f"plimsoll: {plan}:3: --qm-dirs (workload.qm_dirs) lists 2 directories, and --qm (workload.qm) is "
                         "3: list one for each queue manager, or leave qm out")
        (line,) = refused("  qm_dirs: [/a, b]")
        self.assertEqual(line, f"plimsoll: {plan}:2: --qm-dirs (workload.qm_dirs): 'b' is not absolute: begin it with '/'")
        (line,) = refused("  dir: /a\n  qm_dirs: [/a, /b]")
        self.assertIn(f"{plan}:3: --qm-dirs (workload.qm_dirs) and --dir (workload.dir) are both given", line)
        (line,) = refused("  qm_dirs: [/a, /b]", "criteria: [p99<1s]\nlimit: {over: qm}\n")
        self.assertIn(f"{plan}:2: --qm-dirs (workload.qm_dirs): a search over the number of queue managers", line)
        (line,) = refused("  qm_dirs: [/a, /b]", "criteria: [p99<1s, max<1s]\naccept: {}\nduration: 60s\n")
        self.assertIn(f"{plan}:2: --qm-dirs (workload.qm_dirs): an acceptance is of one directory", line)
        (line,) = refused("  qm_dirs: [/a, /b]", "ha: {pairs: [node1+node2]}\n")
        self.assertIn(f"{plan}:2: --qm-dirs (workload.qm_dirs): a drill writes below one directory", line)
        for name in ("/a/", "/a/.", "//a", "/a/../a"):
            (line,) = refused(f"  qm_dirs: [/a, /b, {name}]")
            self.assertEqual(line, f"plimsoll: {plan}:2: --qm-dirs (workload.qm_dirs): '{name}' is the same directory as '/a': give "
                             "it one name")
        (line,) = refused("  qm_dirs: [/a, '']")
        self.assertEqual(line, f"plimsoll: {plan}:2: --qm-dirs (workload.qm_dirs): entry 2 is empty: name a directory for each queue "
                         "manager")
        (line,) = refused("  qm_dirs: [" + ", ".join(f"/d{number}" for number in range(65)) + "]")
        self.assertIn("65 different directories; a host writes in at most 64", line)

    def test_options_that_contradict_one_another_are_refused_by_name(self):
        result = self.plimsoll("run", "--dir", self.first, "--qm-dirs", self.both, code=2)
        self.assertIn("--dir and --qm-dirs are both given", result.err)
        for dirs, number in ((f"{self.first},", 2), (f",{self.first}", 1)):
            result = self.plimsoll("run", "--qm-dirs", dirs, code=2)
            self.assertEqual(result.errors, [f"plimsoll: --qm-dirs (workload.qm_dirs): entry {number} is empty: name a directory for "
                                             "each queue manager"])
        result = self.plimsoll("run", "--qm-dirs", f"{self.first},{self.dir / 'missing'}", code=2)
        self.assertIn(f"--qm-dirs: {self.dir / 'missing'} does not exist", result.err)


if __name__ == "__main__":
    harness.main()
