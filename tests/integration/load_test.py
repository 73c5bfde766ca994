"""Many sessions on one agent, and many agents at once: nothing grows, nothing is left, every write is accounted for."""

import os
import pathlib
import re

import harness

SESSIONS = 100
AGENTS = 64
# Sessions after which what an agent holds must not grow any more: caches of the C library and of gRPC are filled.
WARM = 20
# Threads of gRPC's executors grow in number with what the machine has to do, up to so many in each, and stay (1.51: executor.cc).
EXECUTORS = ("default-executo", "resolver-execut")
EXECUTOR_LIMIT = 2 * os.sysconf("SC_NPROCESSORS_CONF")


class Load(harness.PlimsollTest):
    in_memory = True
    agents_ahead = True

    def holds(self, agent):
        """Open descriptors, threads but for those of executors, those, and resident memory of its own in KiB."""
        proc = pathlib.Path(f"/proc/{agent.agent_pid}")
        resident_kib = int(re.search(r"RssAnon:\s+(\d+) kB", (proc / "status").read_text()).group(1))
        names = harness.of_threads(agent.agent_pid, "comm").values()
        executors = sum(name in EXECUTORS for name in names)
        return len(list((proc / "fd").iterdir())), len(names) - executors, executors, resident_kib

    def test_a_hundred_sessions_in_a_row_leave_the_agent_as_it_was(self):
        # What is freed goes back to the kernel at once, so that memory that the C library keeps does not look like a leak,
        # nor hide one.
        self.environment.update(MALLOC_ARENA_MAX="1", MALLOC_MMAP_THRESHOLD_="8192", MALLOC_TRIM_THRESHOLD_="0")
        alpha = self.agent("alpha")
        warm = None
        for number in range(1, SESSIONS + 1):
            run = self.start_run("--hosts", alpha.address, "--qm", "4", "--rate", "200", "--duration", "100ms",
                                 "--file-size", "64k")
            self.assertIn(run.finish(), (0, 3), run.err)
            report = self.result_of(run, run.results, run.finish()).report
            self.assertEqual(report["run"]["state"], "complete", f"session {number}")
            self.assertGreater(harness.cluster(report["steps"][0])["writes"], 0)
            self.assert_nothing_left()
            if number == WARM:
                warm = self.holds(alpha)
        print(f"after {WARM} sessions: {warm}; after {SESSIONS}: {self.holds(alpha)}", flush=True)
        descriptors, threads, _, resident_kib = warm
        # The last connection may still be closing; gRPC's other threads come and go.
        harness.wait_until(lambda: self.holds(alpha)[0] <= descriptors + 2, f"no more than {descriptors} descriptors")
        harness.wait_until(lambda: self.holds(alpha)[1] <= threads + 2, f"no more than {threads} threads")
        self.assertLessEqual(self.holds(alpha)[2], len(EXECUTORS) * EXECUTOR_LIMIT)
        # Eighty sessions that each kept as little as 13 KiB would be seen.
        self.assertLess(self.holds(alpha)[3], resident_kib + 1024)

    def test_sixty_four_agents_at_once_write_and_are_all_accounted_for(self):
        agents = [self.start(harness.Agent, [
            harness.binary("plimsoll-agent"), "--name", f"host{number:02}", "--root", self.dir, "--listen", "127.0.0.1:0"
        ]) for number in range(AGENTS)]
        for agent in agents:
            agent.await_listening()
        run = self.start_run("--hosts", ",".join(agent.address for agent in agents), "--duration", "2", "--file-size",
                             "64k", "--rate", "50")
        code = run.finish()
        self.assertIn(code, (0, 3), run.err)
        report = self.result_of(run, run.results, code).report
        self.assertEqual((report["run"]["state"], report["run"]["hosts"]), ("complete", AGENTS))
        (step,) = report["steps"]
        hosts = harness.scopes(step, "host")
        self.assertEqual([scope["host"] for scope in hosts], [f"host{number:02}" for number in range(AGENTS)])
        for scope in hosts:
            self.assertGreater(scope["writes"], 0, scope)
        # Every write that was due has its response time, whether it completed or was not issued.
        for scope in harness.scopes(step, "qm"):
            self.assertEqual(scope["rate"]["response"]["count"], 2 * 50, scope)
        if code == 3:
            # Two processors for 64 agents may be too few; nothing else may be wrong.
            self.assertTrue(report["verdict"]["reasons"])
            for reason in report["verdict"]["reasons"]:
                self.assertNotRegex(reason, "Left out|lost|differ")
        self.assert_nothing_left()


if __name__ == "__main__":
    harness.main()
