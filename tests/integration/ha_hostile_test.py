"""`plimsoll ha` as somebody meets it who gets everything wrong: clear refusals, and nothing left however a drill ends."""

import re
import signal

import drills
import faultfs
import harness

LOGS = "*/S*.LOG"


def setUpModule():
    faultfs.own_mounts()


class Refused(drills.DrillTest):

    def refused(self, pattern, *more, code=2):
        process = self.start_drill(*more)
        result = self.result_of(process, None, code)
        self.assertRegex(result.err, pattern)
        self.assertEqual(result.out, "")
        self.assertFalse(process.results.exists(), "what was refused leaves no results")
        self.assert_nothing_left()
        self.await_no_instance()
        return result

    def test_pairs_that_are_none(self):
        one, two = self.agents
        self.refused(r"--pairs \(ha\.pairs\): \S+ is listed twice; a host belongs to one pair", "--pairs", f"{one}+{one}")
        self.refused(r"--pairs \(ha\.pairs\): \S+ is listed twice", "--pairs", f"{one}+{two},{two}+{one}")
        self.refused(r"is not a pair of hosts: write node1\+node2", "--pairs", one)
        self.refused(r"is not a pair of hosts: write node1\+node2", "--pairs", f"{one}+{two}+127.0.0.1:1")
        self.refused(r"127\.0\.0\.1:1\b", "--pairs", f"{one}+127.0.0.1:1", code=4)

    def test_hosts_that_do_not_share_the_directory(self):
        (self.base / "other").mkdir()
        other = self.agent("gamma", root=self.base / "other")
        one = next(iter(self.agents))
        self.refused(r"gamma", "--pairs", f"{one}+{other.address}")
        self.assert_nothing_left(self.base / "other")

    def test_values_out_of_range(self):
        self.refused(r"--rounds: '0' is out of range: expected a whole number from 1 to 10000", "--rounds", "0")
        self.refused(r"--lease \(lease\) 5s is not more than a second longer than --takeover-limit", "--lease", "5s",
                     "--takeover-limit", "20s")
        self.refused(r"--bsize", "--bsize", "1k")
        self.refused(r"--sync \(workload\.sync\) none acknowledges what is not durable", "--sync", "none")
        self.refused(r"is not a criterion of an HA drill", "--require", "p99<1ms")

    def test_a_disk_that_fills_up_while_preparing_is_named_and_everything_is_given_back(self):
        full = [self.fs.fault(f"{operation} {LOGS} error=ENOSPC") for operation in ("write", "fallocate")]
        self.refused(r"alpha: [^\n]*S000000\d\.LOG: No space left on device", "--file-size", "1m")
        for rule in full:
            rule.release()

    def test_a_file_system_without_room_is_refused_with_the_numbers(self):
        self.refused(r"free, the run needs 3 ?TiB", "--file-size", "1t")


class Caps(drills.DrillTest):

    agent_options = {"alpha": ["--max-bytes", "1m"], "beta": ["--max-writers", "3"]}

    def test_caps_of_the_agents_hold_for_drills(self):
        for pattern, *more in (
            (r"alpha[^\n]*the agent's --max-bytes is 1m, the plan asks for 1,572,864 bytes of extents \(2 x 3 x 256k\): "
             r"lower --qm, --num-files or --file-size", "--qm", "2"),
            (r"beta[^\n]*the agent's --max-writers is 3, the plan asks for 4 writers: lower --qm", "--qm", "4", "--num-files", "1")):
            with self.subTest(pattern):
                process = self.start_drill(*more)
                self.assertEqual(process.finish(), 2, process.err)
                self.assertRegex(process.err, pattern)
                self.assert_nothing_left()
        self.drill("--num-files", "2")


class DurationCap(drills.DrillTest):

    agent_options = {"alpha": ["--max-duration", "1h"]}

    def test_an_agent_that_bounds_the_time_takes_no_drill_and_says_so(self):
        process = self.start_drill()
        self.assertEqual(process.finish(), 2, process.err)
        self.assertRegex(process.err, r"alpha[^\n]*the agent's --max-duration is 1h, the plan is a drill, whose length no option bounds: "
                         r"start the agent without --max-duration\n")
        self.assert_nothing_left()


class Interrupted(drills.DrillTest):

    def setUp(self):
        super().setUp()
        self.on_frozen = lambda: None

    def freeze_do(self, address):
        super().freeze_do(address)
        self.on_frozen()

    def assert_clean(self):
        self.fs.clear()
        self.await_no_instance()
        self.assert_nothing_left()

    def test_in_each_phase_an_interrupt_ends_the_drill_and_leaves_nothing(self):
        for rule, pattern in ((f"write {LOGS} delay_ms=50", r"^preparing"),
                              ("lock */active delay_ms=500", r"^starting the active instances"),
                              (None, r"^starting the active instances"),
                              (None, r"^round 1 of 50"),
                              (None, r"^round 3 of 50")):
            with self.subTest(pattern, rule=rule):
                if rule:
                    self.fs.fault(rule)
                process = self.start_drill("--file-size", "1m", faults=("kill", "freeze"), rounds=50)
                process.await_err(pattern)
                process.signal(signal.SIGINT)
                self.assertEqual(process.finish(), 3, process.err)
                self.assert_clean()

    def test_while_a_host_is_frozen_it_is_thawed_again(self):
        process = self.start_drill("--at", "5s", faults=("freeze",))
        self.await_waiting(process)
        # Nobody takes over: the drill would wait for its limit.
        self.refuse_locks(process)
        self.on_frozen = lambda: process.signal(signal.SIGINT)
        self.assertEqual(process.finish(), 3, process.err)
        self.assertEqual(self.commands.failures, [])
        self.assertFalse(any(harness.is_stopped(agent.agent_pid) for agent in self.agents.values()))
        self.assert_clean()

    def test_while_the_logs_are_scanned(self):
        process = self.start_drill("--at", "3s")
        self.await_waiting(process)
        # What the standby instance reads when it takes over passes; what a later one reads does not.
        for agent in self.agents.values():
            for pid in drills.instances_of(agent):
                self.fs.fault(f"read {LOGS} pid={pid} delay_ms=1")
        self.fs.fault(f"read {LOGS} hang interruptible").await_waiting()
        process.await_err(r"^scanning the logs")
        process.signal(signal.SIGINT)
        self.assertEqual(process.finish(), 3, process.err)
        self.assert_clean()


class Gone(drills.DrillTest):
    """On the disk: the fault file system shows others the lock of a marker whose agent has ended."""

    lies = False

    def test_a_second_interrupt_leaves_at_once_and_the_instances_end_with_the_lease(self):
        process = self.start_drill("--takeover-limit", "1s", "--lease", "10s", "--window", "30s")
        self.await_waiting(process)
        one, two = self.agents
        # So that the drill cannot end in order.
        self.agents[one].signal(signal.SIGSTOP)
        process.signal(signal.SIGINT)
        process.await_err(r"^ending the instances")
        process.signal(signal.SIGINT)
        self.assertEqual(process.finish(), 130, process.err)
        command = re.search(r"`plimsoll (clean --run (\w+) [^`]+)`", process.err)
        self.agents[one].signal(signal.SIGCONT)
        self.await_no_instance()
        # The agents keep a drill's files for a later session; the command that was printed removes them.
        listing = [word for word in command.group(1).split() if word != "--yes"]
        harness.wait_until(lambda: "in use" not in self.plimsoll(*listing).out, "the sessions of the run to end")
        self.plimsoll(*command.group(1).split())
        self.assert_nothing_left()

    def test_a_killed_controller_leaves_no_instance_and_any_host_removes_the_files(self):
        process = self.start_drill("--takeover-limit", "1s", "--lease", "3s", "--window", "30s")
        self.await_waiting(process)
        process.signal(signal.SIGKILL)
        process.finish()
        self.await_no_instance()
        one, two = self.agents
        run = next(path.name for path in self.dir.iterdir() if path.name.startswith("plimsoll-"))[len("plimsoll-"):]
        # The other agent is gone for good.
        self.poweroff_do(one)
        self.clean(run, two)


class Killed(drills.DrillTest):

    def test_a_killed_agent_leaves_no_instance_and_the_other_host_removes_its_files(self):
        process = self.start_drill("--window", "30s", "--hang-limit", "5s")
        self.await_waiting(process)
        one, two = self.agents
        self.poweroff_do(one)
        code = process.finish()
        self.assertEqual(code, 3, process.err)
        self.assertIn("host alpha was lost", process.out)
        self.assertFalse(drills.instances_of(self.agents[two]))
        self.assert_nothing_left()

    def test_a_full_disk_while_running_ends_the_drill_and_names_it(self):
        process = self.start_drill("--window", "30s", "--hang-limit", "5s")
        self.await_waiting(process)
        self.fs.fault(f"write {LOGS} error=ENOSPC")
        report = self.finish_drill(process, 3)
        self.assertEqual(report["verdict"]["outcome"], "inconclusive")
        self.assertRegex(report["text"], r"No space left on device")


if __name__ == "__main__":
    harness.main()
