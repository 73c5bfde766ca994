"""`plimsoll-agent --stdio` by itself: what it sends, what it does with its descriptors, and what ends it."""

import os
import pathlib
import pty
import re
import signal
import struct
import subprocess

import harness

MAGIC = b"\xfePL"
HELLO = b"plimsoll-agent --stdio 1\r\n" + bytes(range(256))
# How HTTP/2 begins: the preface, and an empty frame of settings.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"


def frame(kind, connection=0, payload=b""):
    return MAGIC + kind + struct.pack("<II", connection, len(payload)) + payload


class StdioAgent(harness.Process):
    """An agent that is the test's own end of the link. Its standard output is not collected."""

    def __init__(self, argv, **popen):
        read_end, write_end = os.pipe()
        self._frames = os.fdopen(read_end, "rb")
        # Collected by the base class: nothing comes there.
        super().__init__(["sh", "-c", 'exec "$@" >&"$0"', write_end, *argv], stdin=subprocess.PIPE, pass_fds=[write_end], **popen)
        os.close(write_end)

    def send(self, data):
        self.write(data)

    def receive(self):
        """The next frame: its type, connection and payload; nothing at the end."""
        header = self._frames.read(12)
        if not header:
            return None
        assert header[:3] == MAGIC, header
        connection, length = struct.unpack("<II", header[4:])
        return header[3:4], connection, self._frames.read(length)

    def greet(self):
        assert self.receive() == (b"h", 0, HELLO)
        self.send(frame(b"p", 0, HELLO))
        assert self.receive() == (b"p", 0, HELLO)
        return self

    def end(self):
        super().end()
        self._process.stdin.close()
        self._frames.close()


class Stdio(harness.PlimsollTest):

    def start_agent(self, *more):
        return self.start(StdioAgent, [harness.binary("plimsoll-agent"), "--stdio", "--root", self.dir, *more])

    def test_it_serves_connections_until_the_last_frame(self):
        agent = self.start_agent().greet()
        for connection in (1, 2):
            agent.send(frame(b"o", connection) + frame(b"d", connection, PREFACE))
            received = agent.receive()
            while received[1] != connection:
                received = agent.receive()
            # gRPC answers with a frame of settings, of type 4.
            self.assertEqual((received[0], received[2][3]), (b"d", 4))
        agent.send(frame(b"e"))
        kinds = []
        while (received := agent.receive()) is not None:
            kinds.append(received[0])
        self.assertEqual(kinds[-1], b"e")
        self.assertEqual(kinds.count(b"e"), 1)
        self.assertEqual(agent.finish(), 0, agent.err)

    def test_the_end_of_its_input_ends_it(self):
        agent = self.start_agent().greet()
        agent._process.stdin.close()
        self.assertEqual(agent.finish(), 0, agent.err)

    def test_a_reader_that_is_gone_does_not_keep_it(self):
        agent = self.start_agent().greet()
        agent._frames.close()
        agent.send(frame(b"o", 1) + frame(b"d", 1, PREFACE))
        self.assertEqual(agent.finish(), 0, agent.err)

    def test_a_signal_ends_it_with_its_last_frame(self):
        agent = self.start_agent().greet()
        os.kill(agent.pid, signal.SIGTERM)
        self.assertEqual(agent.receive(), (b"e", 0, b""))
        self.assertEqual(agent.finish(), 0, agent.err)

    def test_without_a_session_it_ends(self):
        agent = self.start_agent("--session-wait", "200ms").greet()
        self.assertEqual(agent.receive(), (b"e", 0, b""))
        self.assertEqual(agent.finish(), 3, agent.err)

    def test_programs_that_it_starts_get_neither_stream(self):
        agent = self.start_agent().greet()
        self.assertEqual(os.readlink(f"/proc/{agent.pid}/fd/0"), "/dev/null")
        self.assertEqual(os.readlink(f"/proc/{agent.pid}/fd/1"), os.readlink(f"/proc/{agent.pid}/fd/2"))
        stream = os.readlink(f"/proc/self/fd/{agent._frames.fileno()}")
        holders = [fd for fd in os.listdir(f"/proc/{agent.pid}/fd") if os.readlink(f"/proc/{agent.pid}/fd/{fd}") == stream]
        # The test's own copy is inherited; O_CLOEXEC (02000000) is set on the agent's.
        flags = [re.search(r"flags:\s+(\d+)", pathlib.Path(f"/proc/{agent.pid}/fdinfo/{fd}").read_text()).group(1)
                 for fd in holders]
        self.assertTrue(any(int(each, 8) & 0o2000000 for each in flags), flags)
        agent.send(frame(b"e"))

    def test_bytes_that_are_no_frames_end_it_and_are_named(self):
        for sent, expected in ((b"hello\n", "begins with 'hello"), (frame(b"p", 0, HELLO.replace(b"\r\n", b"\n")), r"a terminal \(pty\)")):
            with self.subTest(expected):
                agent = self.start_agent()
                self.assertEqual(agent.receive()[0], b"h")
                agent.send(sent)
                self.assertEqual(agent.finish(), 4, agent.err)
                self.assertRegex(agent.err, f"--stdio: standard input: .*{expected}")

    def test_a_terminal_is_refused(self):
        controller, terminal = pty.openpty()
        self.addCleanup(os.close, controller)
        agent = self.start(harness.Process, [harness.binary("plimsoll-agent"), "--stdio", "--root", self.dir], stdin=terminal)
        os.close(terminal)
        self.assertEqual(agent.finish(), 2)
        self.assertRegex(agent.err, r"^plimsoll-agent: --stdio: standard input is a terminal \(pty\), which changes bytes: ")

    def test_options_that_make_no_sense_with_it(self):
        for option in (["--listen", "127.0.0.1:0"], ["--exit-with-stdin"], ["--insecure"]):
            with self.subTest(option):
                agent = self.start(harness.Process, [harness.binary("plimsoll-agent"), "--stdio", "--root", self.dir, *option])
                self.assertEqual(agent.finish(), 2)
                self.assertRegex(agent.err, r"^plimsoll-agent: --stdio: .*leave out ")


if __name__ == "__main__":
    harness.main()
