"""The fault file system for tests: mounts it, and tells it what shall go wrong."""

import ctypes
import os
import pathlib
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

import harness  # noqa: E402
import namespaces  # noqa: E402

CLONE_NEWNS = 0x20000
# faultfs's exit code where the kernel, or what it runs in, refuses.
CANNOT_MOUNT = 4


def need():
    """Skips the test where the file system cannot be mounted."""
    if os.geteuid() != 0:
        raise unittest.SkipTest("mounting the fault file system needs root")
    if not os.path.exists("/dev/fuse"):
        raise unittest.SkipTest("this machine has no /dev/fuse")


def own_mounts():
    """Gives this process, and what it starts, mounts of its own: they go with it, however it ends."""
    need()
    shared = namespaces.shares_mounts()
    mounts = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    if shared and not any(mount.split()[4] == "/" for mount in mounts):
        # Nothing can keep a mount from being seen outside, where it would stay.
        raise unittest.SkipTest("the root directory is no mount point, so a mount namespace cannot be made private")
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise unittest.SkipTest(f"this machine refuses a mount namespace: {os.strerror(ctypes.get_errno())}")
    if shared:
        subprocess.run(["mount", "--make-rprivate", "/"], check=True, timeout=60)


class Fault:
    """One rule of a file system that is mounted."""

    def __init__(self, filesystem, number):
        self._filesystem, self._number = filesystem, number

    def _hits(self):
        return [int(word) for word in self._filesystem.ask(f"hits {self._number}").split()]

    @property
    def hits(self):
        """How many operations it has caught."""
        return self._hits()[0]

    @property
    def waiting(self):
        """How many of them it holds now."""
        return self._hits()[1]

    @property
    def lost(self):
        """The writes that a rule with `volatile` has taken back, as (path below the mount, offset), in their order."""
        words = [word.rpartition(":") for word in self._filesystem.ask(f"lost {self._number}").split()]
        return [(path, int(offset)) for path, _, offset in words]

    def await_hits(self, count=1):
        harness.wait_until(lambda: self.hits >= count, f"{count} operations caught by a fault")

    def await_waiting(self, count=1):
        harness.wait_until(lambda: self.waiting >= count, f"{count} operations held by a fault")

    def release(self):
        """Takes the rule away and lets go what it holds."""
        self._filesystem.ask(f"release {self._number}")


class FaultFs:
    """Shows `backing` at `mountpoint`; both are directories that exist. For a PlimsollTest, which ends it."""

    def __init__(self, test, backing, mountpoint):
        need()
        self.backing, self.mountpoint = pathlib.Path(backing), pathlib.Path(mountpoint)
        self._control = str(mountpoint) + ".control"
        # Storage is no slower where the host is busy.
        self._process = test.start(harness.Process, [*harness.ahead(), harness.binary("faultfs"), backing, mountpoint,
                                                     self._control])
        test.addCleanup(self.end)
        harness.wait_until(lambda: "ready" in self._process.out or not self._process.running(), "faultfs to mount")
        if self._process.running():
            return
        code = self._process.finish()
        if code == CANNOT_MOUNT:
            raise unittest.SkipTest(f"the fault file system cannot be mounted here: {self._process.err}")
        raise AssertionError(f"faultfs ended with {code}: {self._process.err}")

    def ask(self, command):
        """The answer to a command, without its "ok"."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(harness.LONG_S)
            connection.connect(self._control)
            connection.sendall(f"{command}\n".encode())
            answer = connection.makefile().readline().strip()
        word, _, rest = answer.partition(" ")
        if word != "ok":
            raise ValueError(f"{command}: {answer}")
        return rest

    def in_shell(self, command):
        """A line of shell that has the command carried out."""
        ask = ("import socket, sys; control = socket.socket(socket.AF_UNIX); control.connect(sys.argv[1]); "
               "control.sendall(sys.argv[2].encode() + b'\\n'); sys.exit(not control.makefile().readline().startswith('ok'))")
        return shlex.join([sys.executable, "-c", ask, self._control, command])

    def fault(self, rule):
        """Adds a rule, as in tests/faultfs/README.md: `fault("write *.LOG after=3 error=EIO")`."""
        return Fault(self, int(self.ask(f"add {rule}")))

    def expire(self, pid):
        """Takes the locks of a process away, which may go on; returns how many it had."""
        return int(self.ask(f"expire {pid}"))

    def clear(self):
        """Takes all rules away and lets go what they hold."""
        self.ask("clear")

    def end(self):
        """Lets go everything and unmounts."""
        if not self._process.running():
            return
        self._process.signal(signal.SIGTERM)
        try:
            self._process.finish(10)
        except AssertionError:
            subprocess.run(["umount", "-l", self.mountpoint], check=False, timeout=60)
            self._process.end()


def mounted(test, name="mnt"):
    """A new directory below the test's own, through the fault file system."""
    backing, mountpoint = test.base / f"{name}.backing", test.base / name
    backing.mkdir()
    mountpoint.mkdir()
    return FaultFs(test, backing, mountpoint)


def have_nft():
    return shutil.which("nft") is not None
