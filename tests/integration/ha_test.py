"""`plimsoll ha` with two real agents on one machine: instances die, take over, and nothing is lost or left behind."""

import json
import re
import shlex
import signal
import sys
from xml.etree import ElementTree

import harness
import takeovers


def instances_of(agent):
    """Ids of the instances that an agent started and that run."""
    return [pid for pid in harness.children_of(agent.agent_pid) if harness.is_alive(pid)]


class Ha(harness.PlimsollTest):

    # Takeovers show what drills do, not how long a busy disk or CPU takes.
    in_memory = True
    agents_ahead = True

    def setUp(self):
        super().setUp()
        self.agents = [self.agent(name) for name in ("alpha", "beta")]
        self.pair = "+".join(agent.address for agent in self.agents)

    def arguments(self, *more):
        self._results += 1
        self.out = self.base / f"results-{self._results}"
        options = {"--pairs": self.pair, "--dir": self.dir, "--out": self.out, "--file-size": "256k", "--window": "300ms",
                   "--lock-poll": "100ms", "--free-poll": "10ms", "--checkpoint": "200ms", "--server-lease": "1s",
                   "--takeover-limit": "20s", "--rate": "200", "--seed": "7"}
        options.update(zip(more[::2], more[1::2]))
        flags = more[len(more) // 2 * 2:]
        return ["ha", "--one-kernel", *(word for option in options.items() for word in option), *flags]

    def start_ha(self, *more):
        return self.start_plimsoll(*self.arguments(*more), wrap=harness.ahead())

    def ha(self, *more, code=0):
        process = self.start_ha(*more)
        process.finish(180)
        result = self.result_of(process, None, code)
        result.results = self.out
        return result

    def assert_none_runs(self):
        for agent in self.agents:
            harness.wait_until(lambda agent=agent: not instances_of(agent), "no instance is left")

    def test_switch_kill_and_hang_lose_nothing_and_leave_nothing(self):
        junit = self.base / "drill.xml"
        result = self.ha("--fault", "switch,kill,hang", "--rounds", "6", "--qm", "2", "--junit", junit)
        report = json.loads((result.results / "report.json").read_text())
        self.assertEqual(report["verdict"]["outcome"], "pass", result)
        outcomes = [[one["outcome"] for one in each["takeovers"]] for each in report["ha"]["rounds"]]
        self.assertEqual(outcomes, 2 * [["taken"] * 2, ["taken"] * 2, ["kept"] * 2], result)
        for each in report["ha"]["rounds"]:
            for one in each["takeovers"]:
                if one["outcome"] == "taken":
                    self.assertGreater(one["gap"]["ns"], 0, one)
                    self.assertGreater(one["replayed"], 0, one)
        takeovers.assert_little_is_added(self, report, lock_poll_ns=100_000_000)
        self.assertEqual([qm["scanned"] for qm in report["ha"]["queue_managers"]], [True, True])
        self.assertEqual(report["ha"]["findings"]["lost"], 0)
        self.assertTrue(result.out.startswith("Verdict   PASS on one kernel; locks between hosts not tested\n"), result.out)
        self.assertIn("Warning: the PASS rests on locks on the log's extents (--fence extents)", " ".join(result.out.split()))
        # Each round shows its gap as soon as it is over.
        self.assertEqual(len(re.findall(r"(?m)^round [1-6]: (gap (at most )?[\d.]+ m?s|no takeover)", result.err)), 6, result.err)
        self.assert_nothing_left()
        self.assert_none_runs()
        # Everything again from the journal alone.
        again = self.plimsoll("report", result.results, "--junit", self.base / "again.xml")
        self.assertEqual(again.out, result.out)
        suite = ElementTree.parse(junit).getroot()
        self.assertEqual([(case.get("classname"), case.get("name")) for case in suite.iter("testcase")],
                         [("run.drill", "lost==0"), ("run.drill", "split_brain==0"), ("run.drill", "takeover_max<60s"),
                          ("run", "conclusive")])
        self.assertFalse([one for kind in ("failure", "error", "skipped") for one in suite.iter(kind)])
        self.assertEqual((self.base / "again.xml").read_text(), junit.read_text())

    def test_agents_of_one_kernel_give_no_pass_unless_that_is_asked_for(self):
        drill = [word for word in self.arguments("--rounds", "1") if word != "--one-kernel"]
        result = self.plimsoll(*drill, code=3)
        shared = "alpha and beta share one kernel: locks between hosts"
        self.assertTrue(result.out.startswith("Verdict   INCONCLUSIVE"), result.out)
        self.assertIn(f"{shared} were not tested; --one-kernel judges a trial on one kernel", " ".join(result.out.split()))
        self.assertIn(f"{shared} are not tested; without --one-kernel the drill does not PASS", " ".join(result.err.split()))
        self.assertEqual(self.plimsoll("report", self.out, code=3).out, result.out)

    def test_a_dry_run_shows_directory_bytes_faults_and_time_and_changes_nothing(self):
        before = sorted(self.dir.rglob("*"))
        text = self.plimsoll(*self.arguments("--fault", "switch,hang", "--rounds", "4", "--qm", "2"), "--dry-run").out
        self.assertIn(f"alpha + beta: qm1 to qm2\nDirectory  {self.dir}, for logs and locks\n", text)
        self.assertIn("\nBytes      1.5 MiB: 2 logs of 3 extents of 256 KiB, written again and again in blocks of 4 KiB, "
                      "200 a second for each queue manager\n", text)
        self.assertIn("\nFaults     switch, hang, each at a random moment within 300 ms\n", text)
        # Two hangs of 2.2 s, and half of each window.
        self.assertIn("\nTime       about 5 s and the takeovers, each at most 20 s; at most ", text)
        self.assertIn("alpha and beta share one kernel", text)
        self.assertEqual(sorted(self.dir.rglob("*")), before)
        self.assertFalse(self.out.exists())

    def test_commands_to_paste_quote_the_directory(self):
        odd = self.dir / "it's a; $(touch here) log"
        odd.mkdir()
        process = self.start_ha("--dir", odd, "--rounds", "1000", "--window", "2s")
        process.await_err(r"round 1 of")
        # What does not answer keeps the drill from ending in order.
        for agent in self.agents:
            agent.signal(signal.SIGSTOP)
        process.signal(signal.SIGINT)
        process.await_err(r"(?m)^ending the instances")
        process.signal(signal.SIGINT)
        code = process.finish(60)
        for agent in self.agents:
            agent.signal(signal.SIGCONT)
        self.assertEqual(code, 130, process.err)
        (command,) = re.findall(r"`(plimsoll clean .*? --yes)`", process.err)
        words = shlex.split(command)
        self.assertEqual(words[words.index("--dir") + 1], str(odd))

    def test_locks_are_in_the_data_directory_and_logs_in_theirs_and_neither_keeps_anything(self):
        log, data = self.dir / "log", self.dir / "data"
        for directory in (log, data):
            directory.mkdir()
        for ends, code in (("by itself", 0), ("by an interrupt", 3)):
            with self.subTest(ends):
                process = self.start_ha("--dir", log, "--data-dir", data, "--fault", "switch,kill", "--rounds",
                                        "4" if code == 0 else "1000")
                process.await_err(r"round 1 of")

                def files(directory):
                    return {path.name for path in harness.paths(directory) if path.is_file()}

                self.assertLessEqual({"master", "active", "standby", "poll"}, files(data))
                self.assertFalse({"master", "active", "standby", "poll"} & files(log))
                self.assertIn("S0000000.LOG", files(log))
                self.assertNotIn("S0000000.LOG", files(data))
                if code != 0:
                    process.signal(signal.SIGINT)
                self.assertEqual(process.finish(180), code, process.err)
                self.assert_none_runs()
                for directory in (log, data):
                    self.assert_nothing_left(directory)

    def test_a_missing_data_directory_is_named_with_the_way_out(self):
        missing = self.dir / "missing"
        refused = self.plimsoll(*self.arguments("--data-dir", missing), code=2)
        self.assertEqual(refused.errors, [
            f"plimsoll: --data-dir: {missing} does not exist on {host}; create it there or pass another --data-dir"
            for host in ("alpha", "beta")])

    def test_commands_run_without_a_shell_and_only_where_they_are_allowed(self):
        script = self.base / "plan.yaml"
        # A command that changes nothing: the active instance goes on, which is all that this fault asks for.
        script.write_text(f"""
workload: {{dir: {self.dir}, file_size: 256k}}
ha:
  pairs: ["{self.pair}"]
  faults: [server-restart]
  rounds: 1
  commands:
    - fault: server-restart
      do: ["{sys.executable}", "-c", "import sys; open(sys.argv[1], 'w').write(sys.argv[2])", "{self.base}/said", "{{host}} $(id)"]
""")
        refused = self.plimsoll("ha", script, "--out", self.base / "refused", code=2)
        self.assertIn("--allow-commands", refused.err)
        self.assertIn("plimsoll ha", self.plimsoll("run", script, "--out", self.base / "run", code=2).err)
        self.plimsoll("ha", script, "--one-kernel", "--out", self.base / "results", "--allow-commands", "--window", "0s")
        self.assertEqual((self.base / "said").read_text(), "127.0.0.1 $(id)", "no shell has seen it")
        self.assert_nothing_left()

    def test_commands_of_options_are_split_without_a_shell_and_their_want_is_explained(self):
        faults = ("--fault", "kill,freeze", "--rounds", "2")
        missing = self.plimsoll(*self.arguments(*faults), code=2)
        for text in ("freeze needs commands", "--do 'freeze=virsh suspend {host}'", "--undo 'freeze=virsh resume {host}'",
                     "--allow-commands"):
            self.assertIn(text, " ".join(missing.err.split()))
        program = self.base / "say"
        program.write_text(f"#!{sys.executable}\nimport sys\nopen({str(self.base / 'said')!r}, 'a').write(repr(sys.argv[1:]))\n"
                           "sys.exit(sys.argv[1] == 'suspend')\n")
        program.chmod(0o755)
        commands = ("--do", f"freeze={program} suspend '{{host}} $(id)' \"a 'b'\" ;", "--undo", f"freeze={program}  resume  {{address}}")
        refused = self.plimsoll(*self.arguments(*faults, *commands), code=2)
        self.assertIn("--allow-commands", refused.err)
        self.assertFalse((self.base / "said").exists())
        # The command fails: its round proves nothing, and is undone all the same.
        junit = self.base / "drill.xml"
        result = self.plimsoll(*self.arguments(*faults, *commands, "--junit", junit, "--summary", "md"), "--allow-commands", code=3)
        self.assertTrue(result.out.startswith("### Plimsoll: INCONCLUSIVE\n"), result.out)
        self.assertIn("\n| <code>lost==0</code> | ", result.out)
        suite = ElementTree.parse(junit).getroot()
        errors = {case.get("name") for case in suite.iter("testcase") if case.find("error") is not None}
        self.assertIn("conclusive", errors)
        self.assertFalse([case for case in suite.iter("testcase") if case.find("failure") is not None])
        address = self.agents[1].address
        host = address.rpartition(":")[0]
        said = (self.base / "said").read_text()
        # The kill has made the second host the active one.
        self.assertEqual(said, repr(["suspend", f"{host} $(id)", "a 'b'", ";"]) + repr(["resume", address]), result)
        wrong = self.plimsoll(*self.arguments("--do", "kill=true"), code=2)
        self.assertIn("--do: expected FAULT=COMMAND", wrong.err)
        self.assert_nothing_left()

    def test_a_given_moment_is_kept_and_reported(self):
        result = self.ha("--fault", "kill", "--rounds", "1", "--at", "2s", "--window", "0s", "--full")
        self.assertIn("1, each 2 s after all pairs were ready", " ".join(result.out.split()))
        report = json.loads((result.results / "report.json").read_text())
        (taken,) = report["ha"]["rounds"][0]["takeovers"]
        # Two seconds of 200 writes each came first.
        self.assertGreater(taken["acknowledged"], 300)
        self.assertEqual({phase["phase"] for phase in report["ha"]["phases"]},
                         {"gap", "to_free", "free_to_granted", "to_granted", "to_replayed", "to_first_write", "takeover", "own"})
        self.assertLessEqual(taken["free_to_granted"]["ns"] - taken["free_to_granted"]["error_ns"], 200_000_000)

    def test_an_interrupt_ends_every_instance_and_removes_the_files(self):
        process = self.start_ha("--fault", "hang", "--server-lease", "60s", "--rounds", "1", "--window", "0s")
        process.await_err(r"round 1 of 1: hang")
        process.signal(signal.SIGINT)
        self.assertEqual(process.finish(), 3, process.err)
        self.assertRegex(process.out, r"^Verdict   INCONCLUSIVE: interrupted\n")
        # The logs were not scanned: whether something is lost is not known.
        criteria = json.loads((self.out / "report.json").read_text())["verdict"]["criteria"]
        self.assertEqual([(one["outcome"], one["value_text"]) for one in criteria if one["criterion"] == "lost==0"],
                         [("inconclusive", "")])
        self.assert_nothing_left()
        self.assert_none_runs()

    def test_a_killed_controller_leaves_no_instance_once_the_lease_is_over(self):
        log, data = self.dir / "log", self.dir / "data"
        for directory in (log, data):
            directory.mkdir()
        process = self.start_ha("--dir", log, "--data-dir", data, "--takeover-limit", "1s", "--lease", "3s", "--rounds", "1000",
                                "--fault", "switch")
        process.await_err(r"round 1 of 1,?000: switch")
        self.assertTrue(instances_of(self.agents[0]) + instances_of(self.agents[1]))
        process.signal(signal.SIGKILL)
        process.finish()
        self.assert_none_runs()
        # One host removes what both made, in both directories.
        (run,) = {path.name.removeprefix("plimsoll-") for directory in (log, data) for path in directory.iterdir()}
        for directory in (log, data):
            clean = ("clean", "--run", run, "--hosts", self.agents[1].address, "--dir", directory)
            harness.wait_until(lambda clean=clean: "in use" not in self.plimsoll(*clean).out, "the sessions of the run to end")
            self.plimsoll(*clean, "--yes")
            self.assert_nothing_left(directory)


if __name__ == "__main__":
    harness.main()
