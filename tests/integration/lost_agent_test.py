"""An agent that dies or stands still: the run ends with the host named, and keeps every host's data."""

import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faultfs"))

import faultfs  # noqa: E402
import harness

BLOCK_BYTES = 64 << 10


class LostAgent(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        self.alpha, self.beta = self.agent("alpha"), self.agent("beta")

    def start_both(self, *arguments, duration="60"):
        run = self.start_run("--hosts", f"{self.alpha.address},{self.beta.address}", "--duration", duration, "--bsize",
                             "64k", *arguments)
        self.await_running(run)
        return run

    def assert_beta_was_lost(self, result):
        report = result.report
        self.assertEqual([host["label"] for host in report["hosts"] if "lost" in host], ["beta"])
        self.assertIn("data_until", report["hosts"][1]["lost"])
        self.assertEqual(report["verdict"]["outcome"], "inconclusive")
        for scope in harness.scopes(report["steps"][0], "host"):
            self.assertGreater(scope["writes"], 0, scope)
            self.assertEqual("data_until" in scope, scope["host"] == "beta")
        self.assertRegex(result.out, "(?m)beta.* lost")
        self.assertRegex(result.err, "(?m)^plimsoll: host beta is lost: (the session broke: connection (closed|reset|lost)|lease expired: .*)$")
        for text in (result.err, result.out, (result.results / "report.json").read_text()):
            self.assertNotRegex(text, "Socket closed|Stream removed|by peer")
        return report

    def test_a_killed_agent_is_named_and_all_data_are_kept(self):
        run = self.start_both("--on-host-loss", "abort")
        self.beta.signal(signal.SIGKILL)
        report = self.assert_beta_was_lost(self.result_of(run, run.results, code=3))
        self.assertEqual(report["steps"][0]["cut_short"], "host beta was lost (--on-host-loss abort)")
        self.assertEqual([path.name for path in self.dir.glob("*/*")], ["beta"], "alpha cleans up, beta cannot")

    def test_the_command_that_is_printed_for_a_killed_agent_removes_its_files(self):
        blank = self.base / "log of gamma"
        blank.mkdir()
        gamma = self.agent("gamma", root=blank, more=["--max-writers", "9", "--keep-leftovers"])
        run = self.start_run("--hosts", gamma.address, "--duration", "60", dir=blank)
        self.await_running(run)
        gamma.signal(signal.SIGKILL)
        result = self.result_of(run, run.results, code=3)
        (command,) = re.findall(r"(?m)^plimsoll: if the agent on gamma was killed, .* run this on gamma: (.*)$", result.err)
        self.assertEqual(command, result.report["hosts"][0]["lost"]["cleanup_command"])
        self.assertEqual(command, f"plimsoll-agent --name=gamma --root '{blank}' --listen 127.0.0.1:0 --exit-with-stdin </dev/null")
        self.assertNotEqual(list(blank.glob("*")), [])
        # As the report shows it, over several lines.
        shown = result.out[result.out.index("run there:"):].splitlines()[1:]
        count = sum(1 for _ in itertools.takewhile(lambda line: line.endswith("\\"), shown)) + 1
        self.paste("\n".join(shown[:count]).strip())
        self.assertEqual(list(blank.glob("*")), [])

    def paste(self, command):
        """Runs the command as a shell does in which the programs are found, and waits for its end."""
        path = f"{os.path.dirname(harness.binary('plimsoll'))}:{os.environ['PATH']}"
        ended = subprocess.run(["sh", "-c", command], env={**os.environ, "PATH": path}, check=False, capture_output=True, text=True,
                               timeout=harness.LONG_S)
        self.assertEqual(ended.returncode, 0, f"{command}\n{ended.stderr}")

    def test_the_files_of_an_agent_that_its_controller_had_started_go_with_the_command_that_is_printed(self):
        run = self.start_run("--duration", "60")
        self.await_running(run)
        (child,) = [pid for pid in harness.children_of(run.pid) if harness.comm_of(pid) == "plimsoll-agent"]
        os.kill(child, signal.SIGKILL)
        result = self.result_of(run, run.results, code=3)
        command = result.report["hosts"][0]["lost"]["cleanup_command"]
        self.assertNotEqual(list(self.dir.glob("*")), [])
        self.assertRegex(command, f"^plimsoll clean --dir {re.escape(str(self.dir))} --run [0-9a-f]+ --yes$")
        self.paste(command)
        self.assert_nothing_left()

    def test_an_agent_lost_while_it_prepares_is_named_and_the_others_clean_up(self):
        run = self.start_run("--hosts", f"{self.alpha.address},{self.beta.address}", "--file-size", "1g", "--num-files",
                             "3")
        harness.wait_until(lambda: len(harness.paths(self.dir, "*/*/qm1/active/*.LOG")) == 2, "extents of both")
        self.beta.signal(signal.SIGKILL)
        result = self.result_of(run, code=4)
        self.assertRegex(result.errors[-2], rf"^plimsoll: beta \({self.beta.address}\) was lost while preparing$")
        self.assertRegex(result.errors[-1], r"^plimsoll: if the agent on beta was killed, .* plimsoll-agent --name=beta --root ")
        self.assertFalse(run.results.exists())
        self.assertEqual([path.name for path in self.dir.glob("*/*")], ["beta"])

    def test_the_others_go_on(self):
        run = self.start_both(duration="6")
        self.beta.signal(signal.SIGKILL)
        report = self.assert_beta_was_lost(self.result_of(run, run.results, code=3))
        (step,) = report["steps"]
        self.assertEqual((step["cut_short"], step["measured_ns"]), ("", 6_000_000_000))
        alpha, beta = harness.scopes(step, "host")
        self.assertEqual(alpha["measured_ns"], 6_000_000_000)
        self.assertLess(beta["measured_ns"], 6_000_000_000)

    def test_a_criterion_for_hosts_that_holds_lets_a_run_pass_without_one_of_them(self):
        run = self.start_both("--require", "hosts>=1", "--require", "iops>=1", duration="6")
        self.beta.signal(signal.SIGKILL)
        report = self.result_of(run, run.results, code=0).report
        self.assertEqual([host["label"] for host in report["hosts"] if "lost" in host], ["beta"])
        verdict = report["verdict"]
        self.assertEqual((verdict["outcome"], verdict["reasons"]), ("pass", []))
        self.assertTrue(any("beta was lost" in note for note in report["notes"]), report["notes"])

    def test_a_frozen_agent_is_noticed_and_writes_no_more_when_it_is_woken(self):
        run = self.start_both("--lease", "2s", "--on-host-loss", "abort")
        self.beta.signal(signal.SIGSTOP)
        report = self.assert_beta_was_lost(self.result_of(run, run.results, code=3))
        self.assertRegex(report["hosts"][1]["lost"]["reason"], "lease expired: no message for 2 ?s")
        before = self.written_bytes(self.beta)
        self.beta.signal(signal.SIGCONT)
        self.beta.await_err("session of .* ends: ")
        # One write may have been about to enter the kernel when the process stood still.
        self.assertLess(self.written_bytes(self.beta) - before, 2 * BLOCK_BYTES)
        self.await_nothing_left()
        self.run_plan("--hosts", f"{self.alpha.address},{self.beta.address}")

    def written_bytes(self, agent):
        """What the process has given to write calls, those of ended threads included."""
        text = pathlib.Path(f"/proc/{agent.agent_pid}/io").read_text()
        return int(text.split("wchar: ")[1].split()[0])

    def test_an_agent_that_is_terminated_stops_its_run_and_cleans_up(self):
        run = self.start_both("--on-host-loss", "abort")
        self.beta.signal(signal.SIGTERM)
        self.assertEqual(self.beta.finish(), 0)
        result = self.result_of(run, run.results, code=3)
        alpha, beta = result.report["hosts"]
        self.assertEqual([fault["message"] for fault in beta["faults"]], ["the agent was stopped"])
        self.assertEqual(alpha["faults"], [])
        self.assertEqual(result.report["run"]["state"], "aborted")
        self.assertIn("host beta failed: the agent was stopped", result.out)
        for scope in harness.scopes(result.report["steps"][0], "host"):
            self.assertGreater(scope["writes"], 0, scope)
        self.assert_nothing_left()


class FailedWrite(harness.PlimsollTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        faultfs.own_mounts()

    def test_a_write_that_fails_on_one_host_is_forgiven_where_enough_hosts_go_on(self):
        fs = faultfs.mounted(self)
        agents = [self.agent(name, root=fs.mountpoint) for name in ("gamma", "delta")]
        fs.fault(f"write *.LOG pid={agents[1].agent_pid} after=400 error=EIO")
        for required, code in ((("hosts>=1",), 0), (("hosts>=2",), 1), ((), 3)):
            with self.subTest(required):
                criteria = [word for one in ("iops>=1", *required) for word in ("--require", one)]
                run = self.start_run("--hosts", ",".join(agent.address for agent in agents), "--duration", "6",
                                     "--bsize", "4k", *criteria, dir=fs.mountpoint)
                report = self.result_of(run, run.results, code=code).report
                (step,) = report["steps"]
                self.assertEqual((step["cut_short"], report["run"]["state"]), ("", "complete"))
                gamma, delta = harness.scopes(step, "host")
                self.assertEqual((gamma["measured_ns"], "data_until" in gamma), (6_000_000_000, False))
                self.assertIn("data_until", delta)
                told = report["notes"] if code == 0 else report["verdict"]["reasons"]
                self.assertTrue(any("delta/qm1 failed: " in text for text in told), told)
            fs.clear()
            fs.fault(f"write *.LOG pid={agents[1].agent_pid} after=400 error=EIO")


if __name__ == "__main__":
    harness.main()
