"""Namespaces for tests: hosts with a network of their own on one bridge, and programs with a clock of their own."""

import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest


# A port that nobody listens on: being refused is an answer too.
_AWAIT_ANSWER = """
import socket, sys, time
while True:
    try:
        socket.create_connection((sys.argv[1], 9), timeout=1).close()
    except ConnectionRefusedError:
        break
    except OSError:
        time.sleep(0.02)
    else:
        break
"""

_numbers = itertools.count(1)  # of the networks that this process makes


def _works(*argv):
    try:
        return subprocess.run(argv, capture_output=True, timeout=30, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def need(*unshare_options):
    """Skips the test where such a namespace cannot be made."""
    if os.geteuid() != 0:
        raise unittest.SkipTest("namespaces need root")
    if not _works("unshare", *unshare_options, "true"):
        raise unittest.SkipTest(f"this machine refuses `unshare {' '.join(unshare_options)}`")


def shares_mounts():
    """Whether what is mounted here may be seen elsewhere. Those of network namespaces are shared by whoever makes the first."""
    mounts = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return any(" shared:" in mount and not mount.split()[4].startswith("/run/netns") for mount in mounts)


def own_mounts():
    """The options of unshare for mounts that nobody else sees. Where none is shared none is made private, which the kernel
    refuses where the root directory is no mount point."""
    return ["--mount"] if shares_mounts() else ["--mount", "--propagation", "unchanged"]


def _ip(*arguments):
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr}")


def _into(name):
    """What to put before a command line that runs in a namespace. `ip netns exec` would mount, too."""
    return ["nsenter", f"--net=/run/netns/{name}"]


def _ip_in(name, *arguments):
    done = subprocess.run([*_into(name), "ip", *arguments], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"ip {' '.join(arguments)} in {name}: {done.stderr}")


def _remove_abandoned():
    """Removes what a test that was killed left behind."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, timeout=60, check=False).stdout
    for name in re.findall(r"^plimsoll-test-\d+-\w+", listed, re.MULTILINE):
        if not os.path.exists(f"/proc/{name.split('-')[2]}"):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=60, check=False)


class Network:
    """`size` hosts, each a network namespace, on a bridge in a namespace of its own, where the controller is.

    Host n has the address 10.77.0.n, the controller 10.77.0.254. Nothing is made in the machine's own namespace but the
    names of the new ones.
    """

    def __init__(self, size):
        need("--net")
        if shutil.which("ip") is None:
            raise unittest.SkipTest("ip (iproute2) is not installed")
        _remove_abandoned()
        self._prefix = f"plimsoll-test-{os.getpid()}-n{next(_numbers)}"
        self._made = []
        self._hub = self._make("hub")
        try:
            _ip_in(self._hub, "link", "add", "br0", "type", "bridge")
        except RuntimeError as error:
            self.remove()
            raise unittest.SkipTest(f"this machine makes no bridge: {error}") from error
        try:
            _ip_in(self._hub, "addr", "add", "10.77.0.254/24", "dev", "br0")
            _ip_in(self._hub, "link", "set", "br0", "up")
            self.hosts = [self._add_host(number) for number in range(1, size + 1)]
        except Exception:
            self.remove()
            raise

    def _make(self, name):
        name = self._prefix + name
        _ip("netns", "add", name)
        self._made.append(name)
        _ip_in(name, "link", "set", "lo", "up")
        return name

    def _add_host(self, number):
        name = self._make(f"host{number}")
        _ip_in(self._hub, "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip_in(self._hub, "link", "set", f"port{number}", "master", "br0", "up")
        _ip_in(name, "addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
        _ip_in(name, "link", "set", "eth0", "up")
        return f"10.77.0.{number}"

    def on_host(self, number):
        """What to put before a command line that shall run on host `number`, from 1."""
        return _into(f"{self._prefix}host{number}")

    def on_controller(self):
        return _into(self._hub)

    def unplug(self, number):
        """Cuts host `number` off, as pulling its cable would."""
        _ip_in(self._hub, "link", "set", f"port{number}", "down")

    def plug_in(self, number):
        _ip_in(self._hub, "link", "set", f"port{number}", "up")

    def await_reached(self, number):
        """Until host `number` answers the controller: a link that is up again carries nothing for up to a second, and who
        asked for the host's address while it was down is refused even later."""
        subprocess.run([*self.on_controller(), sys.executable, "-c", _AWAIT_ANSWER, self.hosts[number - 1]], check=True,
                       timeout=60)

    def remove(self):
        while self._made:
            _ip("netns", "del", self._made.pop())


def clock_ahead(seconds):
    """What to put before a command line that shall see CLOCK_MONOTONIC and CLOCK_BOOTTIME this far ahead."""
    return ["unshare", "--time", "--monotonic", str(seconds), "--boottime", str(seconds), "--fork", "--kill-child"]
