"""A write that never returns, beyond the rows of the table: what it does to verdict, other hosts, the agent's end, a child agent."""

import pathlib
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "faultfs")]

import faultfs  # noqa: E402
import harness  # noqa: E402


def setUpModule():
    faultfs.own_mounts()


class HungWrite(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        self.fs = faultfs.mounted(self)
        self.dir = self.fs.mountpoint

    def tearDown(self):
        # Nothing that hangs can be ended.
        self.fs.clear()

    def hang(self, host="*", after=20):
        """Some measured writes after those that fill three extents."""
        return self.fs.fault(f"write */{host}/*.LOG after={3 + after} count=1 hang")

    def start_hanging(self, *arguments, duration="1500ms"):
        return self.start_run("--file-size", "64k", "--rate", "40", "--duration", duration, "--lease", "1s", "--hang-limit",
                              "2s", *arguments)

    def test_a_limit_that_the_write_in_flight_breaks_for_certain_has_failed(self):
        alpha = self.agent("alpha")
        self.hang()
        run = self.start_hanging("--hosts", alpha.address, "--require", "max<1s", "--require", "max<1h")
        result = self.result_of(run, run.results, code=1)
        verdict = result.report["verdict"]
        self.assertEqual(verdict["outcome"], "fail")
        certain, doubtful, rate = verdict["criteria"]
        self.assertTrue(rate["added"])
        self.assertEqual((certain["outcome"], doubtful["outcome"]), ("fail", "inconclusive"))
        self.assertGreater(certain["value"], 1e9)
        (write,) = result.report["steps"][0]["in_flight"]
        self.assertEqual((write["host"], write["qm"]), ("alpha", 1))
        self.assertRegex(write["path"], r"/alpha/qm1/active/S000000\d\.LOG$")
        self.assertGreater(write["age_ns"], 2e9)

    def test_the_others_go_on_to_the_next_step_where_that_is_asked_for(self):
        alpha, beta = self.agent("alpha"), self.agent("beta")
        self.hang("beta")
        run = self.start_hanging("--hosts", f"{alpha.address},{beta.address}", "--bsize", "4k,8k", "--on-host-loss",
                                 "continue")
        report = self.result_of(run, run.results, code=3).report
        self.assertEqual([step["cut_short"] for step in report["steps"]], ["", ""])
        self.assertEqual([host["label"] for host in report["hosts"] if "lost" in host], ["beta"])
        (second,) = harness.scopes(report["steps"][1], "host")
        self.assertEqual(second["host"], "alpha")
        self.assertGreater(second["writes"], 0)

    def test_an_agent_that_is_terminated_says_what_it_leaves_and_gives_its_address_back(self):
        alpha = self.agent("alpha", more=["--stop-wait", "1s"])
        hang = self.hang()
        run = self.start_hanging("--hosts", alpha.address)
        hang.await_waiting()
        alpha.signal(signal.SIGTERM)
        alpha.await_err(r"ends although busy with run [0-9a-f]+ of .*; qm1 has been in one write to \S+\.LOG for \d+ s\); its "
                        r"files stay in \S+/alpha \(--stop-wait 1s\); an agent with the same name and roots removes its files when it starts")
        self.result_of(run, run.results, code=3)
        # Its process cannot go before the write returns; another agent can listen there all the same.
        self.assertTrue(alpha.running())
        second = harness.wait_until(lambda: self.try_agent(alpha.address), "an agent on the same address")
        self.assertEqual([path.name for path in harness.paths(self.fs.backing, "*/*")], ["alpha"], "its owner is alive")
        second.signal(signal.SIGTERM)
        self.assertEqual(second.finish(), 0)
        harness.wait_until(lambda: not harness.is_alive(alpha.agent_pid), "the end of all of it but the thread that hangs")
        hang.release()
        self.assertEqual(alpha.finish(), 4)
        third = harness.wait_until(lambda: self.agent_that_removes(alpha.address), "the removal of what was left")
        self.run_plan("--hosts", third.address)

    def agent_that_removes(self, address):
        """FUSE tells of a closed file, and so of a lock that goes with it, only a little later."""
        agent = self.agent("alpha", listen=address)
        if not list(self.fs.backing.iterdir()):
            agent.await_err("removed leftovers of a previous agent: ")
            return agent
        agent.signal(signal.SIGTERM)
        agent.finish()
        return None

    def try_agent(self, address):
        try:
            return self.agent("alpha", listen=address)
        except AssertionError:
            return None

    def test_a_controller_does_not_wait_for_a_child_agent_that_hangs(self):
        hang = self.hang()
        run = self.start_hanging()
        hang.await_waiting()
        (child,) = harness.children_of(run.pid)
        result = self.result_of(run, run.results, code=3)
        self.assertRegex(result.err, rf"the agent of this run \(process {child}\) is left running")
        self.assertTrue(harness.is_alive(child))
        hang.release()
        harness.wait_until(lambda: not harness.is_alive(child), "the child agent's end")
        self.await_nothing_left(self.fs.backing)
        self.assertEqual(list(self.runtime.iterdir()), [])

    def test_an_interrupt_waits_for_a_hung_write_no_longer_than_the_limit(self):
        alpha = self.agent("alpha")
        hang = self.hang()
        run = self.start_hanging("--hosts", alpha.address, duration="60")
        hang.await_waiting()
        run.signal(signal.SIGINT)
        report = self.result_of(run, run.results, code=3).report
        self.assertEqual(report["run"]["state"], "interrupted")
        self.assertIn("--hang-limit", report["hosts"][0]["lost"]["reason"])


if __name__ == "__main__":
    harness.main()
