"""Peers that say nothing, garbage, too much or too often: bounded memory, and a run that does not notice."""

import os
import pathlib
import re
import socket
import ssl
import threading

import harness
import hostile
from certificates import Certificates

# What all of them together may cost the agent beyond what a run costs: 32 connections, each with what it could send before
# it was ended. Some 200 MiB are seen, however long the attack lasts, and up to 370 where other programs take the processors: gRPC
# then releases late what it has ended.
MEMORY_LIMIT_KB = 512 << 10


def memory_kb(pid, what="VmRSS"):
    return int(re.search(rf"{what}:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1))


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Attackers:
    """Threads that attack until they are stopped; each counts its rounds."""

    def __init__(self, address, wrap=None):
        self._address, self._wrap = address, wrap
        self._stop = threading.Event()
        self._threads = []
        self.rounds = {}

    def start(self, name, attack, keep=0):
        """Attacks again and again; leaves the last `keep` connections open."""

        def run():
            held = []
            while not self._stop.is_set():
                try:
                    peer = hostile.Peer(self._address, self._wrap if attack.inside_tls else None)
                    held.append(peer)
                    attack(peer)
                except OSError:  # Refused, or closed in the middle of the handshake.
                    pass
                self.rounds[name] = self.rounds.get(name, 0) + 1
                while len(held) > keep:
                    held.pop(0).close()
            for peer in held:
                peer.close()

        self._threads.append(threading.Thread(target=run, name=name, daemon=True))
        self._threads[-1].start()

    def stop(self):
        self._stop.set()
        for thread in self._threads:
            thread.join(harness.LONG_S)


def attack(inside_tls):

    def mark(function):
        function.inside_tls = inside_tls
        return function

    return mark


@attack(inside_tls=False)
def silence(_peer):
    pass


@attack(inside_tls=False)
def garbage(peer):
    peer.say(os.urandom(4096))
    peer.hear()


@attack(inside_tls=False)
def half_a_handshake(peer):
    peer.say(b"\x16\x03\x01\x02\x00\x01")


@attack(inside_tls=True)
def half_a_preface(peer):
    peer.say(hostile.PREFACE[:10])


@attack(inside_tls=True)
def a_thousand_streams(peer):
    peer.say(hostile.PREFACE + hostile.frame(hostile.SETTINGS) +
             b"".join(hostile.call(stream, "SyncClock") for stream in range(1, 2001, 2)))
    peer.hear()


@attack(inside_tls=True)
def an_oversized_message(peer):
    peer.say(hostile.PREFACE + hostile.frame(hostile.SETTINGS) + hostile.call(1, "Session"))
    peer.say(hostile.frame(hostile.DATA, 1, b"\0" + (1 << 30).to_bytes(4, "big") + bytes(8192)))
    for _ in range(64):
        if not peer.say(hostile.frame(hostile.DATA, 1, bytes(16384))):
            break


class HostilePeers(harness.PlimsollTest):

    def attack_a_run(self, agent, options, kinds, wrap=None):
        self.run_plan("--hosts", agent.address, *options)
        base_kb, base_files = memory_kb(agent.agent_pid), descriptors(agent.agent_pid)
        run = self.start_run("--hosts", agent.address, "--duration", "6", "--rate", "200", *options)
        self.await_running(run)
        attackers = Attackers(agent.address, wrap)
        for kind in kinds:
            attackers.start(kind.__name__, kind, keep=40 if kind in (silence, half_a_handshake) else 4)
        try:
            run.finish()
        finally:
            attackers.stop()
        result = self.result_of(run, run.results)
        report = result.report
        self.assertEqual(report["run"]["state"], "complete", result)
        self.assertEqual(harness.cluster(report["steps"][0])["untraced_writes"], 0)
        for kind in kinds:
            self.assertGreater(attackers.rounds.get(kind.__name__, 0), 1, attackers.rounds)
        peak_kb = memory_kb(agent.agent_pid, "VmHWM")
        self.assertLess(peak_kb - base_kb, MEMORY_LIMIT_KB, (base_kb, attackers.rounds))
        harness.wait_until(lambda: descriptors(agent.agent_pid) <= base_files + 2, "descriptors closed")
        # At most twenty lines in ten seconds, whatever comes.
        refusals = re.findall("warning refused ", agent.err)
        self.assertGreater(len(refusals), 0, agent.err)
        self.assertLess(len(refusals), 100, agent.err)
        # An attacker may open sessions. The last of them holds the agent until gRPC has seen the end of its connection.
        harness.wait_until(
            lambda: "busy with" not in self.plimsoll("hosts", "--hosts", agent.address, *options, code=0).out,
            "the attackers' last session ended")
        self.run_plan("--hosts", agent.address, *options)
        self.assert_nothing_left()

    def test_a_run_without_tls_is_not_disturbed(self):
        self.attack_a_run(self.agent("alpha"), [],
                          [silence, garbage, half_a_preface, a_thousand_streams, an_oversized_message])

    def test_a_run_over_tls_is_not_disturbed(self):
        good = Certificates(self, "good")
        context = ssl.create_default_context(cafile=good.path / "ca.crt")
        context.load_cert_chain(good.path / "ops.crt", good.path / "ops.key")
        context.set_alpn_protocols(["h2"])
        self.attack_a_run(self.agent("alpha", more=good.agent()), good.user(), [
            silence, garbage, half_a_handshake, half_a_preface, a_thousand_streams, an_oversized_message
        ], lambda raw: context.wrap_socket(raw, server_hostname="127.0.0.1"))


def literal(name, value):
    """A header of HTTP/2, spelled out."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


class NotAnAgent(harness.PlimsollTest):
    """What plimsoll says where something else listens."""

    def listen(self, answer):
        """Answers every connection by `answer(connection)`; returns the address."""
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)

        def run():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:  # The test is over.
                    return
                with connection:
                    connection.settimeout(harness.LONG_S)
                    try:
                        answer(connection)
                    except OSError:
                        pass

        threading.Thread(target=run, daemon=True).start()
        return f"127.0.0.1:{server.getsockname()[1]}"

    def refused(self, answer):
        address = self.listen(answer)
        result = self.plimsoll("hosts", "--hosts", address, code=4)
        self.assertEqual(result.out, "")
        (line,) = result.errors
        self.assertRegex(line, rf"^plimsoll: .*{address}: \S")
        return line

    def test_a_web_server(self):

        def answer(connection):
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            connection.recv(4096)

        self.assertIn("http1", self.refused(answer).lower())

    def test_a_server_that_speaks_first(self):

        def answer(connection):
            connection.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")
            connection.recv(4096)

        self.refused(answer)

    def test_a_server_that_closes(self):
        self.refused(lambda connection: None)

    def test_a_grpc_server_of_something_else(self):
        # UNIMPLEMENTED to every call: :status 200, and the trailers at once.
        trailers = b"\x88" + literal(b"content-type", b"application/grpc") + literal(b"grpc-status", b"12")

        def answer(connection):
            connection.sendall(hostile.frame(hostile.SETTINGS))
            stream = connection.makefile("rb")
            stream.read(len(hostile.PREFACE))
            while header := stream.read(9):
                length, kind, number = int.from_bytes(header[:3], "big"), header[3], int.from_bytes(header[5:], "big")
                stream.read(length)
                if kind == hostile.SETTINGS and not header[4]:
                    connection.sendall(hostile.frame(hostile.SETTINGS, flags=hostile.ACK))
                if kind == hostile.HEADERS:
                    connection.sendall(
                        hostile.frame(hostile.HEADERS, number, trailers, hostile.END_HEADERS | hostile.END_STREAM))

        self.assertIn("not a Plimsoll agent, but another gRPC service", self.refused(answer))


class Limits(harness.PlimsollTest):

    def peer(self, agent):
        peer = hostile.Peer(agent.address)
        self.addCleanup(peer.close)
        return peer

    def greeted(self, agent):
        """A peer that has begun to speak HTTP/2."""
        peer = self.peer(agent)
        peer.say(hostile.PREFACE + hostile.frame(hostile.SETTINGS))
        return peer

    def test_thousands_of_calls_on_one_connection_cost_that_connection(self):
        alpha = self.agent("alpha")
        self.run_plan("--hosts", alpha.address)
        base_kb = memory_kb(alpha.agent_pid)
        run = self.start_run("--hosts", alpha.address, "--duration", "4", "--rate", "200")
        self.await_running(run)
        peer = self.greeted(alpha)
        # It never confirms the agent's limit on calls, which binds it only then.
        for first in range(1, 40_000, 2000):
            peer.say(b"".join(hostile.call(stream, "SyncClock") for stream in range(first, first + 2000, 2)))
        alpha.await_err(r"warning refused uid \d+ \(\S+\): it made more than 64 calls on one connection")
        run.finish()
        self.assertEqual(self.result_of(run, run.results).report["run"]["state"], "complete")
        peak_kb = memory_kb(alpha.agent_pid, "VmHWM")
        self.assertLess(peak_kb - base_kb, 48 << 10)

    def test_calls_that_the_agent_does_not_know_count_too(self):
        alpha = self.agent("alpha")
        peer = self.greeted(alpha)
        peer.say(b"".join(hostile.call(stream, "Nothing") for stream in range(1, 200, 2)))
        alpha.await_err(r"warning refused uid \d+ \(\S+\): it made more than 64 calls on one connection")

    def test_a_message_without_end_ends_its_connection(self):
        alpha = self.agent("alpha")
        self.run_plan("--hosts", alpha.address)
        base_kb = memory_kb(alpha.agent_pid)
        peer = self.greeted(alpha)
        peer.say(hostile.call(1, "Describe") + hostile.frame(hostile.DATA, 1, b"\0\xff\xff\xff\xff" + bytes(1000)))
        peer.pour(1)
        alpha.await_err(r"warning refused uid \d+ \(\S+\): it sends more than a controller does")
        self.assertLess(memory_kb(alpha.agent_pid, "VmHWM") - base_kb, 32 << 10)

    def test_a_call_with_the_wrong_version_is_answered(self):
        # What the others above say is wrong in one thing only.
        peer = self.greeted(self.agent("alpha"))
        peer.say(hostile.call(1, "Describe") + hostile.frame(hostile.DATA, 1, b"\0\0\0\0\0", hostile.END_STREAM))
        frames = peer.frames(lambda found: any(b"install the same version" in payload for _, _, payload in found))
        self.assertIn(b"install the same version", b"".join(payload for _, _, payload in frames))

    def test_peers_that_say_nothing_or_stop_in_the_middle_of_a_handshake_are_let_go(self):
        plain = self.agent("plain")
        secure = self.agent("secure", more=Certificates(self, "good").agent())
        silent = self.peer(plain)
        half = self.peer(secure)
        half.say(b"\x16\x03\x01\x02\x00\x01")
        # Both are waited for at the same time.
        for peer in (silent, half):
            peer.socket.settimeout(harness.LONG_S)
            self.assertTrue(peer.closed())
        plain.await_err(r"warning refused 127.0.0.1:\d+: it sent nothing for 10 s$")
        secure.await_err(r"warning refused 127.0.0.1:\d+: no TLS handshake within 10 s$")

    def test_more_silent_peers_than_it_holds_keep_nobody_out(self):
        alpha = self.agent("alpha")
        peers = [hostile.Peer(alpha.address) for _ in range(200)]
        self.run_plan("--hosts", alpha.address)
        self.assertLess(descriptors(alpha.agent_pid), 150)
        alpha.await_err("it sent nothing, and other connections wait")
        for peer in peers:
            peer.close()

    def test_more_connections_than_it_takes_leave_a_run_alone(self):
        alpha = self.agent("alpha")
        run = self.start_run("--hosts", alpha.address, "--duration", "3", "--rate", "200")
        self.await_running(run)
        peers = []
        for _ in range(80):
            peers.append(hostile.Peer(alpha.address))
            peers[-1].say(hostile.PREFACE + hostile.frame(hostile.SETTINGS))
        alpha.await_err("it made no call, and other connections wait")
        run.finish()
        self.assertEqual(self.result_of(run, run.results).report["run"]["state"], "complete")
        for peer in peers:
            peer.close()
        # There is room again.
        harness.wait_until(lambda: self.start_plimsoll("hosts", "--hosts", alpha.address).finish() == 0, "room again")

    def test_an_agent_with_few_descriptors_goes_on_listening(self):
        alpha = self.agent("alpha", wrap=["prlimit", "--nofile=64:64"])
        alpha.await_err(r"only 64 file descriptors \(RLIMIT_NOFILE\)")
        peers = [hostile.Peer(alpha.address) for _ in range(100)]
        for peer in peers:
            peer.say(hostile.PREFACE + hostile.frame(hostile.SETTINGS))
        for peer in peers:
            peer.close()
        harness.wait_until(lambda: self.start_plimsoll("hosts", "--hosts", alpha.address).finish() == 0, "it listens")
        self.run_plan("--hosts", alpha.address)


if __name__ == "__main__":
    harness.main()
