"""Without TLS: only root and the agent's own user may come in, over a Unix socket as over loopback."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import unittest

import harness
import hostile

NOBODY, DAEMON = 65534, 1
# Starts a program as user `inside` of a user namespace that user `outside` makes; `uid_map` is written from without ("":
# the namespace maps nobody). Ends with 77 where the kernel does not let it.
IN_USER_NAMESPACE = """
import ctypes, os, sys
outside, uid_map, inside, *argv = sys.argv[1:]
made, map_made = os.pipe()
mapped, map_written = os.pipe()
child = os.fork()
if child == 0:
    os.close(map_written)
    if not uid_map:
        os.setresuid(int(outside), int(outside), int(outside))
    if ctypes.CDLL(None).unshare(0x10000000):  # CLONE_NEWUSER
        os._exit(77)
    os.write(map_made, b"1")
    if os.read(mapped, 1) != b"1":
        os._exit(77)
    if uid_map:
        os.setresuid(int(inside), int(inside), int(inside))
    os.execv(argv[0], argv)
os.close(map_made)
os.close(mapped)
if os.read(made, 1) == b"1":
    try:
        if uid_map:
            with open(f"/proc/{child}/uid_map", "w") as file:
                file.write(uid_map)
        os.write(map_written, b"1")
    except OSError:
        pass
os.close(map_written)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
ALL_UIDS = "0 0 4294967295"
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
            # The file's mode keeps others out already, and its owner tells them; here the agent's own lock is tried.
            os.chmod(listen.removeprefix("unix:"), 0o666)
            os.chown(listen.removeprefix("unix:"), 0, 0)
        return agent

    def hosts(self, agent, uid):
        return self.hosts_at(agent.address, uid)

    def hosts_at(self, address, uid):
        process = self.start(harness.Process, [*as_user(uid), self.base / "plimsoll", "hosts", "--hosts", address])
        process.finish()
        return process

    def lets_in(self, agent, uid):
        process = self.hosts(agent, uid)
        self.assertEqual(process.finish(), 0, process.err)
        self.assertRegex(process.out, r"(?m)^alpha\n  version ")

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

    def test_the_socket_of_another_user_is_not_used(self):
        self.setUpPlaces()
        path = self.runtime / "other.sock"
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(path))
            os.chmod(path, 0o666)
            os.chown(path, DAEMON, DAEMON)
            other.listen()
            process = self.hosts_at(f"unix:{path}", NOBODY)
            self.assertEqual(process.finish(), 4, process.err)
            self.assertEqual(len(process.err.splitlines()), 1, process.err)
            self.assertIn(
                f"not trusted: the socket belongs to uid {DAEMON}, neither to this user (uid {NOBODY}) nor to root",
                process.err)
            # Nothing was said to whoever listens there.
            other.settimeout(0)
            with self.assertRaises(BlockingIOError):
                other.accept()

    def child_socket(self):
        """Where the agent listens that a run of root starts for itself."""
        run = self.start_run("--duration", "60")
        self.await_running(run)
        (child,) = [pid for pid in harness.children_of(run.pid) if harness.comm_of(pid) == "plimsoll-agent"]
        argv = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().decode().split("\0")
        run.signal(signal.SIGINT)
        run.finish()
        address = argv[argv.index("--listen") + 1]
        self.assertEqual(address[:5], "unix:")
        return pathlib.Path(address[5:])

    def test_a_runtime_directory_of_another_user_is_not_used(self):
        self.runtime.chmod(0o700)
        self.assertEqual(self.child_socket().parents[1], self.runtime)
        for mode, owner in ((0o700, NOBODY), (0o777, 0)):
            with self.subTest(mode=oct(mode), owner=owner):
                self.runtime.chmod(mode)
                os.chown(self.runtime, owner, owner)
                path = self.child_socket()
                self.assertEqual(path.parents[1], pathlib.Path("/tmp"))
                self.assertEqual(list(self.runtime.iterdir()), [])
                self.assertFalse(path.parent.exists())

    def agent_in_user_namespace(self, outside, uid_map, inside=0):
        wrap = [sys.executable, "-c", IN_USER_NAMESPACE, outside, uid_map, inside]
        process = self.start(harness.Agent, [
            *wrap, self.base / "plimsoll-agent", "--name", "alpha", "--root", self.dir, "--listen", "127.0.0.1:0"
        ])
        if process.ended_within(0.5) and process.finish() == 77:
            raise unittest.SkipTest("this machine makes no such user namespace")
        return process.await_listening()

    def test_an_unmapped_user_is_not_taken_for_every_other_one(self):
        # It runs as the overflow user id, as which it sees nobody, daemon and the real root as well.
        agent = self.agent_in_user_namespace(DAEMON, "")
        agent.await_err(r"uid 65534 is the overflow uid of this user namespace")
        for uid in (NOBODY, DAEMON, 0):
            with self.subTest(uid):
                process = self.hosts(agent, uid)
                self.assertEqual(process.finish(), 4, process.err)
                self.assertIn("not trusted: ", process.err)
                self.assertEqual(process.out, "")

    def test_the_overflow_user_is_a_user_where_all_are_mapped(self):
        agent = self.agent_in_user_namespace(0, ALL_UIDS, NOBODY)
        self.lets_in(agent, NOBODY)
        self.lets_in(agent, 0)
        self.keeps_out(agent, DAEMON, NOBODY)
        self.assertNotIn("is the overflow uid", agent.err)

    def test_the_overflow_user_is_nobody_where_one_is_left_out(self):
        agent = self.agent_in_user_namespace(0, f"0 0 {NOBODY + 1}", NOBODY)
        agent.await_err("is the overflow uid of this user namespace")
        self.lets_in(agent, 0)
        process = self.hosts(agent, NOBODY)
        self.assertEqual(process.finish(), 4, process.err)

    def test_root_of_a_namespace_is_who_it_is_mapped_to(self):
        agent = self.agent_in_user_namespace(0, f"0 {DAEMON} 1", 0)
        self.lets_in(agent, DAEMON)
        self.assertEqual(self.hosts(agent, 0).finish(), 4)
        self.assertEqual(self.hosts(agent, NOBODY).finish(), 4)

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
