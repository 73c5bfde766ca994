"""Wrong input: exit code 2, one clear line, and nothing is touched."""

import os
import re
import shutil
import subprocess
import unittest

import harness


class BadInput(harness.PlimsollTest):

    def refused(self, *arguments, lines=1, wrap=(), prefix="plimsoll: "):
        """Runs plimsoll with something wrong; returns the lines that it says, any number of them where `lines` is None."""
        before = sorted(self.base.rglob("*"))
        result = self.plimsoll(*arguments, code=2, wrap=wrap)
        self.assertEqual(result.out, "", result)
        if lines is not None:
            self.assertEqual(len(result.errors), lines, result)
        for line in result.errors:
            self.assertTrue(line.startswith(prefix), result)
        self.assertEqual(sorted(self.base.rglob("*")), before, "something was made or removed")
        return result.err.strip() if lines == 1 else result.errors

    def run_refused(self, *arguments, **more):
        return self.refused("run", "--dir", more.pop("dir", self.dir), *arguments, **more)

    def test_values_that_options_do_not_take(self):
        for arguments, words in (
            (["--file-size", "64q"], ["--file-size", "64q"]),
            (["--bsize", "4k,64q"], ["--bsize", "64q"]),
            (["--bsize", ""], ["--bsize"]),
            (["--bsize", "100"], ["--bsize", "100", "512"]),
            (["--duration", "0"], ["--duration", "100ms"]),
            (["--duration", "-1"], ["--duration", "-1"]),
            (["--duration", "nan"], ["--duration", "nan"]),
            (["--qm", "0"], ["--qm", "0", "1", "4096"]),
            (["--qm", "-1"], ["--qm", "-1"]),
            (["--qm", "1.5"], ["--qm", "1.5"]),
            (["--qm", "99999999999999999999"], ["--qm", "99999999999999999999"]),
            (["--num-files", "512"], ["--num-files", "512", "511"]),
            (["--sync", "sometimes"], ["--sync", "sometimes", "dsync"]),
            (["--direct", "maybe"], ["--direct", "maybe", "auto"]),
            (["--lease", "500ms"], ["--lease", "1s"]),
            (["--file-prefix", "../../etc/x"], ["--file-prefix", "../../etc/x"]),
            (["--require", "p99<10"], ["--require", "p99<10"]),
            (["--require", "speed>1"], ["--require", "speed"]),
            (["--hosts", "node[4-1]"], ["--hosts", "node[4-1]"]),
            (["--hosts", "node:99999"], ["--hosts", "node:99999"]),
        ):
            with self.subTest(arguments=arguments):
                line = self.run_refused(*arguments)
                for word in words:
                    self.assertIn(word, line)

    def test_criteria_that_no_run_of_the_plan_could_decide(self):
        plan = self.base / "plan.yaml"
        plan.write_text(f"workload: {{dir: {self.dir}}}\n")
        for criterion, more, words in (
            ("p99>10ms", (), "did you mean 'p99<10ms'?"),
            ("iops:2000", ("--require", "iops<=2000"), "did you mean 'iops>=2000'?"),
            ("hosts>=5", (), "asks for more hosts than there are (1)"),
            ("p99.99<1s", ("--rate", "10", "--duration", "3s"), "30 writes at 10 a second, and it needs 100000"),
            ("p99.99:1s", ("--delay", "100ms", "--duration", "3s"), "30 writes at 10 a second, and it needs 100000"),
            ("steady", ("--duration", "3s"), "--duration (duration) 3s is too short to be steady"),
            ("fairness:0.9", (), "compares queue managers, and there is one"),
            ("not_issued:0", (), "is about a target rate, and there is none"),
            ("longest_stall:50ms", (), "require stalls==0"),
        ):
            for command in (("run", "--dir", self.dir), ("run", "--dry-run", "--dir", self.dir), ("plan", "check", plan),
                            ("ab", "--vary", "sync=dsync,none", "--dir", self.dir),
                            ("accept", "--parts", "load", "--dir", self.dir)):
                with self.subTest(criterion=criterion, command=command):
                    # An acceptance requires its load to be steady; a search takes latencies and stalls.
                    lines = self.refused(*command, "--require", criterion, *more, lines=None)
                    self.assertTrue(any(words in line for line in lines), lines)
                    if command[0] != "accept":
                        self.assertEqual(len(lines), 1, lines)
        self.assertIn("did you mean 'max<1s'?", self.refused("limit", "--dir", self.dir, "--require", "max>1s"))
        self.assertIn("--toggle 2s is too short to be steady", self.refused(
            "ab", "--dir", self.dir, "--toggle", "2s", "--between", "true", "--allow-commands", "--require", "steady"))
        drill = ("ha", "--pairs", "a+b", "--dir", "/mnt")
        self.assertIn("did you mean 'takeover_max<30s'?", self.refused(*drill, "--require", "takeover_max>30s"))
        self.assertIn("none of the faults makes a standby take over",
                      self.refused(*drill, "--fault", "hang", "--require", "takeover_max:30s"))

    def test_a_plan_of_another_command_is_named_with_its_own(self):
        host = "{address: a}"
        kinds = {"ha": "ha: {pairs: [a+b]}\ncriteria: [lost:0]", "limit": "limit: {over: qm}\ncriteria: [p99:1s]\nblock_size: [4k, 8k]",
                 "accept": "accept: {runs: 1}\nlimit: {}", "restart-time": "restart_time: {}", "run": f"placement: [{{qm: A, home: a}}]\nhosts: [{host}]"}
        for kind, text in kinds.items():
            plan = self.base / f"{kind}.yaml"
            # With a mistake that is the other command's to find.
            plan.write_text(f"workload: {{dir: none, file_size: 5000}}\n{text}\n")
        for command, taken in (("run", "run"), ("limit", "limit"), ("ha", "ha"), ("accept", "accept limit run")):
            for kind in kinds:
                with self.subTest(command=command, kind=kind):
                    lines = self.refused(command, self.base / f"{kind}.yaml", lines=None)
                    ours = f"plimsoll: {self.base}/{kind}.yaml is the plan of "
                    self.assertEqual(lines[0].startswith(ours) and lines[0].endswith(f": run it with `plimsoll {kind}`"),
                                     kind not in taken.split(), lines)
                    if kind not in taken.split():
                        self.assertEqual(len(lines), 1, lines)

    def test_a_file_where_a_directory_is_wanted(self):
        file = self.base / "pl.yaml"
        file.write_text("name: x\n")
        for command in (("storage", file), ("fsck", file)):
            self.assertEqual(self.refused(*command), f"plimsoll: DIR: {file} is not a directory; pass another DIR")
        for command in (("clean",), ("run",), ("limit", "--require", "p99:1s"),
                        ("accept", "--require", "p99:1s", "--require", "max:1s")):
            line = self.refused(*command, "--dir", file)
            self.assertEqual(line, f"plimsoll: --dir: {file} is not a directory; pass another --dir")
        # And the other way round.
        for command in (("run",), ("plan", "check"), ("limit",), ("accept",), ("ha",)):
            self.assertRegex(self.refused(*command, self.dir), rf"^plimsoll: {self.dir}.* is a directory")

    def test_a_value_behind_a_blank_and_one_that_is_there_twice(self):
        plan = self.base / "plan.yaml"
        plan.write_text(f"workload: {{dir: {self.dir}}}\nduration: 10s\n")
        out = self.plimsoll("plan", "check", plan, "--until-steady", "10m").out
        self.assertEqual(out, self.plimsoll("plan", "check", plan, "--until-steady=10m").out)
        self.assertIn("at most 12m of writing", out)
        self.assertEqual(self.run_refused("--until-steady", "5m", "--until-steady=6m"),
                         "plimsoll: --until-steady was given twice: give it once")
        self.assertEqual(self.run_refused("--duration", "1", "--duration", "2"),
                         "plimsoll: --duration was given twice: give it once")
        self.assertEqual(self.refused("run", "--dir", "--hosts", "node1"), "plimsoll: --dir needs a value: DIR")

    def test_options_and_commands_that_there_are_not(self):
        self.assertEqual(self.run_refused("--filesize", "1m"),
                         "plimsoll: unknown option '--filesize'; did you mean --fileSize?")
        self.assertIn("unknown option '--frobnicate'", self.run_refused("--frobnicate"))
        self.assertIn("unknown command 'rum'; did you mean run?", self.refused("rum"))
        self.assertIn("unknown command 'chek'; did you mean check?", self.refused("plan", "chek"))
        self.assertIn("no command", self.refused())
        self.assertIn("--qm", self.run_refused("--qm"))

    def test_results_that_are_no_regular_files(self):
        link = self.base / "endless.json"
        link.symlink_to("/dev/zero")
        results, report = self.base / "results", self.base / "report"
        for directory, name in ((results, "journal"), (report, "report.json")):
            directory.mkdir()
            (directory / name).symlink_to("/dev/zero")
        for arguments in (("compare", link, link), ("compare", results, results), ("compare", report, report),
                          ("report", results), ("export", results, "--format", "csv")):
            with self.subTest(arguments=arguments):
                self.assertIn("is not a regular file", self.refused(*arguments))

    def test_a_run_needs_a_directory(self):
        self.assertIn("--dir", self.refused("run"))

    def test_a_block_larger_than_the_extent(self):
        line = self.run_refused("--bsize", "128k", "--file-size", "64k")
        self.assertIn("--bsize", line)
        self.assertRegex(line, r"128 ?[kK]i?B?|131,?072")
        self.assertRegex(line, r"64 ?[kK]i?B?|65,?536")

    def test_an_unknown_key_of_a_plan_is_named_with_its_place(self):
        plan = self.base / "plan.yaml"
        plan.write_text("duration: 1s\nworkload:\n  dir: /tmp\n  blocksize: 4k\n")
        self.assertRegex(self.refused("run", plan), rf"^plimsoll: {plan}:4:3: .*blocksize")
        self.assertRegex(self.refused("plan", "check", plan), rf"^plimsoll: {plan}:4:3: .*blocksize")

    def test_a_wrong_value_in_a_plan_is_named_with_its_place(self):
        plan = self.base / "plan.yaml"
        for text, place, words in (
            ("workload:\n  dir: /tmp\n  qm: many\n", "3:7", ["qm", "many"]),
            ("workload:\n  dir: /tmp\n  qm: 0\n", "3:7", ["qm", "from 1 to 4096"]),
            ("workload:\n  dir: /tmp\nduration: [1s]\n", "3:11", ["duration"]),
            ("workload:\n  dir: /tmp\n dir: /tmp\n", "3:", []),
        ):
            with self.subTest(text=text):
                plan.write_text(text)
                line = self.refused("plan", "check", plan)
                self.assertTrue(line.startswith(f"plimsoll: {plan}:{place}"), line)
                for word in words:
                    self.assertIn(word, line)

    def test_a_plan_that_is_not_there(self):
        self.assertIn("missing.yaml does not exist; `plimsoll plan example` prints a plan", self.refused("run", self.base / "missing.yaml"))

    def test_a_directory_that_is_not_there(self):
        line = self.run_refused(dir=self.dir / "missing")
        self.assertIn(f"--dir: {self.dir}/missing does not exist", line)

    def test_a_directory_that_is_a_file(self):
        path = self.dir / "file"
        path.write_text("")
        self.assertRegex(self.run_refused(dir=path), f"--dir: {path} is not a directory; pass another --dir$")

    def test_more_bytes_than_are_free_are_reported_with_the_numbers(self):
        info = os.statvfs(self.dir)
        size = (info.f_bavail * info.f_frsize * 2) // 3 // 4096 * 4096
        line = self.run_refused("--qm", "2", "--num-files", "1", "--file-size", str(size), "--min-free", "0")
        self.assertIn(f"({2 * size:,} bytes)", line)
        self.assertRegex(line, r"has [\d.]+ \w+ free, the run needs [\d.]+ \w+ ")

    def test_the_bytes_of_hosts_that_share_a_storage_are_summed(self):
        info = os.statvfs(self.dir)
        size = (info.f_bavail * info.f_frsize * 2) // 3 // 4096 * 4096
        alpha, beta = self.agent("alpha"), self.agent("beta")
        more = ["--num-files", "1", "--file-size", str(size), "--min-free", "0"]
        self.plimsoll("run", "--dir", self.dir, "--hosts", alpha.address, "--dry-run", *more)
        line = self.run_refused("--hosts", f"{alpha.address},{beta.address}", *more)
        self.assertIn("alpha, beta: the storage that they share", line)
        self.assertIn(f"({2 * size:,} bytes)", line)

    def test_a_block_that_direct_writes_cannot_take(self):
        if subprocess.run(["stat", "-f", "-c", "%T", self.dir], capture_output=True, text=True,
                          check=True).stdout.strip() not in ("ext2/ext3", "xfs"):
            raise unittest.SkipTest("the temporary directory is on neither ext4 nor xfs")
        line = self.run_refused("--bsize", "5000")
        self.assertRegex(line, r"--bsize 5000 is not a multiple of the \d+-byte block of .*--direct off")
        self.run_plan("--bsize", "5000", "--direct", "off")

    def test_a_directory_outside_of_the_agents_root(self):
        alpha, beta = self.agent("alpha"), self.agent("beta")
        lines = self.run_refused("--hosts", f"{alpha.address},{beta.address}", dir="/usr", lines=2)
        for name, line in zip(("alpha", "beta"), lines):
            self.assertEqual(line, f"plimsoll: {name}: --dir: /usr is outside the directories of the agent's --root: "
                                   f"{self.dir}")
        self.assertIn("is outside", self.run_refused("--hosts", alpha.address, dir=f"{self.dir}/../run"))

    def test_a_link_that_leads_out_of_the_root(self):
        (self.dir / "out").symlink_to("/usr")
        alpha = self.agent("alpha")
        self.assertRegex(self.run_refused("--hosts", alpha.address, dir=self.dir / "out"), "link")

    def test_a_directory_that_the_hosts_do_not_have(self):
        alpha = self.agent("alpha")
        self.assertRegex(self.run_refused("--hosts", alpha.address, dir=self.dir / "missing"),
                         rf"^plimsoll: --dir: {self.dir}/missing does not exist on alpha; create it there or pass another --dir$")

    def test_an_agent_that_may_not_write_there(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root, to run an agent as nobody")
        self.base.chmod(0o755)
        self.dir.chmod(0o755)
        program = self.base / "bin"
        program.mkdir(mode=0o755)
        shutil.copy(harness.binary("plimsoll-agent"), program)
        nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "env", f"PATH={program}"]
        alpha = self.start(harness.Agent, [*nobody, "plimsoll-agent", "--name", "alpha", "--root", self.dir, "--listen",
                                           "127.0.0.1:0"]).await_listening()
        line = self.run_refused("--hosts", alpha.address)
        self.assertRegex(line, rf"^plimsoll: alpha: --dir: .*{self.dir}.*Permission denied")

    def test_an_agent_that_is_named_twice(self):
        alpha = self.agent("alpha")
        port = alpha.address.rpartition(":")[2]
        self.assertIn("same agent ('alpha')", self.run_refused("--hosts", f"{alpha.address},localhost:{port}"))
        self.assertIn(alpha.address, self.run_refused("--hosts", f"{alpha.address},{alpha.address}"))

    def test_hosts_files_name_the_line_that_is_wrong(self):
        hosts = self.base / "hosts"
        hosts.write_text("# our hosts\nalpha\nbe ta:x\n")
        self.assertRegex(self.run_refused("--hosts-file", hosts), rf"{re.escape(str(hosts))}:3\b")

    def test_hosts_files_are_read_up_to_a_limit(self):
        for command in (("run", "--dir", self.base), ("fsck", self.base)):
            with self.subTest(command=command[0]):
                line = self.refused(*command, "--hosts-file", "/dev/zero")
                self.assertRegex(line, "--hosts-file:? /dev/zero is larger than 1048576 bytes.*; pass a smaller file")

    def test_a_csv_file_that_cannot_be(self):
        self.assertIn("/missing/table.csv", self.run_refused("--duration", "200ms", "--csvFile", "/missing/table.csv"))

    def test_places_for_results_that_cannot_be(self):
        self.assertIn("--out", self.run_refused("--out", "/proc/nowhere"))
        (self.base / "file").write_text("")
        self.assertIn("--out", self.run_refused("--out", self.base / "file"))


if __name__ == "__main__":
    harness.main()
