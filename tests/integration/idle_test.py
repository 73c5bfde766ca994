"""plimsoll-agent --idle: what keeps a container for agents that are started in it later."""

import os
import pathlib
import signal
import sys

import harness
import namespaces

# Becomes --idle, with a child whose own child is left to it, as to the first process of a container (PR_SET_CHILD_SUBREAPER, 36):
# that one prints its id and ends when its standard input does.
LEAVES_AN_ORPHAN = """
import ctypes, os, sys
if ctypes.CDLL(None).prctl(36, 1, 0, 0, 0):
    sys.exit("prctl")
if os.fork() == 0:
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        sys.stdin.read()
        os._exit(0)
    os._exit(0)
os.execv(sys.argv[1], [sys.argv[1], "--idle"])
"""


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


class Idle(harness.PlimsollTest):

    def idle(self, *before):
        """--idle, once it waits for signals."""
        process = self.start(harness.Process, [*before, harness.binary("plimsoll-agent"), "--idle"])
        harness.wait_until(lambda: self.waiting(process.pid), "--idle that waits for signals")
        return process

    @staticmethod
    def idle_pid(pid):
        """The id of --idle, which `pid` may have started."""
        pids = [pid]
        for one in pids:
            if harness.comm_of(one) == "plimsoll-agent":
                return one
            pids += harness.children_of(one)
        return None

    def waiting(self, pid):
        """Whether it blocks SIGTERM, which it does before it waits for it."""
        found = self.idle_pid(pid)
        if found is None:
            return None
        (blocked,) = (line.split()[1] for line in pathlib.Path(f"/proc/{found}/status").read_text().splitlines()
                      if line.startswith("SigBlk:"))
        return int(blocked, 16) >> (signal.SIGTERM - 1) & 1

    def test_it_ends_with_either_signal_and_says_nothing(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            idle = self.idle()
            idle.signal(number)
            self.assertEqual((idle.finish(), idle.out, idle.err), (0, "", ""))

    def test_it_opens_no_socket_and_starts_no_thread(self):
        idle = self.idle()
        self.assertEqual(len(harness.of_threads(idle.pid, "comm")), 1)
        links = [os.readlink(path) for path in pathlib.Path(f"/proc/{idle.pid}/fd").iterdir()]
        self.assertFalse([link for link in links if link.startswith("socket:")], links)

    def test_it_collects_children_that_others_left_to_it(self):
        read_end, write_end = os.pipe()
        keeper = os.fdopen(write_end, "wb", buffering=0)
        self.addCleanup(keeper.close)
        process = self.start(harness.Process, [sys.executable, "-c", LEAVES_AN_ORPHAN, harness.binary("plimsoll-agent")],
                             stdin=read_end)
        os.close(read_end)
        orphan = int(harness.wait_until(lambda: process.out.strip(), "the orphan's id"))
        idle = harness.wait_until(lambda: self.waiting(process.pid) and self.idle_pid(process.pid), "--idle")
        # The orphan's parent has ended, and was collected, before the orphan came to --idle.
        harness.wait_until(lambda: parent_of(orphan) == idle, "the orphan to be left to --idle")
        harness.wait_until(lambda: harness.children_of(idle) == [orphan], "the orphan's parent to be collected")
        keeper.close()
        harness.wait_until(lambda: not harness.children_of(idle), "the orphan to be collected")
        process.signal(signal.SIGTERM)
        self.assertEqual(process.finish(), 0, process.err)

    def test_as_first_process_it_ends_agents_before_the_kernel_does(self):
        namespaces.need("--pid", "--fork")
        # --kill-child: the kernel ends the namespace where the test is killed.
        idle = self.idle("unshare", "--pid", "--fork", "--kill-child")
        inside = self.idle_pid(idle.pid)
        agent = self.start(harness.Process, [
            "nsenter", "--pid", "--target", inside, "--", harness.binary("plimsoll-agent"), "--name", "alpha", "--root", self.dir,
            "--listen", f"unix:{self.base}/a.sock"])
        agent.await_err(r"listens on \S+$")
        run = self.start_run("--hosts", f"unix:{self.base}/a.sock", "--duration", "60")
        self.await_running(run)
        os.kill(inside, signal.SIGTERM)
        self.assertEqual(idle.finish(), 0, idle.err)
        self.assertEqual(agent.finish(), 0, agent.err)
        self.assertRegex(agent.err, "(?m)plimsoll-agent 'alpha' ends$")
        self.assert_nothing_left()
        self.result_of(run, run.results, code=3)

    def test_it_goes_alone(self):
        for arguments, named in ((["--root", self.dir], "--root"), (["--listen", "127.0.0.1:0"], "--listen")):
            process = self.start(harness.Process, [harness.binary("plimsoll-agent"), *arguments, "--idle"])
            self.assertEqual(process.finish(), 2)
            self.assertEqual(process.err, f"plimsoll-agent: --idle goes alone: drop {named}\n")


if __name__ == "__main__":
    harness.main()
