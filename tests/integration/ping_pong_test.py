"""lock.ping-pong of `plimsoll fsck` beside samba's ping_pong."""

import os
import re
import statistics

import harness
import schema

PROGRAM = "/usr/bin/ping_pong"
# Both count what one kernel does at one time. More than that would be another thing that is counted.
FACTOR = 10


class PingPong(harness.PlimsollTest):

    def start_sambas(self, processes):
        """Samba's processes, on one file with one lock more than processes; what they say is what they count each second."""
        started = [self.start(harness.Process, [PROGRAM, self.dir / "ping_pong", str(processes + 1)]) for _ in range(processes)]
        harness.wait_until(lambda: all(self.counts(each) for each in started), "locks by ping_pong")
        return started

    def counts(self, process):
        return [int(count) for count in re.findall(r"(\d+) locks/sec", process.out + process.err)]

    def ours(self, agents):
        result = self.plimsoll("fsck", self.dir, "--hosts", ",".join(agent.address for agent in agents), "--level", "standard",
                               "--only", "lock.ping-pong", "--json", code=3)
        (check,) = [each for each in schema.parse(result.out, "fsck")["checks"] if each["name"] == "lock.ping-pong"]
        self.assertEqual(check["outcome"], "pass", check)
        counts = {host: int(count.replace(",", "")) for host, count in
                  (re.fullmatch(r"(.*): ([\d,]+) locks/s", sentence).groups() for sentence in check["evidence"])}
        self.assertEqual(set(counts), {"alpha", "beta", "all hosts"})
        self.assertAlmostEqual(counts["all hosts"], counts["alpha"] + counts["beta"], delta=2)
        return counts["all hosts"]

    def test_ours_counts_as_many_locks_as_samba_does(self):
        if not os.path.exists(PROGRAM):
            self.skipTest("ping_pong (package ctdb) is not installed")
        agents = self.agent("alpha"), self.agent("beta")
        # At the same time, so that whatever else the machine does slows down both.
        pair = self.start_sambas(len(agents))
        before = [len(self.counts(each)) for each in pair]
        ours = self.ours(agents)
        sambas = sum(statistics.median(self.counts(each)[count:]) for each, count in zip(pair, before))
        print(f"locks/s: {ours:,} ours, {sambas:,.0f} samba's", flush=True)
        self.assertGreater(sambas, 0)
        self.assertLess(ours, FACTOR * sambas)
        self.assertLess(sambas, FACTOR * ours)


if __name__ == "__main__":
    harness.main()
