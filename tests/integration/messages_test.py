"""What the programs say of a wrong input: one line that names the thing and the way out. A row each."""

import http.server
import os
import subprocess
import threading

import harness
from cannot_run_test import free_port


class Silent(http.server.BaseHTTPRequestHandler):

    def log_message(self, *arguments):
        pass


class Messages(harness.PlimsollTest):

    def said(self, *arguments):
        """Exit code and what standard error says, without the program's name."""
        process = self.start_plimsoll(*arguments)
        code = process.finish()
        self.assertEqual(process.out, "", arguments)
        return code, [line.removeprefix("plimsoll: ") for line in process.err.splitlines()]

    def check(self, rows):
        for arguments, code, *expected in rows:
            with self.subTest(arguments=arguments):
                self.assertEqual(self.said(*arguments), (code, expected))

    def test_command_lines(self):
        self.check([
            (["run", "--blocksize", "4k", "--dir", self.dir], 2, "unknown option '--blocksize'; did you mean --bsize?"),
            (["run", "--dir", self.dir, "--duration", "5minutes"], 2,
             "--duration: '5minutes' is not a time: expected a time from 100ms to 3650d; units are ns, us, ms, s, m, h and d, "
             "such as 250us or 1h30m"),
            (["run", "--dir", self.dir, "--rate", "0.0005", "--dry-run"], 2,
             "--rate: '0.0005' is out of range: expected a number from 0.001 to 1000000, or 0"),
            (["hel"], 2, "unknown command 'hel'; did you mean help?"),
            (["help", "plan", "chek"], 2, "unknown command 'chek'; did you mean check?"),
            (["export", self.dir, "csv"], 2, "unexpected argument 'csv'"),
            (["run", "--dir", self.dir, "--colour", "always"], 2, "unknown option '--colour'; did you mean --color?"),
            (["--colour"], 2, "unknown option '--colour'; did you mean --color?"),
            (["run", "--dir", self.dir, "--csv-file"], 2, "--csv-file needs a value: FILE"),
            (["fsck", self.dir, "--level", "foo"], 2,
             "--level: 'foo' is not a valid value: expected one of quick, standard, full"),
            (["fsck", self.dir, "--level"], 2, "--level needs a value: one of quick, standard, full"),
            (["mqldt", "--qm", "0"], 2, "--qm: '0' is out of range: expected a number from 1 to 10"),
            (["export", self.dir, "--format", "csv", "--step", "x"], 2,
             "--step: 'x' is not a number: expected a number above 0"),
            (["export", self.dir, "--format", "csv", "--step", "0"], 2,
             "--step: '0' is out of range: expected a number above 0"),
            (["plan", "check"], 2, "FILE is missing: the plan"),
            (["report"], 2, "DIR is missing: directory of the results, or a journal"),
            (["plan"], 2, "no command; see plimsoll plan --help"),
            ([], 2, "no command; see plimsoll --help"),
            (["report", self.dir, "--color"], 2, "--color needs a value: one of auto, always, never"),
            (["report", self.dir, "--color", "often"], 2,
             "--color: 'often' is not a valid value: expected one of auto, always, never"),
            (["help", "run", "xyz"], 2, "unexpected argument 'xyz'; plimsoll run has no commands"),
        ])

    def test_help_of_a_command_is_what_its_option_prints(self):
        for command in (["run"], ["plan", "check"], []):
            self.assertEqual(self.plimsoll("help", *command).out, self.plimsoll(*command, "--help").out)

    def test_a_reader_that_goes_away_is_no_error_and_a_full_disk_is_one(self):
        run = self.run_plan("--duration", "1")
        plan = self.base / "plan.yaml"
        plan.write_text(f"workload:\n  dir: {self.dir}\n")
        # What each exits with where all is well.
        commands = [["report", run.results, "--print-only"], ["report", run.results, "--json", "--print-only"],
                    ["compare", run.results, run.results], ["plan", "example"], ["plan", "check", plan], ["storage", self.dir],
                    ["clean", "--dir", self.dir], ["run", "--dir", self.dir, "--dry-run"], ["help"], ["run", "--help"]]
        for command in commands:
            with self.subTest(command=command):
                argv = [harness.binary("plimsoll"), *map(str, command)]
                well = subprocess.run(argv, env=self.environment, capture_output=True, text=True, check=False)
                reading, writing = os.pipe()
                os.close(reading)
                gone = subprocess.run(argv, env=self.environment, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
                os.close(writing)
                self.assertEqual((gone.returncode, gone.stderr), (well.returncode, well.stderr))
                with open("/dev/full", "w", encoding="ascii") as full:
                    failed = subprocess.run(argv, env=self.environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual(failed.stderr.count("plimsoll: standard output could not be written\n"), 1, failed.stderr)
                # A report's verdict stays what it is.
                if command[0] != "report":
                    self.assertEqual(failed.returncode, 2)

    def test_the_agent(self):
        (self.base / "file").write_text("")
        for arguments, code, expected in (
            (["--rooot", "d"], 2, "unknown option '--rooot'; did you mean --root?"),
            (["--root", self.dir, "--lisen", "x"], 2, "unknown option '--lisen'; did you mean --listen?"),
            ([], 2, "--root is required"),
            (["--root"], 2, "--root needs a value: DIR"),
            (["--root", self.dir, "--log-level", "loud"], 2,
             "--log-level: 'loud' is not a valid value: expected one of debug, info, warn, error"),
            (["--root", self.dir, "--max-writers", "0"], 2,
             "--max-writers: '0' is out of range: expected a number from 1 to 100000"),
            (["--root", self.base / "none"], 2, f"--root: {self.base}/none does not exist; create it or pass another --root"),
            (["--root", "none"], 2, f"--root: {self.base}/none does not exist; create it or pass another --root"),
            (["--root", "file"], 2, f"--root: {self.base}/file is not a directory"),
        ):
            with self.subTest(arguments=arguments):
                ended = subprocess.run([harness.binary("plimsoll-agent"), *map(str, arguments)], cwd=self.base, check=False,
                                       capture_output=True, text=True, timeout=harness.LONG_S)
                self.assertEqual((ended.returncode, ended.stderr), (code, f"plimsoll-agent: {expected}\n"))
        # The rest of its errors is in its log.
        socket = f"unix:{self.base}/none/a.sock"
        ended = subprocess.run([harness.binary("plimsoll-agent"), "--root", self.dir, "--listen", socket], check=False,
                               capture_output=True, text=True, timeout=harness.LONG_S)
        self.assertEqual(ended.returncode, 4)
        self.assertIn(f" error cannot listen on {socket}: the directory of the socket does not exist (--listen)\n", ended.stderr)

    def test_a_root_may_be_named_from_where_the_agent_is_started(self):
        alpha = self.agent("alpha", root=self.dir.relative_to(self.base))
        self.run_plan("--hosts", alpha.address)
        self.assert_nothing_left()

    def test_hosts_that_are_written_as_other_programs_write_them(self):
        self.check([
            (["hosts", "--hosts", "http://node1"], 2, "'http://node1' is not a host: drop 'http://': write node1"),
            (["hosts", "--hosts", "root@node1"], 2,
             "'root@node1' is not a host: drop the user: write node1 (for --launch ssh, set User in ~/.ssh/config, or pass "
             "--ssh-command 'ssh -l root')"),
            (["hosts", "--hosts", "node1:7461-7463"], 2,
             "'node1:7461-7463' is not a host: a port cannot be a range: list node1 once for each port"),
        ])

    def test_agents_that_cannot_be_reached(self):
        server = http.server.HTTPServer(("127.0.0.1", 0), Silent)
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        other = f"127.0.0.1:{server.server_port}"
        down = f"127.0.0.1:{free_port()}"
        nobody = f"unix:{self.base}/nobody.sock"
        self.check([
            (["hosts", "--hosts", "no-such-host.invalid"], 4, "no-such-host.invalid: name not found"),
            (["hosts", "--hosts", down], 4,
             f"{down}: connection refused: no agent is listening; start plimsoll-agent there"),
            (["hosts", "--hosts", other], 4,
             f"{other}: not a Plimsoll agent: another protocol answers there; check the port"),
            (["hosts", "--hosts", f"unix:{self.base}/none/a.sock"], 4,
             f"unix:{self.base}/none/a.sock: the directory {self.base}/none does not exist"),
            (["hosts", "--hosts", nobody], 4,
             f"{nobody}: no agent is listening: the socket does not exist; start plimsoll-agent with --listen {nobody}"),
        ])

    def test_places_without_results(self):
        empty = f"{self.base} holds no results of a run: there is no file 'journal' in it; name the directory that " \
                "`plimsoll run` printed"
        self.check([
            (["report", self.base], 2, empty),
            (["export", self.base, "--format", "csv"], 2, empty),
            (["report", self.base / "none"], 2, f"{self.base}/none does not exist"),
        ])

    def test_plans_that_are_none(self):
        self.check([
            (["run", self.base / "none.yaml"], 2, f"{self.base}/none.yaml does not exist; `plimsoll plan example` prints a plan"),
            (["plan", "check", self.base / "none.yaml"], 2,
             f"{self.base}/none.yaml does not exist; `plimsoll plan example` prints a plan"),
            (["run", self.dir], 2, f"{self.dir} is a directory, not a plan; to measure it, use --dir {self.dir}"),
        ])

    def test_directories_that_are_not_there(self):
        alpha = self.agent("alpha")
        code, lines = self.said("run", "--hosts", alpha.address, "--dir", self.dir / "none")
        self.assertEqual((code, lines), (2, [f"--dir: {self.dir}/none does not exist on alpha; create it there or pass another --dir"]))
        self.check([
            (["run", "--dir", self.dir / "none"], 2, f"--dir: {self.dir}/none does not exist; create it or pass another --dir"),
            (["clean", "--dir", self.dir / "none"], 2, f"--dir: {self.dir}/none does not exist; create it or pass another --dir"),
            (["storage", self.dir / "none"], 2, f"DIR: {self.dir}/none does not exist; create it or pass another DIR"),
            (["fsck", self.dir / "none"], 2, f"DIR: {self.dir}/none does not exist; create it or pass another DIR"),
            (["fsck", self.dir / "none", "--hosts", alpha.address], 2,
             f"DIR: {self.dir}/none does not exist on alpha; create it there or pass another DIR"),
        ])

    def test_all_mistakes_of_a_plan_at_once(self):
        plan = self.base / "plan.yaml"
        plan.write_text("hosts: [node[1-3]]\n")
        self.check([(["run", plan], 2,
                     f"{plan}:1:13: not YAML: a list is not closed: expected ']'; in a list of YAML, quote it: \"node[1-3]\"")])
        plan.write_text("workload:\n  qm: 0\n  file_size: 64q\nstall: 5min 3\n")
        code, lines = self.said("run", plan)
        self.assertEqual((code, [line.split(": ")[0] for line in lines[:3]]), (2, [f"{plan}:{at}" for at in ("2:7", "3:14", "4:8")]))
        self.assertEqual([line.split(": ")[0] for line in lines[3:]], ["--dir (workload.dir) is missing"])
        # Wrong values hide no errors of meaning, and what may follow from a wrong value is left out.
        plan.write_text("hosts: [a, b]\nworkload:\n  dir: rel\n  qm: 0\n  file_size: 1q\nblock_size: 64m\ncriteria: [p99<10, speed>1]\n")
        wrong = [rf"3: --dir \(workload.dir\) 'rel' is not absolute", "4:7: qm: '0' is out of range", "5:14: file_size: '1q' is not a",
                 r"7: --require \(criteria\): 'p99<10' is not a criterion", r"7: --require \(criteria\): 'speed>1' is not a criterion"]
        for command in (["run", plan], ["plan", "check", plan]):
            code, lines = self.said(*command)
            self.assertEqual((code, len(lines)), (2, len(wrong)), lines)
            for line, pattern in zip(lines, wrong):
                self.assertRegex(line, rf"^{plan}:{pattern}")
        plan.write_text("hosts: a\ncriteria: [" + ", ".join(f"x{number}" for number in range(30)) + "]\n")
        code, lines = self.said("plan", "check", plan)
        self.assertEqual((code, len(lines), lines[-1]), (2, 21, f"{plan}: more errors follow; correct these first"))
        plan.write_text(f"workload:\n  dir: {self.dir}\n  file_size: 5000001\nwarmup: 1h30m\n")
        self.assertEqual(self.said("plan", "check", plan),
                         (2, [f"{plan}:3: --file-size (workload.file_size) 5000001 is not a multiple of 4k: use 4884k, "
                              "or --direct off"]))
        # The same from an option is not the file's.
        self.assertEqual(self.said("plan", "check", plan, "--file-size", "5000002"),
                         (2, ["--file-size (workload.file_size) 5000002 is not a multiple of 4k: use 4884k, or --direct off"]))


if __name__ == "__main__":
    harness.main()
