"""What the lab's tests stand on: one lab for the tests of a file, and plimsoll in its network."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

import harness  # noqa: E402
import network  # noqa: E402
from lab import HOSTS, Lab, NAMESPACE  # noqa: E402

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lab"
IN_LAB = ("ip", "netns", "exec", NAMESPACE)
MQLOG = "/mnt/mqlog"
# Emulated hosts are slow: a write takes tens of milliseconds when all are at work.
STALL = "1500ms"


def lab(*arguments):
    """Runs scripts/lab, as a person would."""
    done = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise AssertionError(f"scripts/lab {' '.join(arguments)}: {done.stdout}{done.stderr}")
    return done.stdout


def need_lab():
    """Skips, and says why, where no lab can be made."""
    if os.geteuid() != 0:
        raise unittest.SkipTest("the lab needs root")
    if not os.path.exists("/dev/net/tun"):
        raise unittest.SkipTest("the lab needs /dev/net/tun")
    for program in ("qemu-system-x86_64", "ip", "cpio", "depmod", "mke2fs"):
        if shutil.which(program) is None:
            raise unittest.SkipTest(f"the lab needs {program}: scripts/check lab installs it")


def traces_of_lab():
    """Processes, namespaces, devices and files that a lab makes and that are there now."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(HOSTS).encode() in (entry / "cmdline").read_bytes():
                found.append(f"process {entry.name}")
        except OSError:
            pass
    if network.exists(NAMESPACE):
        found.append(f"namespace {NAMESPACE}")
    devices = os.listdir("/sys/class/net")
    found += [f"device {name}" for name in devices if re.fullmatch(r"(control|storage)\d*", name)]
    if HOSTS.exists():
        found.append(str(HOSTS))
    return found


class LabTest(harness.PlimsollTest):
    """Tests of one file share a lab; `hosts` and `up` say which."""

    hosts = 3
    up = ("--nfs",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        need_lab()
        lab("down")
        cls.addClassCleanup(lab, "down")
        lab("up", "--hosts", str(cls.hosts), *cls.up)
        cls.lab = Lab()

    def setUp(self):
        super().setUp()
        # Whatever a test does to the lab, the next one finds it well.
        self.addCleanup(self.heal)

    def heal(self):
        for machine in self.lab.machines():
            if machine.state() == "paused":
                machine.resume()
            if machine.state() == "dead":
                lab("start", machine.name)
            for net in network.NETS:
                network.set_port(NAMESPACE, net, machine.number, True)

    def addresses(self, *names):
        return ",".join(network.address("control", self.lab.machine(name).number) for name in names)

    def all_hosts(self):
        return [f"host{n + 1}" for n in range(self.hosts)]

    def start_lab_run(self, names, *arguments, dir=MQLOG):
        return self.start_run("--hosts", self.addresses(*names), *arguments, wrap=IN_LAB, dir=dir)

    def stalls_while(self, directory, do, seconds):
        """Runs all hosts, calls `do`, waits, calls what `do` gave. The result, and its stalls that lasted about as long."""
        run = self.start_lab_run(self.all_hosts(), "--duration", str(seconds + 6), "--stall", STALL, dir=directory)
        self.await_running(run)
        undo = do()
        time.sleep(seconds)  # The length of the pause is what is tested.
        undo()
        run.finish(180)
        result = self.result_of(run, run.results)
        (step,) = result.report["steps"]
        return result, [stall for stall in step["stalls"]["stalls"] if stall["length_ns"] > (seconds - 1) * 1_000_000_000]

    def lab_plimsoll(self, *arguments, code=0):
        return self.plimsoll(*arguments, code=code, wrap=IN_LAB)

    def on(self, host, command):
        """Runs a command on a host; its output."""
        output, status = self.lab.machine(host).execute(command)
        self.assertEqual(status, 0, f"{host}: {command}: {output}")
        return output
