"""`plimsoll fsck`: agents of their own on one file system, honest and not; and that nothing is left, however it ends."""

import pathlib
import signal
import sys
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faultfs"))

import faultfs  # noqa: E402
import harness  # noqa: E402
import namespaces  # noqa: E402
import schema  # noqa: E402

QUICK = {
    "lock.exclusive", "lock.byte-ranges", "lock.shared", "lock.released-at-process-death", "lock.wait-poll", "lock.wait-blocking",
    "data.concurrent-writes", "data.visible-after-close", "data.visible-after-lock-handover", "data.rename-atomic",
    "data.dsync-survives-writer-death", "data.order-two-files", "data.direct-buffered-agree",
    "time.timestamps-against-host-clocks"
}
FULL = {"lock.released-at-host-death", "lock.after-server-restart", "data.dsync-survives-server-restart"}
MOUNT = 'mount -t tmpfs none "$1" && shift && exec "$@"'


def check_processes(agent):
    """Ids of the processes that the agent has started for a check."""
    return harness.children_of(agent.agent_pid)


class Fsck(harness.PlimsollTest):

    def pair(self):
        return self.agent("alpha"), self.agent("beta")

    def start_fsck(self, agents, *arguments, dir=None):
        return self.start_plimsoll("fsck", dir or self.dir, "--hosts", ",".join(agent.address for agent in agents),
                                   *arguments)

    def fsck(self, agents, *arguments, code, dir=None):
        process = self.start_fsck(agents, *arguments, dir=dir)
        process.finish()
        return self.result_of(process, None, code)

    def await_checking(self, process, agents):
        process.await_err(r"^checking lock\.wait")
        return harness.wait_until(lambda: [pid for agent in agents for pid in check_processes(agent)], "processes of the check")

    def test_two_agents_of_one_host_pass_every_check_and_no_requirement(self):
        agents = self.pair()
        junit = self.base / "junit.xml"
        result = self.fsck(agents, "--json", "--junit", junit, code=3)
        report = schema.parse(result.out, "fsck")
        outcomes = {check["name"]: check["outcome"] for check in report["checks"]}
        self.assertEqual({name for name, outcome in outcomes.items() if outcome == "pass"} - {"data.direct-buffered-agree"},
                         QUICK - {"data.direct-buffered-agree"}, result)
        self.assertIn(outcomes["data.direct-buffered-agree"], ("pass", "unsupported"))
        self.assertTrue(all(outcomes[name] == "not_tested" for name in FULL))
        self.assertEqual(report["verdict"], "not_tested")
        self.assertEqual([each["verdict"] for each in report["requirements"]], ["not_tested"] * 3)
        self.assertIn("alpha, beta share one kernel: nothing was tested between hosts", report["requirements"][1]["reasons"])
        self.assertEqual([host["label"] for host in report["hosts"]], ["alpha", "beta"])

        suite = xml.etree.ElementTree.parse(junit).getroot()
        cases = {case.get("name"): case for case in suite.iter("testcase")}
        requirements = {each["requirement"] for each in report["requirements"]}
        self.assertEqual(set(cases), set(outcomes) | requirements)
        self.assertEqual({name for name, case in cases.items() if case.find("skipped") is not None},
                         {name for name, outcome in outcomes.items() if outcome in ("not_tested", "unsupported")})
        # What was not tested is not green.
        self.assertEqual({name for name, case in cases.items() if case.find("error") is not None}, requirements)
        self.assertEqual((suite.get("failures"), suite.get("errors")), ("0", "3"))
        self.assert_nothing_left()
        # The agents are free, and clean.
        self.assertEqual([pid for agent in agents for pid in check_processes(agent)], [])
        self.run_plan("--hosts", ",".join(agent.address for agent in agents))

    def test_the_text_has_the_verdicts_first_and_names_what_the_level_omits(self):
        agents = self.pair()
        brief = self.fsck(agents, "--only", "lock.exclusive", code=3).out
        self.assertRegex(brief, r"^Verdict   NOT TESTED  \(level quick, ")
        self.assertRegex(brief, r"(?m)^Checks    pass 1, not tested \d+$")
        self.assertLessEqual(len(brief.splitlines()), 40)
        text = self.fsck(agents, "--only", "lock.exclusive", "--full", code=3).out
        self.assertRegex(text, r"^Verdict   NOT TESTED  \(level quick, ")
        self.assertRegex(text, r"(?m)^  guaranteed exclusive access  NOT TESTED$")
        self.assertRegex(text, r"omitted at this level: lock\.storm")
        self.assertRegex(text, r"(?m)^  lock\.exclusive +pass +\d+\.\d s$")

    def test_one_host_alone_reports_what_it_did_not_test(self):
        result = self.plimsoll("fsck", self.dir, "--json", code=3)
        report = schema.parse(result.out, "fsck")
        self.assertEqual({check["reason"] for check in report["checks"] if check["name"] == "lock.exclusive"},
                         {"needs 2 hosts"})
        self.assertIn("one host alone: nothing was tested between hosts", report["requirements"][0]["reasons"])
        self.assert_nothing_left()

    def test_hosts_that_share_nothing_are_named_and_nothing_is_checked(self):
        namespaces.need(*namespaces.own_mounts())
        alpha = self.agent("alpha")
        beta = self.agent("beta", wrap=["unshare", *namespaces.own_mounts(), "sh", "-c", MOUNT, "sh", str(self.dir)])
        result = self.fsck([alpha, beta], code=2)
        self.assertRegex(result.err, rf"plimsoll: alpha: {self.dir} \(\S+(?: from \S+)?\) does not show what beta made there: it is "
                                     r"not one shared directory; nothing was checked")
        self.assertNotIn("checking", result.err)
        self.assert_nothing_left()
        self.assert_nothing_left(pathlib.Path(f"/proc/{beta.agent_pid}/root{self.dir}"))

    def test_a_lock_that_is_granted_twice_fails_and_is_named(self):
        mounted = faultfs.mounted(self)
        agents = [self.agent(name, root=mounted.mountpoint) for name in ("alpha", "beta")]
        mounted.fault("lock *qm1* grant")
        result = self.fsck(agents, "--json", "--only", "lock.exclusive", code=1, dir=mounted.mountpoint)
        report = schema.parse(result.out, "fsck")
        reasons = {check["name"]: check["reason"] for check in report["checks"] if check["outcome"] == "fail"}
        self.assertRegex(reasons["lock.exclusive"], r"^granted twice: beta was granted the lock that alpha held")
        self.assertEqual(report["requirements"][1]["verdict"], "fail")
        self.assert_nothing_left(mounted.mountpoint)

    def test_writes_that_are_acknowledged_and_dropped_fail_and_are_named(self):
        mounted = faultfs.mounted(self)
        agents = [self.agent(name, root=mounted.mountpoint) for name in ("alpha", "beta")]
        # Of all checks, for none of the others may fail. Two files of data.dsync-survives-writer-death: the eleventh check.
        mounted.fault("write *S0000020.LOG after=20 drop")
        report = schema.parse(self.fsck(agents, "--json", code=1, dir=mounted.mountpoint).out, "fsck")
        reasons = {check["name"]: check["reason"] for check in report["checks"] if check["outcome"] == "fail"}
        self.assertEqual(set(reasons), {"data.dsync-survives-writer-death"})
        self.assertRegex(reasons["data.dsync-survives-writer-death"], "^acknowledged write lost: alpha read page")
        self.assertEqual([each["verdict"] for each in report["requirements"]], ["fail", "not_tested", "not_tested"])

    def lied_about_shared_locks(self, rule):
        """What lock.shared, the third check, finds where the storage follows this rule."""
        mounted = faultfs.mounted(self)
        agents = [self.agent(name, root=mounted.mountpoint) for name in ("alpha", "beta")]
        mounted.fault(rule)
        report = schema.parse(self.fsck(agents, "--json", "--only", "lock.shared", code=1, dir=mounted.mountpoint).out, "fsck")
        (found,) = [check for check in report["checks"] if check["outcome"] == "fail"]
        self.assertEqual(found["name"], "lock.shared")
        return found["reason"]

    def test_an_exclusive_lock_beside_a_shared_one_fails_and_is_named(self):
        self.assertEqual(self.lied_about_shared_locks("lock_exclusive *S0000004.LOG grant"),
                         "granted twice: beta was granted its exclusive lock beside the shared one of alpha")

    def test_a_shared_lock_that_is_refused_beside_a_shared_one_fails_and_is_named(self):
        self.assertEqual(self.lied_about_shared_locks("lock_shared *S0000004.LOG after=1 error=EAGAIN"),
                         "refused: beta was refused its shared lock beside the shared one of alpha")

    def test_a_shared_lock_beside_an_exclusive_one_fails_and_is_named(self):
        # The third shared lock that is asked for.
        self.assertEqual(self.lied_about_shared_locks("lock_shared *S0000004.LOG after=2 grant"),
                         "granted twice: beta was granted its shared lock beside the exclusive one of alpha")

    def test_a_call_that_hangs_ends_neither_agent_and_is_undecided(self):
        mounted = faultfs.mounted(self)
        agents = [self.agent(name, root=mounted.mountpoint) for name in ("alpha", "beta")]
        # The fourteenth check: its write hangs for longer than the lease, and its agent answers all the while.
        hang = mounted.fault("write *S0000026.LOG after=2 count=1 hang_ms=6000 interruptible")
        process = self.start_fsck(agents, "--json", "--lease", "4s", "--only", "time.timestamps-against-host-clocks",
                                  dir=mounted.mountpoint)
        hang.await_hits()
        process.finish()
        report = schema.parse(self.result_of(process, None, 3).out, "fsck")
        self.assertEqual(report["notes"], [], process.err)
        self.assert_nothing_left(mounted.mountpoint)

    def full(self, agents, checks, *commands, code=3):
        """What full finds with these commands: the results of these checks."""
        result = self.fsck(agents, "--json", "--level", "full", "--allow-commands", "--only", ",".join(checks), *commands,
                           code=code)
        found = [each for each in schema.parse(result.out, "fsck")["checks"] if each["name"] in checks]
        self.assertEqual(len(found), len(checks))
        return found

    def test_a_restart_that_restarts_nothing_is_undecided(self):
        agents = self.pair()
        for found in self.full(agents, ["data.dsync-survives-server-restart", "lock.after-server-restart"],
                               "--restart-server", "true"):
            self.assertEqual(found["outcome"], "undecided")
            self.assertRegex(found["reason"], r"^--restart-server restarted nothing that writes depend on: the longest gap between "
                                              r"\d+ writes beside it was 0\.\d+ s")
        (found,) = self.full(agents, ["lock.after-server-restart"], "--restart-server", "false")
        self.assertEqual((found["outcome"], found["reason"]), ("undecided", "--restart-server: false failed: exit code 1"))
        self.assert_nothing_left()

    def test_a_killed_agent_is_not_taken_for_a_dead_host(self):
        alpha, beta = self.pair()
        address = beta.address
        process = self.start_fsck([alpha, beta], "--json", "--level", "full", "--allow-commands", "--only",
                                  "lock.released-at-host-death", "--kill-host", f"kill -9 {beta.agent_pid}",
                                  "--restore-host", "true")
        self.assertTrue(beta.ended_within(harness.LONG_S))
        self.agent("beta", listen=address)
        report = schema.parse(self.result_of(process, None, 3).out, "fsck")
        found = report["checks"][-1]
        self.assertEqual((found["name"], found["outcome"]), ("lock.released-at-host-death", "undecided"))
        self.assertEqual(found["reason"], "--kill-host did not kill beta: its kernel is the one from before")
        self.await_nothing_left()

    def test_a_command_names_the_host_as_the_operator_did_and_not_as_its_agent_does(self):
        for number, name in enumerate(("filer1", "-rf")):
            alpha, beta = self.agent("alpha"), self.agent(name, listen="127.0.0.2:0")
            seen = self.base / f"seen-{number}"
            process = self.start_fsck([alpha, beta], "--json", "--level", "full", "--allow-commands", "--only",
                                      "lock.released-at-host-death", "--kill-host",
                                      f"sh -c 'echo $* >{seen}; kill -9 {beta.agent_pid}' sh {{host}} at {{address}}",
                                      "--restore-host", "true")
            self.assertTrue(beta.ended_within(harness.LONG_S))
            self.agent(name, listen=beta.address)
            self.result_of(process, None, 3)
            self.assertEqual(seen.read_text(), f"127.0.0.2 at {beta.address}\n")

    def test_commands_run_only_where_they_are_allowed(self):
        agents = self.pair()
        made = self.base / "made"
        result = self.fsck(agents, "--level", "full", "--restart-server", f"touch {made}", code=2)
        self.assertIn("--allow-commands", result.err)
        self.assertIn("--level full", self.fsck(agents, "--allow-commands", "--kill-host", f"touch {made}", code=2).err)
        self.assertIn("a quote is not closed", self.fsck(agents, "--level", "full", "--allow-commands", "--kill-host", f"touch '{made}",
                                                         code=2).err)
        self.assertIn("unknown check 'x'", self.fsck(agents, "--only", "x", code=2).err)
        self.assertIn("lock.storm needs --level standard", self.fsck(agents, "--only", "lock.storm", code=2).err)
        self.assertFalse(made.exists())

    def test_an_interrupt_ends_it_and_leaves_nothing(self):
        agents = self.pair()
        process = self.start_fsck(agents)
        pids = self.await_checking(process, agents)
        process.signal(signal.SIGINT)
        result = self.result_of(process, None, 3)
        self.assertRegex(result.out, r"ended early: interrupted")
        self.assertFalse(any(harness.is_alive(pid) for pid in pids))
        self.assert_nothing_left()

    def test_a_killed_agent_leaves_no_process_and_its_successor_no_file(self):
        agents = self.pair()
        process = self.start_fsck(agents, "--lease", "3s")
        pids = self.await_checking(process, agents)
        agents[0].signal(signal.SIGKILL)
        harness.wait_until(lambda: not any(harness.is_alive(pid) for pid in pids), "the processes of the check ended")
        result = self.result_of(process, None, 3)
        self.assertRegex(result.out, r"ended early: alpha: ")
        self.agent("alpha")
        self.await_nothing_left()

    def test_a_killed_controller_leaves_no_process_and_no_file(self):
        agents = self.pair()
        process = self.start_fsck(agents, "--lease", "3s")
        pids = self.await_checking(process, agents)
        process.signal(signal.SIGKILL)
        process.finish()
        self.await_nothing_left()
        harness.wait_until(lambda: not any(harness.is_alive(pid) for pid in pids), "the processes of the check ended")

    def test_a_frozen_agent_leaves_no_lock_behind_its_lease(self):
        agents = self.pair()
        process = self.start_fsck(agents, "--lease", "3s")
        pids = self.await_checking(process, agents)
        agents[0].signal(signal.SIGSTOP)
        harness.wait_until(lambda: not any(harness.is_alive(pid) for pid in pids), "the processes of the check ended")
        agents[0].signal(signal.SIGCONT)
        self.result_of(process, None, 3)
        self.await_nothing_left()

    def test_wrong_input_is_refused(self):
        agent = self.agent("alpha")
        self.assertIn("--lease 1ms", self.fsck([agent], "--lease", "1ms", code=2).err)
        twice = self.plimsoll("fsck", self.dir, "--hosts", f"{agent.address},{agent.address}", code=2)
        self.assertRegex(twice.err, "named twice|same agent")
        outside = self.plimsoll("fsck", "/", "--hosts", agent.address, code=2)
        self.assertRegex(outside.err, "outside the directories of the agent's --root")
        capped = self.agent("capped", more=["--max-writers", "2"])
        self.assertRegex(self.fsck([capped], code=2).err, r"--max-writers")
        down = f"unix:{self.base}/nobody.sock"
        self.assertIn(f"{down}: no agent is listening", self.plimsoll("fsck", self.dir, "--hosts", down, code=4).err)


if __name__ == "__main__":
    harness.main()
