"""What an agent allows a plan: refused before anything is touched, with the cap, what was asked for, and the way out."""

import harness


class Caps(harness.PlimsollTest):

    def refused(self, agent, pattern, *arguments):
        """The plan is refused with one line, by a run and by a dry run, and the agent sees no session."""
        for more in ([], ["--dry-run"]):
            result = self.run_plan("--hosts", agent.address, *arguments, *more, code=2)
            (line,) = result.errors
            self.assertRegex(line, rf"^plimsoll: alpha \(.*\): the agent's {pattern}")
            self.assertFalse(result.results.exists())
        self.assertNotIn("session of", agent.err)
        self.assert_nothing_left()

    def test_bytes(self):
        agent = self.agent("alpha", more=["--max-bytes", "1m"])
        self.refused(agent, r"--max-bytes is 1m, the plan asks for 1,572,864 bytes of extents \(2 x 3 x 256k\): "
                     r"lower --qm, --num-files or --file-size, or start the agent with a larger --max-bytes$", "--qm", "2")
        self.run_plan("--hosts", agent.address, "--qm", "2", "--num-files", "2")

    def test_files(self):
        agent = self.agent("alpha", more=["--max-files", "5"])
        self.refused(agent, r"--max-files is 5, the plan asks for 6 extents \(2 x 3\): lower --qm or --num-files, or start the "
                     r"agent with a larger --max-files$", "--qm", "2")
        self.run_plan("--hosts", agent.address, "--qm", "2", "--num-files", "2")

    def test_writers_and_busy_threads_together(self):
        agent = self.agent("alpha", more=["--max-writers", "3"])
        self.refused(agent, r"--max-writers is 3, the plan asks for 4 \(4 writers and 0 busy threads\): lower --qm", "--qm",
                     "4")
        self.refused(agent, r"--max-writers is 3, the plan asks for 4 \(2 writers and 2 busy threads\)", "--qm", "2",
                     "--cpu-load", "2")
        self.run_plan("--hosts", agent.address, "--qm", "2", "--cpu-load", "1")

    def test_the_time_of_all_steps_with_their_warm_up(self):
        agent = self.agent("alpha", more=["--max-duration", "2s"])
        self.refused(agent, r"--max-duration is 2s, the plan has 4 steps that take 2\.4s with warm-up", "--bsize", "4k,8k", "--repeat", "2", "--warmup", "300ms")
        report = self.run_plan("--hosts", agent.address, "--bsize", "4k,8k", "--repeat", "2", "--warmup", "200ms").report
        self.assertEqual(report["run"]["state"], "complete")

    def test_the_time_of_a_check(self):
        agents = [self.agent("alpha", more=["--max-duration", "1s"]), self.agent("beta")]
        result = self.plimsoll("fsck", self.dir, "--hosts", ",".join(agent.address for agent in agents), code=3)
        self.assertRegex(" ".join(result.out.split()), r"ended early: alpha: the agent's --max-duration is 1s, and the check is not done")
        self.await_nothing_left()
        agents[0].await_err("session of .* ends: the agent's --max-duration is 1s")

    def test_every_host_that_allows_less_is_named(self):
        alpha, beta, gamma = (self.agent(name, more=more) for name, more in (
            ("alpha", ["--max-writers", "1"]), ("beta", []), ("gamma", ["--max-bytes", "1m"])))
        result = self.run_plan("--hosts", f"{alpha.address},{beta.address},{gamma.address}", "--qm", "2", code=2)
        self.assertEqual([line.split()[1] for line in result.errors], ["alpha", "gamma"])

    def test_hosts_shows_them(self):
        agent = self.agent("alpha", more=["--max-bytes", "2g", "--max-files", "64", "--max-writers", "8", "--max-duration", "90m"])
        self.assertRegex(self.plimsoll("hosts", "--hosts", agent.address).out,
                         r"(?m)^  limits +--max-bytes 2g --max-files 64 --max-writers 8 --max-duration 90m$")
        free = self.agent("beta")
        self.assertRegex(self.plimsoll("hosts", "--hosts", free.address).out, r"(?m)^  limits +none$")

    def test_wrong_caps_are_refused(self):
        for option, value in (("--max-bytes", "12q"), ("--max-bytes", "0"), ("--max-files", "0"), ("--max-writers", "0"),
                              ("--max-writers", "-1"), ("--max-duration", "0"), ("--max-duration", "soon")):
            process = self.start(harness.Process,
                                 [harness.binary("plimsoll-agent"), "--root", self.dir, option, value])
            self.assertEqual(process.finish(), 2, process.err)
            (line,) = process.err.splitlines()
            self.assertIn(option, line)


if __name__ == "__main__":
    harness.main()
