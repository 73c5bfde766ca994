"""A controller that dies or stands still: its agents stop within the lease, clean up, and take the next run."""

import signal

import harness
import schema


class LostController(harness.PlimsollTest):

    def kill_in_step(self, *arguments):
        run = self.start_run("--duration", "60", *arguments)
        self.await_running(run)
        # The journal is flushed once a second.
        harness.wait_until(lambda: (run.results / "journal").stat().st_size > 2000, "some journal")
        run.signal(signal.SIGKILL)
        run.finish()
        return run

    def test_agents_of_a_killed_controller_stop_clean_up_and_take_the_next_run(self):
        alpha = self.agent("alpha")
        run = self.kill_in_step("--hosts", alpha.address, "--lease", "2s")
        self.await_nothing_left()
        alpha.await_err("session of .* ends: ")
        self.run_plan("--hosts", alpha.address)
        result = self.plimsoll("report", run.results, code=3)
        report = schema.parse((run.results / "report.json").read_text())
        self.assertEqual((report["run"]["state"], report["verdict"]["outcome"]), ("cut_off", "inconclusive"))
        self.assertGreater(harness.cluster(report["steps"][0])["writes"], 0)
        self.assertRegex(result.out, "INCONCLUSIVE: the journal ends in step 1 of 1")

    def test_the_child_agent_of_a_killed_controller_ends_and_leaves_nothing(self):
        run = self.start_run("--duration", "60", "--lease", "2s")
        self.await_running(run)
        (child,) = harness.children_of(run.pid)
        run.signal(signal.SIGKILL)
        run.finish()
        harness.wait_until(lambda: not harness.is_alive(child), "the child agent's end")
        self.assert_nothing_left()
        self.assertEqual(list(self.runtime.iterdir()), [])

    def test_a_controller_killed_while_it_prepares_leaves_nothing(self):
        alpha = self.agent("alpha")
        run = self.start_run("--hosts", alpha.address, "--file-size", "1g", "--num-files", "3")
        run.await_err("^preparing")
        harness.wait_until(lambda: harness.paths(self.dir, "**/*.LOG"), "the first extent")
        run.signal(signal.SIGKILL)
        run.finish()
        self.await_nothing_left()
        self.run_plan("--hosts", alpha.address)

    def test_agents_of_a_frozen_controller_stop_with_their_lease(self):
        alpha, beta = self.agent("alpha"), self.agent("beta")
        run = self.start_run("--hosts", f"{alpha.address},{beta.address}", "--duration", "60", "--lease", "2s")
        self.await_running(run)
        run.signal(signal.SIGSTOP)
        for agent in (alpha, beta):
            agent.await_err("session of .* ends: lease expired: no message from the controller for 2 ?s")
        self.await_nothing_left()
        run.signal(signal.SIGCONT)
        report = self.result_of(run, run.results, code=3).report
        self.assertNotEqual(report["run"]["state"], "complete")
        self.assertGreater(harness.cluster(report["steps"][0])["writes"], 0)
        self.run_plan("--hosts", f"{alpha.address},{beta.address}")


if __name__ == "__main__":
    harness.main()
