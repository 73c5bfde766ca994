"""Many sessions with faults mixed into them, each checked: what does not hold ends the soak with the way to see it again.

`scripts/soak --minutes N --seed S` runs it. Session n of seed S always chooses the same faults; when exactly they meet
the programs is the machine's business. `--first n --sessions 1` runs that session alone.
"""

import argparse
import collections
import os
import pathlib
import random
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

import harness  # noqa: E402
import invariants  # noqa: E402
import schema  # noqa: E402

import faults  # noqa: E402
import hosts  # noqa: E402

LEASE_S = 1
# A session ends within this, whatever happens to it: far above what the leases and steps of one add up to.
SESSION_S = 60
# What an agent may hold more than after its first clean session.
MORE_DESCRIPTORS = 3
MORE_RESIDENT_KIB = 8 << 10


class Soak(harness.PlimsollTest):
    """The places and programs; its one test is the soak."""

    options = None

    def runTest(self):
        options = self.options
        counts = collections.Counter()
        # In one arena, so that memory that the C library keeps for threads does not look like a leak, nor hide one.
        self.environment["MALLOC_ARENA_MAX"] = "1"
        with hosts.Hosts(self) as where:
            print(f"soak: seed {options.seed}, {where.describe()}", flush=True)
            self.clean_session(where)
            deadline = time.monotonic() + options.minutes * 60
            number = options.first
            while (options.sessions is None and time.monotonic() < deadline) or \
                    (options.sessions is not None and number < options.first + options.sessions):
                try:
                    counts.update(self.one_session(where, number))
                except BaseException:
                    print(f"soak: session {number} failed. Again: scripts/soak --seed {options.seed} --first {number} "
                          f"--sessions 1", flush=True)
                    where.print_logs()
                    raise
                number += 1
            held = ", ".join(f"{agent.name} {agent.growth()}" for agent in where.agents)
        print(f"soak: {number - options.first} sessions, nothing amiss; held at the end: {held}", flush=True)
        for what, times in sorted(counts.items()):
            print(f"  {times:5}  {what}", flush=True)

    def start_session(self, where, *arguments):
        self._results += 1
        out = self.base / f"results-{self._results}"
        run = self.start_plimsoll("run", "--hosts", where.addresses(), "--dir", where.directory, "--out", out, "--lease",
                                  f"{LEASE_S}s", "--file-size", "256k", "--warmup", "0", "--min-free", "0", *arguments, wrap=where.on_controller())
        run.results = out
        return run

    def clean_session(self, where):
        """A short session that nothing happens to, as soon as the agents take it."""
        deadline = time.monotonic() + SESSION_S
        while True:
            run = self.start_session(where, "--duration", "100ms", "--bsize", "16k")
            code = run.finish(SESSION_S)
            if code == 4 and time.monotonic() < deadline:
                continue  # An agent cleans up, or its network has just come back.
            self.assertIn(code, (0, 3), run.err)
            report = self.report_of(run.results)
            self.assertEqual(report["run"]["state"], "complete", run.err)
            break
        where.await_clean()
        for agent in where.agents:
            agent.check(MORE_DESCRIPTORS, MORE_RESIDENT_KIB)

    def report_of(self, results):
        report = schema.parse((results / "report.json").read_text())
        invariants.check(report)
        return report

    def one_session(self, where, number):
        choice = random.Random(f"{self.options.seed}/{number}")
        chosen = faults.choose(choice, where)
        print(f"session {number}: {', '.join(map(str, chosen)) or 'no fault'}", end="", flush=True)
        run = self.start_session(where, "--duration", "900ms", "--bsize", "64k,4k", "--qm", str(choice.randint(1, 3)),
                                 "--on-host-loss", choice.choice(("abort", "continue")),
                                 *[word for fault in chosen for word in fault.plan()])
        try:
            for fault in sorted(chosen, key=lambda fault: fault.at_s):
                fault.strike(run, where)
            if any(fault.freezes_controller for fault in chosen):
                faults.wake(run)
            code = run.finish(SESSION_S)
        finally:
            where.heal()
        outcome = self.check(run, code, chosen)
        print(f": exit {code}, {outcome}", flush=True)
        where.await_clean()
        self.clean_session(where)
        return [str(fault.name) for fault in chosen] + [f"exit {code}", outcome]

    def check(self, run, code, chosen):
        """What is left of a session tells the truth; says in a word what that was."""
        expected = {0, 3} | {code for fault in chosen for code in fault.codes}
        self.assertIn(code, expected, run.err)
        for line in run.err.splitlines():
            self.assertNotRegex(line, "terminate called|Assertion|Segmentation|Traceback|AddressSanitizer")
        if (run.results / "report.json").exists():
            report = self.report_of(run.results)
            if code == 0:
                self.assertEqual(report["run"]["state"], "complete")
            again = self.plimsoll_report(run.results)
            self.assertEqual(again, report, "the journal gives another report than the run did")
            return f"report of a run that is {report['run']['state']}"
        journal = run.results / "journal"
        if journal.exists() and journal.stat().st_size > 0:
            report = self.plimsoll_report(run.results)
            invariants.check(report)
            return f"report from the journal, {report['run']['state']}"
        self.assertIn(code, (2, 3, 4, 130, -2, -9), "no results, and no reason for it")
        return "nothing measured"

    def plimsoll_report(self, results):
        process = self.start_plimsoll("report", "--json", "--print-only", results)
        self.assertIn(process.finish(), (0, 3), process.err)
        return schema.parse(process.out)


def main():
    parser = argparse.ArgumentParser(prog="scripts/soak", description="Sessions with random faults, each checked.")
    parser.add_argument("--minutes", type=float, default=1, help="how long to go on (default: 1)")
    parser.add_argument("--seed", type=int, help="what the choices come from (default: a new one, which is printed)")
    parser.add_argument("--first", type=int, default=1, help="number of the first session (default: 1)")
    parser.add_argument("--sessions", type=int, help="how many sessions, instead of --minutes")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(2**32)
    if not os.environ.get("PLIMSOLL_BIN"):
        parser.error("PLIMSOLL_BIN names no directory: it must hold plimsoll and plimsoll-agent")
    Soak.options = options
    result = unittest.TextTestRunner(verbosity=0).run(Soak())
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
