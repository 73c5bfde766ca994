"""`--launch ssh` on sixteen hosts at once, and for commands that take their time."""

import harness
import ssh_hosts


class Sixteen(ssh_hosts.SshTest):

    size = 16

    def test_sixteen_hosts_measure_in_step_and_leave_nothing(self):
        self.boot()
        run = self.start_over_ssh("--duration", "4")
        run.finish(240)
        result = self.result_of(run, run.results)
        self.assertEqual([host["label"] for host in result.report["hosts"]], [f"host{n}" for n in range(1, 17)])
        for scope in harness.scopes(result.report["steps"][0], "host"):
            self.assertGreater(scope["writes"], 0, scope)
        self.await_only_the_cached_agent()

    def test_hosts_that_share_a_cache_keep_one_copy_and_remove_it_once_none_runs_it(self):
        # Every host asks for the agent, and the first that has it whole wins.
        self.boot()
        self.command("hosts", "--launch-cache", "/mnt/cache")
        (directory,) = (self.dir / "cache").iterdir()
        (agent,) = directory.iterdir()
        self.assertEqual(agent.read_bytes(), self.agent_file().read_bytes())
        self.over_ssh("--launch-cache", "/mnt/cache", "--launch-clean")
        self.await_nothing_runs()
        self.await_nothing_left()


class Pairs(ssh_hosts.SshTest):

    size = 2

    def test_ab_starts_agents_for_each_side(self):
        self.boot()
        result = self.plimsoll("ab", "--hosts", self.names, *self.launch(), "--dir", "/mnt", "--vary", "sync=dsync,none",
                               "--rounds", "6", "--duration", "300ms", "--warmup", "0", "--file-size", "256k", "--out",
                               self.base / "ab", wrap=self.network.on_controller())
        self.assertRegex(result.out, "6 rounds")
        self.await_only_the_cached_agent()

    def test_limit_searches(self):
        self.boot()
        out = self.base / "limit"
        process = self.start_plimsoll("limit", "--hosts", self.names, *self.launch(), "--dir", "/mnt", "--out", out,
                                      "--file-size", "256k", "--require", "p99<10s", "--duration", "300ms", "--warmup", "0",
                                      "--hold", "1s", "--budget", "30s", "--settle", "0", "--quiet",
                                      wrap=self.network.on_controller())
        self.assertIn(process.finish(240), (0, 1, 3), process.err)
        self.assertTrue((out / "report.json").exists())
        self.await_only_the_cached_agent()


if __name__ == "__main__":
    harness.main()
