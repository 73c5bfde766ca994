"""lock.ping-pong of `plimsoll fsck` beside samba's ping_pong, where that is installed."""

import os
import re

import harness

PROGRAM = "/usr/bin/ping_pong"


class PingPong(harness.PlimsollTest):

    def test_ours_counts_locks_as_samba_does(self):
        if not os.path.exists(PROGRAM):
            self.skipTest("ping_pong (package ctdb) is not installed")
        agents = self.agent("alpha"), self.agent("beta")
        result = self.plimsoll("fsck", self.dir, "--hosts", ",".join(agent.address for agent in agents), "--level", "standard",
                               "--only", "lock.ping-pong", code=3)
        self.assertRegex(result.out, r"all hosts: [1-9][\d,]* locks/s")
        # Two of samba's, on one file, with as many locks as processes and one more.
        pair = [self.start(harness.Process, [PROGRAM, self.dir / "ping_pong", "3"]) for _ in agents]
        for each in pair:
            harness.wait_until(lambda: re.search(r"[1-9]\d* locks/sec", each.out + each.err), "locks by ping_pong")


if __name__ == "__main__":
    harness.main()
