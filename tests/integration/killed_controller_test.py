"""A controller killed at any moment: its agents stop within the lease, clean up and take the next session, and its
journal gives a report."""

import pathlib
import random
import re
import threading
import time

import harness
import invariants
import schema

KILLS = 100
# Each with agents and a directory of its own.
LANES = 4
LEASE_S = 1
BLOCK_BYTES = 64 << 10
# What an agent writes to its log at the end of a session.
LOG_BYTES = 8 << 10


class Lane:
    """Two agents, and one run after the other on them."""

    def __init__(self, test, number, seed):
        self.test, self.number, self.random = test, number, random.Random(f"{seed}/{number}")
        self.dir = test.base / f"lane-{number}"
        self.dir.mkdir()
        self.agents = [test.agent(f"{name}-{number}", root=self.dir) for name in ("alpha", "beta")]
        self.runs = 0
        self.killed_in = {}

    def start(self, *arguments):
        self.runs += 1
        out = self.test.base / f"results-{self.number}-{self.runs}"
        hosts = ",".join(agent.address for agent in self.agents)
        run = self.test.start_plimsoll("run", "--hosts", hosts, "--dir", self.dir, "--out", out, "--lease",
                                       f"{LEASE_S}s", "--file-size", "256k", "--warmup", "0", *arguments)
        run.results = out
        return run

    def start_long(self):
        return self.start("--bsize", "64k,4k", "--duration", "300ms")

    def whole_run(self):
        """One short run from its beginning to its end, as soon as the agents take it; checked."""
        deadline = time.monotonic() + harness.LONG_S
        while True:
            run = self.start("--bsize", "64k", "--duration", "100ms")
            code = run.finish()
            # A session that nobody needs any more is being cleaned up, or the machine has too much to do.
            if code == 4 and re.search("busy with |is busy: |got its start too late", run.err) and time.monotonic() < deadline:
                continue
            # On a machine that has too much to do, the harness itself may have been too slow.
            self.test.assertIn(code, (0, 3), f"lane {self.number}: {run.err}")
            report = schema.parse((run.results / "report.json").read_text())
            self.test.assertEqual(report["run"]["state"], "complete")
            invariants.check(report)
            self.test.assertEqual(list(self.dir.iterdir()), [])
            return

    def length_of_a_run_s(self):
        """From the session's beginning to the end of plimsoll."""
        run = self.start_long()
        self.await_preparing(run)
        start = time.monotonic()
        self.test.assertIn(run.finish(), (0, 3, 4), run.err)
        return time.monotonic() - start

    def written_bytes(self):
        """What each agent has given to write calls so far."""
        texts = [pathlib.Path(f"/proc/{agent.agent_pid}/io").read_text() for agent in self.agents]
        return [int(text.split("wchar: ")[1].split()[0]) for text in texts]

    def sessions(self):
        """How many sessions each agent has begun."""
        return [agent.err.count(": run ") for agent in self.agents]

    def is_clean(self):
        return not list(self.dir.iterdir())

    def await_preparing(self, run):
        harness.wait_until(lambda: "preparing" in run.err or not run.running(), "the session's beginning")

    def kill_one(self, longest_s):
        before = self.sessions()
        run = self.start_long()
        # Some while it starts, most while there is a session.
        if self.random.random() < 0.85:
            self.await_preparing(run)
        moment_s = self.random.uniform(0, longest_s)
        ended = run.ended_within(moment_s)
        run.end()
        killed = time.monotonic()
        where = f"lane {self.number}, run {self.runs}, killed after {moment_s:.3f} s"
        while not self.is_clean() and time.monotonic() < killed + LEASE_S:
            time.sleep(0.005)
        at_lease = self.written_bytes()
        harness.wait_until(self.is_clean, f"{where}: files removed")
        for agent, then, now in zip(self.agents, at_lease, self.written_bytes()):
            # A write that was in flight when the lease ended may still end.
            self.test.assertLess(now - then, BLOCK_BYTES + LOG_BYTES, f"{where}: {agent.argv} wrote on")
        self.whole_run()
        # Of the run that was killed and of the one after it.
        had_session = [now - then > 1 for then, now in zip(before, self.sessions())]
        self.check_journal(run, any(had_session), ended, where)

    def check_journal(self, run, had_session, ended, where):
        journal = run.results / "journal"
        if not had_session and (not journal.exists() or journal.stat().st_size == 0):
            self.count("before the first session")
            return
        self.test.assertTrue(journal.exists(), f"{where}: a session, and no journal")
        report = self.test.start_plimsoll("report", "--json", run.results)
        code = report.finish()
        self.test.assertIn(code, (0, 3), f"{where}: {report.err}")
        told = schema.parse(report.out)
        invariants.check(told)
        if told["run"]["state"] == "complete":
            self.count("after the last record")
            return
        self.test.assertFalse(ended, f"{where}: {told['run']}")
        self.test.assertEqual((code, told["run"]["state"]), (3, "cut_off"), where)
        self.test.assertEqual(told["verdict"]["outcome"], "inconclusive", where)
        self.count(f"with {len(told['steps'])} steps begun")

    def count(self, what):
        self.killed_in[what] = self.killed_in.get(what, 0) + 1


class KilledController(harness.PlimsollTest):
    in_memory = True

    def test_a_controller_killed_at_any_of_a_hundred_moments_leaves_agents_that_are_ready(self):
        seed = random.SystemRandom().randrange(2**32)
        print(f"seed {seed}", flush=True)
        lanes = [Lane(self, number, seed) for number in range(LANES)]
        before = [self.resources(agent) for lane in lanes for agent in lane.agents]
        failures = []

        def drive(lane):
            try:
                lane.whole_run()
                longest_s = lane.length_of_a_run_s()
                for _ in range(KILLS // LANES):
                    lane.kill_one(longest_s)
            except BaseException as error:  # Told by the test's own thread.
                failures.append(error)

        threads = [threading.Thread(target=drive, args=(lane,)) for lane in lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for failure in failures:
            raise failure
        for lane in lanes:
            print(f"lane {lane.number}: {dict(sorted(lane.killed_in.items()))}", flush=True)
        self.assertEqual(sum(sum(lane.killed_in.values()) for lane in lanes), KILLS)
        for agent, then in zip((agent for lane in lanes for agent in lane.agents), before):
            harness.wait_until(lambda: all(now <= was + 2 for now, was in zip(self.resources(agent), then)),
                               f"descriptors and threads as before ({then}) of {agent.argv}")

    def resources(self, agent):
        """Open descriptors and threads; gRPC's own threads come and go."""
        proc = pathlib.Path(f"/proc/{agent.agent_pid}")
        ours = [name for name in harness.of_threads(agent.agent_pid, "comm").values() if name.startswith(("qm", "recorder"))]
        return len(list((proc / "fd").iterdir())), len(ours)


if __name__ == "__main__":
    harness.main()
