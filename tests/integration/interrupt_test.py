"""Ctrl-C: once ends a run in order, twice at once; the agents clean up in either case."""

import signal

import harness
import schema


class Interrupt(harness.PlimsollTest):

    def test_once_gives_the_report_of_what_there_is(self):
        run = self.start_run("--duration", "60", "--bsize", "4k,8k")
        self.await_running(run)
        run.signal(signal.SIGINT)
        result = self.result_of(run, run.results, code=3)
        report = result.report
        self.assertEqual((report["run"]["state"], report["verdict"]["outcome"]), ("interrupted", "inconclusive"))
        (step,) = report["steps"]
        self.assertEqual(step["cut_short"], "interrupted")
        self.assertGreater(harness.cluster(step)["writes"], 0)
        self.assertGreater(step["measured_ns"], 0)
        self.assertLess(step["measured_ns"], 60_000_000_000)
        self.assertRegex(result.out, "(?i)interrupted")
        self.assert_nothing_left()
        self.assertEqual(list(self.runtime.iterdir()), [])

    def test_sigterm_does_the_same(self):
        run = self.start_run("--duration", "60")
        self.await_running(run)
        run.signal(signal.SIGTERM)
        self.assertEqual(self.result_of(run, run.results, code=3).report["run"]["state"], "interrupted")
        self.assert_nothing_left()

    def test_once_while_preparing_measures_nothing_and_leaves_nothing(self):
        run = self.start_run("--file-size", "1g", "--num-files", "3")
        run.await_err("^preparing")
        run.signal(signal.SIGINT)
        result = self.result_of(run, code=3)
        self.assertEqual(result.errors[-1], "plimsoll: interrupted while preparing: nothing was measured")
        self.assert_nothing_left()
        self.assertFalse(run.results.exists())

    def test_twice_leaves_at_once_and_the_agents_clean_up_by_themselves(self):
        alpha = self.agent("alpha")
        # A write that hangs for long would hold the first Ctrl-C up; a frozen agent does.
        run = self.start_run("--hosts", alpha.address, "--duration", "60")
        self.await_running(run)
        alpha.signal(signal.SIGSTOP)
        harness.wait_until(lambda: harness.is_stopped(alpha.agent_pid), "the agent is stopped")
        run.signal(signal.SIGINT)
        run.await_err("^stopping .interrupted.")
        self.assertTrue(run.running())
        run.signal(signal.SIGINT)
        result = self.result_of(run, code=130)
        self.assertRegex(
            result.errors[-1],
            rf"^plimsoll: exited at once; the agents stop and clean up within 10 ?s; "
            rf"`plimsoll report {run.results}` reports what there is$")
        alpha.signal(signal.SIGCONT)
        self.await_nothing_left()
        report = self.plimsoll("report", "--json", run.results, code=3).out
        self.assertGreater(harness.cluster(schema.parse(report)["steps"][0])["writes"], 0)
        self.run_plan("--hosts", alpha.address)

    def test_twice_with_a_child_agent_leaves_nothing_either(self):
        run = self.start_run("--duration", "60")
        self.await_running(run)
        (child,) = harness.children_of(run.pid)
        # Whether the second comes before the end of what the first began is the machine's business.
        run.signal(signal.SIGINT)
        run.signal(signal.SIGINT)
        self.assertIn(run.finish(), (130, 3))
        harness.wait_until(lambda: not harness.is_alive(child), "the child agent's end")
        self.assert_nothing_left()
        self.assertEqual(list(self.runtime.iterdir()), [])


if __name__ == "__main__":
    harness.main()
