"""Without TLS: only root and the agent's own user may come in, over a Unix socket as over loopback."""

import os
import re
import shutil
import subprocess
import unittest

import harness
import hostile

NOBODY, DAEMON = 65534, 1
REFUSED = r"not trusted: without TLS this agent serves root and its own user \(uid {}\) alone$"


def as_user(uid):
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups"]


@unittest.skipIf(os.geteuid() != 0, "needs root, to be others")
class PeerUid(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        # Others must reach what they are to try: programs, sockets, the directory.
        self.base.chmod(0o755)
        for program in ("plimsoll", "plimsoll-agent"):
            shutil.copy(harness.binary(program), self.base)
        self.dir.chmod(0o777)

    def agent_of(self, uid, listen):
        agent = self.start(harness.Agent, [
            *as_user(uid), self.base / "plimsoll-agent", "--name", "alpha", "--root", self.dir, "--listen", listen
        ]).await_listening()
        if listen.startswith("unix:"):
            # The file's mode keeps others out already; here the second lock is tried.
            os.chmod(listen.removeprefix("unix:"), 0o666)
        return agent

    def hosts(self, agent, uid):
        process = self.start(harness.Process,
                             [*as_user(uid), self.base / "plimsoll", "hosts", "--hosts", agent.address])
        process.finish()
        return process

    def lets_in(self, agent, uid):
        process = self.hosts(agent, uid)
        self.assertEqual(process.finish(), 0, process.err)
        self.assertIn("alpha (", process.out)

    def keeps_out(self, agent, uid, owner):
        process = self.hosts(agent, uid)
        self.assertEqual(process.finish(), 4, process.err)
        self.assertEqual(len(process.err.splitlines()), 1, process.err)
        self.assertRegex(process.err, REFUSED.format(owner))
        self.assertEqual(process.out, "")
        agent.await_err(rf"warning refused uid {uid} .*: it may not use this agent: only root and the agent's own user")

    def places(self):
        return ["127.0.0.1:0", f"unix:{self.base}/run/agent.sock"]

    def setUpPlaces(self):
        self.runtime.chmod(0o777)

    def test_an_agent_of_root_serves_root_alone(self):
        self.setUpPlaces()
        for listen in self.places():
            with self.subTest(listen):
                agent = self.agent_of(0, listen)
                self.keeps_out(agent, NOBODY, 0)
                self.lets_in(agent, 0)
                self.run_plan("--hosts", agent.address)

    def test_an_agent_of_a_user_serves_that_user_and_root(self):
        self.setUpPlaces()
        for listen in self.places():
            with self.subTest(listen):
                agent = self.agent_of(NOBODY, listen)
                self.keeps_out(agent, DAEMON, NOBODY)
                self.lets_in(agent, NOBODY)
                self.lets_in(agent, 0)

    def test_a_name_that_means_loopback_is_loopback(self):
        agent = self.agent_of(0, "localhost:0")
        self.keeps_out(agent, NOBODY, 0)
        self.lets_in(agent, 0)

    def test_one_that_leaves_before_it_is_looked_at_is_not_taken_for_root(self):
        agent = self.agent_of(0, "127.0.0.1:0")
        # The kernel calls a socket root's when its owner has closed it.
        script = ("import socket, sys\n"
                  "for _ in range(100):\n"
                  "  with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as peer:\n"
                  "    peer.sendall(bytes.fromhex(sys.argv[2]))\n")
        data = hostile.PREFACE + hostile.frame(hostile.SETTINGS) + hostile.call(1, "Session")
        subprocess.run([*as_user(NOBODY), "python3", "-c", script, agent.address.rpartition(":")[2], data.hex()], check=True,
                       timeout=harness.LONG_S)

        def refused():
            """How many were refused, by the sums that the log tells every ten seconds."""
            first = re.findall(r"refused (?:127.0.0.1:\d+|uid 65534 \S+): (?:its user|it may not)", agent.err)
            more = re.findall(r"refused (?:127.0.0.1|uid 65534) (\d+) more times?: (?:its user|it may not)", agent.err)
            return len(first) + sum(map(int, more))

        harness.wait_until(lambda: refused() == 100, "all hundred refused")
        self.lets_in(agent, 0)


if __name__ == "__main__":
    harness.main()
