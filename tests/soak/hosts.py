"""The hosts of a soak: agents that live through its sessions, each with a network and a small file system of its own
where the machine allows it."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "faultfs"))

import faultfs  # noqa: E402
import harness  # noqa: E402
import namespaces  # noqa: E402

NAMES = ("alpha", "beta", "gamma")
# Holds what a session writes, and little more: a fault that fills it fills it fast.
DISK_BYTES = 48 << 20
# Mounts a file system in memory on $1, and holds it, whatever becomes of the agent that writes there.
MOUNT = 'mount -t tmpfs -o "size=$2" none "$1" && echo mounted >&2 && exec sleep infinity'


class FaultyDisk(faultfs.FaultFs):
    """The fault file system in the mount namespace of `holder`, between a host and its disk."""

    def __init__(self, test, holder, backing, mountpoint, control):
        self.backing, self.mountpoint, self._control = backing, mountpoint, str(control)
        self._process = test.start(harness.Process, [
            "nsenter", f"--mount=/proc/{holder.pid}/ns/mnt", "--", harness.binary("faultfs"), backing, mountpoint, control
        ])
        harness.wait_until(lambda: "ready" in self._process.out or not self._process.running(), "faultfs to mount")
        if not self._process.running():
            raise unittest.SkipTest(f"the fault file system cannot be mounted here: {self._process.err}")


class Host:
    """One agent, which is started again where it was killed."""

    def __init__(self, hosts, number, name):
        self.hosts, self.number, self.name = hosts, number, name
        self.disk = None
        self.faults = None
        if hosts.mounts:
            place = hosts.directory
            if hosts.faulty:
                place = hosts.test.base / f"disk-{number}"
                place.mkdir()
            self.disk = hosts.test.start(harness.Process, [
                "unshare", *namespaces.own_mounts(), "sh", "-c", MOUNT, "sh", place, DISK_BYTES
            ])
            self.disk.await_err("^mounted$")
            if hosts.faulty:
                self.faults = FaultyDisk(hosts.test, self.disk, place, hosts.directory,
                                         hosts.test.base / f"faults-{number}")
        self.start()

    def start(self):
        test = self.hosts.test
        wrap, listen, more = self.hosts.place_of(self.number)
        if self.disk:
            wrap = [*wrap, "nsenter", f"--mount=/proc/{self.disk.pid}/ns/mnt", "--"]
        self.process = test.agent(self.name, root=self.hosts.directory, listen=listen, wrap=wrap, more=more)
        self.address = self.process.address
        self.before = None

    @property
    def pid(self):
        return self.process.agent_pid

    @property
    def files(self):
        """The directory that it writes in, as it sees it."""
        return pathlib.Path(f"/proc/{self.disk.pid}/root{self.hosts.directory}") if self.disk else self.hosts.directory

    def signal(self, number):
        self.process.signal(number)

    def ended(self):
        return not harness.is_alive(self.pid)

    def holds(self):
        proc = pathlib.Path(f"/proc/{self.pid}")
        resident_kib = int(re.search(r"VmRSS:\s+(\d+) kB", (proc / "status").read_text()).group(1))
        # gRPC's own threads come and go.
        ours = sum(name.startswith(("qm", "recorder", "cpu-load")) for name in harness.of_threads(self.pid, "comm").values())
        return len(list((proc / "fd").iterdir())), ours, resident_kib

    def check(self, more_descriptors, more_resident_kib):
        """Nothing was leaked since the first check of this process."""
        if self.before is None:
            self.before = self.holds()
            return
        descriptors, _, resident_kib = self.before
        harness.wait_until(lambda: self.holds()[0] <= descriptors + more_descriptors,
                           f"{self.name}: {descriptors} descriptors as at first, now {self.holds()}")
        harness.wait_until(lambda: self.holds()[1] == 0, f"{self.name}: no thread of a session, now {self.holds()}")
        if self.holds()[2] > resident_kib + more_resident_kib:
            raise AssertionError(f"{self.name} grew from {self.before} to {self.holds()}")

    def growth(self):
        descriptors, _, resident_kib = self.holds()
        if self.before is None:
            return "(new)"
        return f"{descriptors - self.before[0]:+} descriptors, {resident_kib - self.before[2]:+} KiB"


class Hosts:
    """Agents, and what can be done to all of them. Ends with what it made."""

    def __init__(self, test):
        self.test = test
        self.directory = test.dir
        self.network = None
        self.mounts = False
        self.faulty = False
        # What heals what was done, in the order in which it was done.
        self.cures = []

    def __enter__(self):
        try:
            self.network = namespaces.Network(len(NAMES))
            self.test.addCleanup(self.network.remove)
            namespaces.need(*namespaces.own_mounts())
            self.mounts = True
            faultfs.need()
            self.faulty = os.path.exists(harness.binary("faultfs"))
        except unittest.SkipTest as reason:
            print(f"NOT TESTED: networks, disks, or faults of disks: {reason}", flush=True)
        self.agents = [Host(self, number, name) for number, name in enumerate(NAMES, start=1)]
        return self

    def __exit__(self, *_):
        for agent in self.agents:
            if agent.faults:
                agent.faults.clear()
            agent.process.end()
            if agent.faults:
                agent.faults.end()
            if agent.disk:
                agent.disk.end()

    def describe(self):
        kind = "networks and disks of their own" if self.mounts else "one network and one disk"
        kind += ", faults of disks too" if self.faulty else ""
        return f"{len(self.agents)} agents with {kind}"

    def place_of(self, number):
        """What is put before an agent's command line, where it listens, and further options."""
        if self.network is None:
            return [], "127.0.0.1:0", []
        return self.network.on_host(number), f"{self.network.hosts[number - 1]}:7461", ["--insecure"]

    def on_controller(self):
        return self.network.on_controller() if self.network else []

    def addresses(self):
        return ",".join(agent.address for agent in self.agents)

    def heal(self):
        """Undoes every fault, the last first, and starts what was killed again."""
        while self.cures:
            self.cures.pop()()
        for agent in self.agents:
            if agent.ended():
                agent.process.end()
                agent.start()

    def await_clean(self):
        for agent in self.agents:
            harness.wait_until(lambda agent=agent: not list(agent.files.iterdir()),
                               f"nothing below {self.directory} of {agent.name}")

    def nft(self, number, *rules):
        """Sets rules in the network of host `number`, and takes them back when it heals."""
        inside = self.network.on_host(number)
        for rule in rules:
            subprocess.run([*inside, "nft", *rule.split()], check=True, capture_output=True, timeout=30)
        self.cures.append(lambda: subprocess.run([*inside, "nft", "flush", "ruleset"], check=True, timeout=30))

    def print_logs(self):
        for agent in self.agents:
            print(f"--- {agent.name}\n" + "\n".join(agent.process.err.splitlines()[-20:]), flush=True)


def can_filter():
    return os.path.exists("/usr/sbin/nft")
