"""One host: an emulated machine in a process of its own, and the channel over which it takes commands."""

import base64
import fcntl
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import network
import tsc
from image import LabError, run

MEMORY_MIB = 448
DISK_MIB = 1024


def _clock_words():
    rate_khz = tsc.rate_khz()
    return "tsc=reliable" + (f" tsc_early_khz={rate_khz}" if rate_khz else "")


class Machine:
    """A host of the lab in `place`; `number` gives its addresses. Nothing is held in memory: all is in `place`."""

    def __init__(self, place, namespace, name, number):
        self.name, self.number, self._namespace = name, number, namespace
        self._place = pathlib.Path(place) / name
        self._pid_file = self._place / "pid"
        self._socket = self._place / "commands"
        self.console = self._place / "console"

    def create(self, words, disk_mib=DISK_MIB):
        """Makes its place, its disk and its ports. `words` go to the kernel's command line."""
        self._place.mkdir(parents=True)
        (self._place / "words").write_text(words)
        disk = self._place / "disk"
        with open(disk, "wb") as file:
            file.truncate(disk_mib << 20)
        run("mke2fs", "-q", "-t", "ext4", "-F", "-E", "lazy_itable_init=0,nodiscard", disk)
        network.add_ports(self._namespace, self.number)

    def start(self, kernel, initramfs, shared_disk=None, processor=None):
        """Starts the emulator; await_line tells how far the host came.

        With a `processor` it stays on that one of this machine, and goes before all else there: what else the machine does
        makes timers of the host late, and by more where it has just had nothing to do.
        """
        if self.pid() is not None:
            raise LabError(f"{self.name} runs already")
        if self.console.exists():
            self.console.rename(self.console.with_suffix(".before"))
        first = [] if processor is None else ["taskset", "--cpu-list", str(processor), "nice", "-n", "-20"]
        argv = [
            "ip", "netns", "exec", self._namespace, *first, "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-machine", "q35",
            "-cpu", "max", "-smp", "1", "-m", str(MEMORY_MIB), "-nodefaults", "-display", "none", "-no-reboot",
            "-daemonize", "-pidfile", self._pid_file, "-serial", f"file:{self.console}", "-kernel", kernel, "-initrd", initramfs,
            # The timer check fails where the emulator got no time for a while.
            "-append", f"console=ttyS0 quiet panic=-1 {_clock_words()} no_timer_check mitigations=off "
                       + (self._place / "words").read_text(),
            "-device", "virtio-serial-pci", "-chardev", f"socket,id=commands,path={self._socket},server=on,wait=off",
            "-device", "virtserialport,chardev=commands,name=commands",
            # A flush waits for nothing: what the host wrote outlives the emulator anyway, and this machine's disk is not what
            # is measured.
            "-drive", f"file={self._place / 'disk'},format=raw,if=virtio,cache=unsafe",
            "-object", "rng-random,id=rng0,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=rng0",
        ]
        if shared_disk is not None:
            argv += ["-drive", f"file={shared_disk},format=raw,if=virtio,cache=writeback,file.locking=off"]
        for net in network.NETS:
            argv += ["-netdev", f"tap,id={net},ifname={network.port(net, self.number)},script=no,downscript=no",
                     "-device", f"virtio-net-pci,netdev={net},mac={network.hardware_address(net, self.number)},romfile="]
        run(*argv)

    def pid(self):
        """The emulator's id; None where it does not run."""
        try:
            pid = int(self._pid_file.read_text())
            # Not another process that got the id later.
            if str(self._pid_file).encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
        except (OSError, ValueError):
            pass
        return None

    def state(self):
        pid = self.pid()
        if pid is None:
            return "dead"
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return "paused" if stat in "Tt" else "running"

    def _signal(self, number):
        pid = self.pid()
        if pid is None:
            raise LabError(f"{self.name} does not run: start it")
        os.kill(pid, number)

    def pause(self):
        """Suspends the whole host; its clock goes on, as when a hypervisor has no time for it."""
        self._signal(signal.SIGSTOP)

    def resume(self):
        self._signal(signal.SIGCONT)

    def kill(self):
        """As pulling the plug: nothing is written back that the host held."""
        pid = self.pid()
        if pid is None:
            return
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while self.pid() is not None:
            if time.monotonic() > deadline:
                raise LabError(f"{self.name}: process {pid} does not end")
            time.sleep(0.01)

    def await_line(self, line, timeout_s):
        """Waits until the host's console shows the line."""
        deadline = time.monotonic() + timeout_s
        while True:
            shown = self.console.read_text(errors="replace") if self.console.exists() else ""
            if re.search(rf"^{re.escape(line)}\s*$", shown, re.MULTILINE):
                return
            if self.pid() is None or time.monotonic() > deadline:
                last = "\n".join(shown.splitlines()[-15:])
                raise LabError(f"{self.name} did not come to '{line}' in {timeout_s} s; its console ({self.console}) ends:\n{last}")
            time.sleep(0.02)

    def execute(self, command, timeout_s=60):
        """Runs a shell command on the host; its output and its exit status. It needs no network."""
        with open(self._place / "commands.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with socket.socket(socket.AF_UNIX) as channel:
                channel.settimeout(timeout_s)
                try:
                    channel.connect(str(self._socket))
                    number = f"{time.monotonic_ns():x}"
                    channel.sendall(f"{number} {base64.b64encode(command.encode()).decode()}\n".encode())
                    with channel.makefile("r") as answers:
                        for line in answers:
                            # Older ones are of commands that nobody waits for any more.
                            if line.startswith(number):
                                _, status, *output = line.split()
                                return base64.b64decode("".join(output)).decode(errors="replace"), int(status)
                except (OSError, subprocess.SubprocessError) as error:
                    raise LabError(f"{self.name}: `{command}` gave no answer in {timeout_s} s ({error})") from error
        raise LabError(f"{self.name}: the host ended while `{command}` ran")
