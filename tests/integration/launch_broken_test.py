"""`--launch ssh` when something ends before its time: ssh, its server, or the controller, in each state of a run. Nothing
is left on any host."""

import contextlib
import json
import os
import signal

import harness
import ssh_hosts


class Broken(ssh_hosts.PairTest):
    def start_filling(self):
        """A run that fills its extents: hundreds of them."""
        run = self.start_over_ssh("--file-size", "1g", "--num-files", "3")
        harness.wait_until(lambda: len(harness.paths(self.dir, "*/*/qm1/active/*.LOG")) == 2, "extents of both")
        return run

    def test_a_client_killed_while_hosts_prepare(self):
        run = self.start_filling()
        os.kill(self.await_clients(run)[1], signal.SIGKILL)
        result = self.result_of(run, code=4)
        self.assertRegex(result.err, r"(?m)^plimsoll: host2 .*was lost while preparing$")
        self.await_only_the_cached_agent()

    def test_a_server_killed_while_hosts_measure(self):
        run = self.start_measuring("--on-host-loss", "abort")
        for pid in self.hosts[1].sessions():
            os.kill(pid, signal.SIGKILL)
        result = self.assert_host2_was_lost(run)
        self.assertRegex(result.err, r"(?m)^plimsoll: host2: ssh ended with exit code 255: .*; its agent ends with it$")

    def test_the_others_go_on(self):
        run = self.start_over_ssh("--duration", "10")
        self.await_running(run)
        os.kill(self.await_clients(run)[1], signal.SIGKILL)
        report = self.assert_host2_was_lost(run).report
        (step,) = report["steps"]
        self.assertEqual((step["cut_short"], step["measured_ns"]), ("", 10_000_000_000))

    def test_a_client_killed_while_hosts_end(self):
        run = self.start_over_ssh("--duration", "4", "--num-files", "500", "--file-size", "16k", "--qm", "4")
        client = self.await_clients(run)[1]
        harness.wait_until(lambda: len(harness.paths(self.dir, "*/host2/*/active/*.LOG")) == 2000, "all extents")
        harness.wait_until(lambda: len(harness.paths(self.dir, "*/host2/*/active/*.LOG")) < 2000, "the first that is removed")
        # On a busy machine everything may be removed, and the client gone, by now.
        with contextlib.suppress(ProcessLookupError):
            os.kill(client, signal.SIGKILL)
        self.assertIn(run.finish(), (0, 3), run.err)
        self.await_only_the_cached_agent()

    def test_a_client_killed_while_hosts_are_connected(self):
        run = self.start_over_ssh()
        os.kill(self.await_clients(run)[1], signal.SIGKILL)
        result = self.result_of(run, code=4)
        self.assertRegex(result.err, r"(?m)^plimsoll: host2: .*\(ssh.*")
        self.await_nothing_runs()
        self.await_nothing_left()

    def test_a_controller_killed_while_hosts_prepare(self):
        run = self.start_filling()
        run.signal(signal.SIGKILL)
        run.finish()
        self.await_only_the_cached_agent()

    def test_a_controller_killed_while_it_copies(self):
        run = self.start_over_ssh()
        part = harness.wait_until(lambda: list(self.hosts[0].home.glob(".cache/plimsoll/*/.part-*")), "a part of the agent")
        run.signal(signal.SIGKILL)
        run.finish()
        self.await_nothing_runs()
        self.await_nothing_left()
        self.assertFalse(any(path.exists() for path in part))
        harness.wait_until(lambda: not list(self.runtime.iterdir()), "no socket on this machine")
        for host in self.hosts:
            self.assertEqual(list(host.tmp.iterdir()), [])
        self.over_ssh()
        self.await_only_the_cached_agent()

    def test_an_interrupt_while_agents_are_started_leaves_nothing(self):
        run = self.start_over_ssh()
        self.await_clients(run)
        run.signal(signal.SIGINT)
        result = self.result_of(run, code=3)
        self.assertEqual(result.errors[-1], "plimsoll: interrupted: nothing was measured", result)
        self.await_nothing_runs()
        self.await_nothing_left()
        harness.wait_until(lambda: not list(self.runtime.iterdir()), "no socket on this machine")

    def interrupted_acceptance(self, during):
        """The runs of an acceptance that was interrupted while the agents of that part were started."""
        out = self.base / "accepted"
        process = self.start_plimsoll(
            "accept", "--hosts", self.names, *self.launch(), "--dir", "/mnt", "--out", out, "--file-size", "64k", "--num-files",
            "2", "--rate", "20", "--arrival", "even", "--duration", "5s", "--require", "p50<5s", "--parts", "storage,fsck,load",
            "--runs", "1", wrap=self.network.on_controller())
        process.await_err(f": {during}, about ")
        self.await_clients(process)
        process.signal(signal.SIGINT)
        result = self.result_of(process, code=3)
        record = json.loads((out / "accept.json").read_text())
        self.assertEqual(record["cut_short"], "interrupted", result)
        (reason,) = next(run for run in record["runs"] if run["began"] and not run["complete"])["reasons"]
        self.assertIn("interrupted", reason)
        self.assertNotIn("starting agents", reason)
        self.await_nothing_runs()
        self.await_nothing_left()
        return {run["part"]: run["began"] for run in record["runs"]}

    def test_an_acceptance_that_is_interrupted_while_agents_are_started_ends(self):
        self.assertEqual(self.interrupted_acceptance("storage"), {"storage": True, "fsck": False, "load": False})

    def test_an_acceptance_that_is_interrupted_while_agents_of_the_checks_are_started_ends(self):
        self.assertEqual(self.interrupted_acceptance("fsck, run 1"), {"storage": True, "fsck": True, "load": False})

    def start_acceptance_without_end(self, *arguments):
        """With ssh clients that never get through: the controller has time to show how far it is."""
        client = self.base / "slow-ssh"
        # As ssh to a host that hangs: it does nothing until the controller, or the end of the test, kills it. One acceptance
        # may be starting it while another begins: it cannot be written then.
        if not client.exists():
            client.write_text("#!/bin/sh\nexec tail -f /dev/null\n")
            client.chmod(0o755)
        return self.start_plimsoll(
            "accept", "--hosts", self.names, "--launch", "ssh", "--ssh-command", client, "--launch-agent", self.agent_file(), "--dir",
            "/mnt", "--rate", "20", "--arrival", "even", "--duration", "5s", "--require", "p50<5s", "--parts", "fsck,load",
            "--runs", "1", *arguments, wrap=self.network.on_controller())

    def test_a_quiet_acceptance_shows_no_progress_of_the_launch(self):
        quiet = self.start_acceptance_without_end("--out", self.base / "quiet", "--quiet")
        harness.wait_until(lambda: harness.children_of(quiet.pid), "the clients of the quiet one")
        # One that began later has shown some.
        self.start_acceptance_without_end("--out", self.base / "accepted").await_err("(?m)^starting agents over ssh: ")
        self.assertEqual(quiet.err, "")

    def test_an_acceptance_that_is_interrupted_while_it_shows_progress_of_the_launch_ends(self):
        out = self.base / "accepted"
        process = self.start_acceptance_without_end("--out", out)
        process.await_err("(?m)^starting agents over ssh: ")
        process.signal(signal.SIGINT)
        result = self.result_of(process, code=3)
        record = json.loads((out / "accept.json").read_text())
        self.assertEqual([run["began"] for run in record["runs"]], [True, False], result)
        self.assertEqual(record["runs"][0]["reasons"], ["interrupted while the agents were started"])
        self.assertEqual(record["cut_short"], "interrupted")

    def test_an_interrupted_run_reports_and_leaves_nothing(self):
        run = self.start_measuring()
        run.signal(signal.SIGINT)
        self.result_of(run, run.results, code=3)
        self.await_only_the_cached_agent()

    def test_a_run_that_is_left_at_once_leaves_nothing(self):
        run = self.start_measuring()
        agent_pid = self.hosts[1].agent_pid()
        os.kill(agent_pid, signal.SIGSTOP)
        self.addCleanup(self.resume, self.hosts[1])
        # While its main thread has no CPU, the others go on.
        harness.wait_until(lambda: harness.is_stopped(agent_pid, but_for_calls=True), "a suspended agent")
        run.signal(signal.SIGINT)
        run.await_err("^stopping .interrupted.")
        run.signal(signal.SIGINT)
        self.assertEqual(run.finish(), 130, run.err)
        self.resume(self.hosts[1])
        self.await_only_the_cached_agent()

    @staticmethod
    def resume(host):
        for pid in host.processes().get("plimsoll-agent", ()):
            os.kill(pid, signal.SIGCONT)


    def test_a_cable_that_is_pulled(self):
        run = self.start_measuring("--on-host-loss", "abort")
        self.network.unplug(2)
        result = self.result_of(run, run.results, code=3)
        self.assertEqual([host["label"] for host in result.report["hosts"] if "lost" in host], ["host2"])
        self.assertRegex(result.err, r"(?m)^plimsoll: host2: the agent did not end in time: ")
        # By itself: its files go with the lease, and it ends when no session comes.
        self.await_nothing_left()
        harness.wait_until(lambda: not self.hosts[1].processes(), "the end of what runs on host2", timeout_s=120)
        self.network.plug_in(2)
        self.await_only_the_cached_agent()

    def test_a_host_whose_server_hangs(self):
        self.hosts[1].stop()
        run = self.start_over_ssh()
        result = self.result_of(run, code=4)
        self.assertRegex(result.err, r"(?m)^plimsoll: host2: does not answer: .* \(ssh: .*timed out.*\)$")
        harness.wait_until(lambda: not self.hosts[0].processes(), "no process on host1")


if __name__ == "__main__":
    harness.main()
