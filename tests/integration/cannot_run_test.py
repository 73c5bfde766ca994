"""Agents that are not there, or not to be had: exit code 4, each one named."""

import shutil
import signal
import socket

import harness


def free_port():
    """A port on which nobody listens just now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class CannotRun(harness.PlimsollTest):

    def not_run(self, *arguments):
        result = self.plimsoll("run", "--dir", self.dir, *arguments, code=4)
        self.assertEqual(result.out, "", result)
        self.assertFalse((self.base / "plimsoll-results").exists(), "a directory for results was made")
        return result.errors

    def test_each_agent_that_is_down_is_named(self):
        alpha = self.agent("alpha")
        down = [f"127.0.0.1:{free_port()}", f"unix:{self.base}/nobody.sock"]
        lines = self.not_run("--hosts", ",".join([down[0], alpha.address, down[1]]))
        self.assertEqual(len(lines), 2, lines)
        for address, line in zip(down, lines):
            self.assertTrue(line.startswith(f"plimsoll: {address}: "), line)
            self.assertRegex(line, "no agent is listening")
        self.assert_nothing_left()

    def test_hosts_shows_those_that_are_there_and_names_the_others(self):
        alpha = self.agent("alpha")
        down = f"127.0.0.1:{free_port()}"
        result = self.plimsoll("hosts", "--hosts", f"{down},{alpha.address}", code=4)
        self.assertRegex(result.out, rf"(?m)^  alpha +{alpha.address} ")
        self.assertEqual(len(result.errors), 1, result)
        self.assertIn(f"{down}: ", result.err)

    def test_a_busy_agent_says_who_holds_it(self):
        alpha = self.agent("alpha")
        first = self.start_run("--hosts", alpha.address, "--duration", "30")
        self.await_running(first)
        (directory,) = self.dir.iterdir()
        run_id = directory.name.removeprefix("plimsoll-")
        (line,) = self.not_run("--hosts", alpha.address)
        self.assertRegex(line, rf"^plimsoll: {alpha.address}: the agent is busy: run {run_id} of \S+ has held it for \d+ s "
                         r"\([a-z ]+, at most 30 s of writing in all; without its controller the lease ends it within 10s\); wait for its end, or end it with Ctrl-C "
                         r"at its controller$")
        self.assertRegex(line, rf" run {run_id} of 127\.0\.0\.1:\d+ ")
        self.assertIn(f"run {run_id} of 127.0.0.1:", self.plimsoll("hosts", "--hosts", alpha.address).out)
        # The one that holds it is not disturbed.
        self.assertTrue(first.running())
        first.signal(signal.SIGINT)
        result = self.result_of(first, first.results, code=3)
        self.assertEqual(result.report["run"]["state"], "interrupted")
        self.run_plan("--hosts", alpha.address)

    def test_a_busy_agent_is_waited_for(self):
        alpha = self.agent("alpha")
        first = self.start_run("--hosts", alpha.address, "--duration", "30")
        self.await_running(first)
        (directory,) = self.dir.iterdir()
        run_id = directory.name.removeprefix("plimsoll-")
        # Not for longer than it was told to, and Ctrl-C ends it.
        (*_, line) = self.not_run("--hosts", alpha.address, "--wait", "1s")
        self.assertIn(f"{alpha.address}: the agent is busy: run {run_id} of ", line)
        waiting = rf"^waiting for {alpha.address}, at most \d+ \w+.*: run {run_id} of \S+ has held it for \d+ s \("
        given_up = self.start_run("--hosts", alpha.address, "--wait")
        given_up.await_err(waiting)
        given_up.signal(signal.SIGINT)
        self.assertEqual(given_up.finish(), 3, given_up.err)
        second = self.start_run("--hosts", alpha.address, "--wait")
        second.await_err(waiting)
        first.signal(signal.SIGINT)
        self.result_of(first, first.results, code=3)
        self.finished(second, second.results, code=(0, 3))
        self.assertEqual(second.err.count("waiting for "), 1)

    def test_an_address_that_answers_but_is_no_agent(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = f"127.0.0.1:{server.getsockname()[1]}"
            (line,) = self.not_run("--hosts", address, "--lease", "1s")
            self.assertTrue(line.startswith(f"plimsoll: {address}: "), line)

    def test_a_name_that_is_nobodys(self):
        (line,) = self.not_run("--hosts", "no-such-host.invalid", "--lease", "20s")
        self.assertTrue(line.startswith("plimsoll: no-such-host.invalid: name not found"), line)

    def test_a_run_without_hosts_names_the_agent_program_that_is_not_beside_it(self):
        program = shutil.copy(harness.binary("plimsoll"), self.base)
        process = self.start(harness.Process, [program, "run", "--dir", self.dir])
        self.assertEqual(process.finish(), 4)
        self.assertEqual(process.err, f"plimsoll: start {self.base}/plimsoll-agent: No such file or directory (2)\n")
        self.assertEqual(list(self.runtime.iterdir()), [])


if __name__ == "__main__":
    harness.main()
