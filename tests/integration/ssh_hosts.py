"""Hosts with a real sshd each, for `plimsoll --launch ssh`: a network, a process table, a home and a /tmp of their own.

They share the tree of this machine and the directory under test, which they have at /mnt.
"""

import os
import pathlib
import re
import shlex
import signal
import subprocess
import unittest

import harness
import namespaces

SSHD = "/usr/sbin/sshd"

# In namespaces of its own: $1 is the host's directory, $2 its name, $3 the directory under test, $4 what else to do.
_BOOT = """
set -e
hostname "$2"
mount --bind "$3" /mnt
mount --bind "$1/home" /root
mount -t tmpfs -o mode=755 none /run
mkdir /run/sshd
cd /
mount --bind "$1/tmp" /tmp
eval "$4"
exec /usr/sbin/sshd -D -e -f /root/.sshd/config
"""

_SSHD_CONFIG = """
Port 22
ListenAddress {address}
HostKey /root/.sshd/host_key
AuthorizedKeysFile /root/.ssh/authorized_keys
PermitRootLogin yes
PasswordAuthentication no
UsePAM no
StrictModes no
MaxStartups 100
PidFile none
{more}
"""


def _keygen(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path], check=True, timeout=60)


class Sshd(harness.Process):
    """The sshd of one host."""

    def end(self):
        # In its own process table everything ends with the first process there, sshd.
        for pid in harness.children_of(self.pid) if self.running() else ():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        super().end()


class SshHost:
    """One of them."""

    def __init__(self, test, network, number, shared):
        self.number, self.name = number, f"host{number}"
        self.address = network.hosts[number - 1]
        self._test, self._network, self._shared = test, network, shared
        self.place = test.base / self.name
        self.home, self.tmp = self.place / "home", self.place / "tmp"
        for directory in (self.home / ".ssh", self.home / ".sshd", self.tmp):
            directory.mkdir(parents=True)
        _keygen(self.home / ".sshd/host_key")
        self.booted = False

    @property
    def host_key(self):
        return (self.home / ".sshd/host_key.pub").read_text().strip()

    def boot(self, authorized, config="", shell=""):
        """Starts it. `config` goes into sshd's configuration, `shell` is run before sshd starts."""
        (self.home / ".ssh/authorized_keys").write_text(authorized)
        (self.home / ".sshd/config").write_text(
            _SSHD_CONFIG.format(address=self.address, more=config))
        process = self._test.start(Sshd, [
            *self._network.on_host(self.number), "unshare", *namespaces.own_mounts(), "--uts", "--pid", "--fork", "--kill-child",
            "--mount-proc", "sh", "-c", _BOOT, "sh", self.place, self.name, self._shared, shell
        ])
        process.await_err("Server listening")
        self.booted = True
        (sshd,) = harness.children_of(process.pid)
        self._sshd = sshd
        self._table = os.readlink(f"/proc/{sshd}/ns/pid")

    def processes(self):
        """Ids of the host's processes by name, but for those of sshd."""
        found = {}
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                inside = os.readlink(process / "ns/pid") == self._table
            except OSError:
                continue
            name = harness.comm_of(process.name)
            if inside and name not in ("sshd", "") and harness.is_alive(process.name):
                found.setdefault(name, []).append(int(process.name))
        return found

    def stop(self):
        """Its sshd hangs, until the end of the test."""
        os.kill(self._sshd, signal.SIGSTOP)

    def sessions(self):
        """Ids of the sshd processes of its connections."""
        return [pid for child in harness.children_of(self._sshd) for pid in (child, *harness.children_of(child))
                if harness.comm_of(pid) == "sshd"]

    def agent_pid(self):
        (pid,) = self.processes()["plimsoll-agent"]
        return pid

    def files(self):
        """What is in its home and its /tmp that was not there at first."""
        at_first = {self.home / ".ssh", self.home / ".sshd"}
        return sorted(
            str(path.relative_to(self.place)) for top in (self.home, self.tmp) for path in harness.paths(top)
            if path not in at_first and not at_first & set(path.parents))

    @property
    def cached(self):
        (agent,) = self.home.glob(".cache/plimsoll/*/plimsoll-agent")
        return agent


class SshTest(harness.PlimsollTest):
    """Tests with `hosts`, booted on demand, and a user whose ssh knows them."""

    size = 1

    def setUp(self):
        super().setUp()
        if not os.access(SSHD, os.X_OK):
            raise unittest.SkipTest("sshd (openssh-server) is not installed")
        namespaces.need("--net", *namespaces.own_mounts(), "--uts", "--pid", "--fork")
        self.network = namespaces.Network(self.size)
        self.addCleanup(self.network.remove)
        self.user = self.base / "user"
        self.user.mkdir()
        _keygen(self.user / "key")
        self.hosts = [SshHost(self, self.network, number, self.dir) for number in range(1, self.size + 1)]
        (self.user / "config").write_text(
            "".join(f"Host {host.name}\n  HostName {host.address}\n" for host in self.hosts) +
            f"Host *\n  User root\n  IdentityFile {self.user}/key\n  IdentitiesOnly yes\n"
            f"  UserKnownHostsFile {self.user}/known_hosts\n  GlobalKnownHostsFile /dev/null\n")
        self.know(self.hosts)

    def know(self, hosts):
        (self.user / "known_hosts").write_text("".join(f"{host.address} {host.host_key}\n" for host in hosts))

    def boot(self, **how):
        for host in self.hosts:
            host.boot((self.user / "key.pub").read_text(), **how)

    def agent_file(self):
        """An agent that hosts which share this machine's tree can run, without what debuggers want."""
        copy = self.base / "plimsoll-agent"
        if not copy.exists():
            subprocess.run(["strip", "-o", copy, harness.binary("plimsoll-agent")], check=True, timeout=60)
        return copy

    @property
    def names(self):
        return f"host[1-{self.size}]"

    def launch(self, copy=True):
        """The options of a command for the hosts."""
        options = ["--launch", "ssh", "--ssh-command", f"ssh -F {shlex.quote(str(self.user / 'config'))}"]
        return [*options, "--launch-agent", self.agent_file()] if copy else options

    def over_ssh(self, *arguments, code=0, copy=True, dir="/mnt"):
        """`plimsoll run` on all hosts."""
        return self.run_plan("--hosts", self.names, *self.launch(copy), *arguments, code=code, dir=dir,
                             wrap=self.network.on_controller())

    def start_over_ssh(self, *arguments):
        return self.start_run("--hosts", self.names, *self.launch(), *arguments, dir="/mnt",
                              wrap=self.network.on_controller())

    def command(self, *arguments, code=0, copy=True):
        """Any other command for all hosts."""
        return self.plimsoll(*arguments, "--hosts", self.names, *self.launch(copy), code=code,
                             wrap=self.network.on_controller())

    def await_nothing_runs(self, timeout_s=harness.LONG_S):
        for host in self.hosts:
            harness.wait_until(lambda host=host: not host.processes(), f"no process on {host.name}: {host.processes()}",
                               timeout_s)

    def await_only_the_cached_agent(self, cached=True):
        """Nothing runs on the hosts, nothing is in the directory under test, and of the launch only the cached agent is
        left, nor is anything left of it on this machine."""
        self.await_nothing_runs()
        self.await_nothing_left()
        expected = ["home/.cache"]
        if cached:
            expected += [f"home/.cache/plimsoll{path}" for path in ("", "/VERSION", "/VERSION/plimsoll-agent")]
        for host in self.hosts:
            self.assertEqual([re.sub(r"/\d+\.\d+\.\d+", "/VERSION", file) for file in host.files()], expected, host.name)
        harness.wait_until(lambda: not list(self.runtime.iterdir()), "no socket on this machine")


class PairTest(SshTest):
    """Two hosts that are booted, and runs on them that end early."""

    size = 2

    def setUp(self):
        super().setUp()
        self.boot()

    def await_clients(self, process):
        """Ids of the ssh clients of a controller, in the order of the hosts, once there is one for each."""

        def look():
            clients = [pid for pid in harness.children_of(process.pid) if harness.comm_of(pid) == "ssh"]
            return sorted(clients) if len(clients) == self.size else None

        return harness.wait_until(look, "a client for each host")

    def start_measuring(self, *arguments):
        run = self.start_over_ssh("--duration", "60", *arguments)
        self.await_running(run)
        return run

    def assert_host2_was_lost(self, run):
        result = self.result_of(run, run.results, code=3)
        report = result.report
        self.assertEqual([host["label"] for host in report["hosts"] if "lost" in host], ["host2"])
        self.assertRegex(result.err, r"(?m)^plimsoll: host host2 is lost: ")
        self.await_only_the_cached_agent()
        return result
