"""plimsoll-agent: where it listens, and how it ends."""

import os
import signal
import socket
import stat

import harness


class Agent(harness.PlimsollTest):

    def refused(self, *arguments, code=2):
        process = self.start(harness.Process, [harness.binary("plimsoll-agent"), *arguments])
        self.assertEqual(process.finish(), code, process.err)
        self.assertEqual(process.out, "")
        self.assertEqual(len(process.err.splitlines()), 1, process.err)
        return process.err

    def test_an_address_that_others_reach_needs_insecure_spelled_out(self):
        for listen in ("0.0.0.0:0", "[::]:0"):
            line = self.refused("--root", self.dir, "--listen", listen)
            self.assertIn(f"--listen {listen}", line)
            self.assertIn("--insecure", line)
        self.agent("alpha", listen="0.0.0.0:0", more=["--insecure"])

    def test_wrong_options_are_refused(self):
        self.assertIn("--root", self.refused())
        self.assertIn("does not exist; create it", self.refused("--root", self.dir / "missing"))
        self.assertIn("--frobnicate", self.refused("--root", self.dir, "--frobnicate"))
        self.assertIn("--log-level", self.refused("--root", self.dir, "--log-level", "loud"))

    def test_an_address_that_is_taken_is_reported(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            process = self.start(harness.Process,
                                 [harness.binary("plimsoll-agent"), "--root", self.dir, "--listen", address])
            self.assertEqual(process.finish(), 4, process.err)
            self.assertIn(f"cannot listen on {address}", process.err)

    def test_a_socket_file_is_its_owners_alone_and_is_named_when_it_listens(self):
        path = self.base / "agent.sock"
        alpha = self.agent("alpha", listen=f"unix:{path}")
        self.assertTrue(stat.S_ISSOCK(path.stat().st_mode))
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.assertEqual(alpha.address, f"unix:{path}")

    def test_an_idle_agent_ends_at_once(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            alpha = self.agent("alpha")
            alpha.signal(number)
            self.assertEqual(alpha.finish(), 0)
            self.assertRegex(alpha.err, "(?m)plimsoll-agent 'alpha' ends$")

    def start_with_stdin(self, *arguments):
        """An agent that ends with its standard input, and the end of that which keeps it."""
        read_end, write_end = os.pipe()
        keeper = os.fdopen(write_end, "wb", buffering=0)
        self.addCleanup(keeper.close)
        agent = self.start(harness.Process, [
            harness.binary("plimsoll-agent"), "--name", "alpha", "--root", self.dir, "--listen", f"unix:{self.base}/a.sock",
            "--exit-with-stdin", *arguments], stdin=read_end)
        os.close(read_end)
        harness.wait_until(lambda: agent.out == "listening\n", "the line that it listens")
        return agent, keeper

    def test_an_agent_ends_with_its_standard_input_after_it_has_cleaned_up(self):
        for end in ("close", "line"):
            agent, keeper = self.start_with_stdin()
            run = self.start_run("--hosts", f"unix:{self.base}/a.sock", "--duration", "60", "--lease", "60s")
            self.await_running(run)
            if end == "close":
                keeper.close()
            else:
                keeper.write(b"end\n")
            self.assertEqual(agent.finish(), 0, agent.err)
            self.assert_nothing_left()
            self.assertFalse((self.base / "a.sock").exists())
            self.result_of(run, run.results, code=3)

    def test_an_agent_without_a_session_ends_after_a_while(self):
        agent, _ = self.start_with_stdin("--session-wait", "3s")
        # A session keeps it, and the while begins anew afterwards.
        self.run_plan("--hosts", f"unix:{self.base}/a.sock", "--duration", "4s")
        self.assertTrue(agent.running())
        self.assertEqual(agent.finish(), 3, agent.err)
        self.assertFalse((self.base / "a.sock").exists())

    def test_a_busy_agent_ends_after_it_has_cleaned_up(self):
        alpha = self.agent("alpha")
        run = self.start_run("--hosts", alpha.address, "--duration", "60")
        self.await_running(run)
        alpha.signal(signal.SIGTERM)
        self.assertEqual(alpha.finish(), 0)
        self.assert_nothing_left()
        self.assertIn("the agent was stopped", self.result_of(run, run.results, code=3).out)

    def test_an_agent_that_prepares_ends_after_it_has_cleaned_up(self):
        alpha = self.agent("alpha")
        run = self.start_run("--hosts", alpha.address, "--file-size", "1g", "--num-files", "3")
        harness.wait_until(lambda: harness.paths(self.dir, "**/*.LOG"), "the first extent")
        alpha.signal(signal.SIGTERM)
        self.assertEqual(alpha.finish(), 0)
        self.assert_nothing_left()
        result = self.result_of(run, code=4)
        self.assertRegex(result.err, "(?m)^plimsoll: alpha.*(was stopped|lost|stopped while preparing)")

    def test_an_agent_serves_one_run_after_the_other(self):
        alpha = self.agent("alpha")
        files = len(os.listdir(f"/proc/{alpha.agent_pid}/fd"))
        for _ in range(3):
            self.run_plan("--hosts", alpha.address, "--qm", "4", "--duration", "100ms")
        harness.wait_until(lambda: len(os.listdir(f"/proc/{alpha.agent_pid}/fd")) <= files + 2, "descriptors closed")
        self.assert_nothing_left()


if __name__ == "__main__":
    harness.main()
