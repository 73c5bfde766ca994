"""A cluster of real Linux hosts on one machine: `scripts/lab --help`."""

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time

import network
import shared_disk
from image import Image, LabError, PLACE, program_directory, run
from machine import Machine

HOSTS = PLACE / "hosts"
# Each copy of the project has a lab of its own.
NAMESPACE = "plimsoll-lab-" + hashlib.sha256(str(HOSTS).encode()).hexdigest()[:6]
SERVER = "storage"  # the host that exports
SERVER_NUMBER = 1
FIRST_NUMBER = 11
AGENT_PORT = 7461
MOUNT = "vers=4.2,hard,wsize=65536,rsize=65536,timeo=600,proto=tcp,sec=sys,local_lock=none"
READY_S = 180

EPILOG = """\
A lab is made once and stays until `down`. Its hosts are host1, host2 ... and, with --nfs, `storage`. Each host has two
cards: `control`, which its agent listens on, and `storage`, over which it mounts the export as /mnt/mqlog. A local disk is
/mnt/disk. With --san they boot a larger kernel and share one more disk, with OCFS2 under o2cb, as /mnt/san: fcntl locks hold
there on one host only (tests/lab/README.md). What runs on the machine and wants to reach the agents runs in the lab's namespace:

  scripts/lab up --hosts 3 --nfs
  scripts/lab run plimsoll hosts --hosts 10.77.1.[11-13] --dir /mnt/mqlog
  scripts/lab netem host1 500us --net storage     # what host1 sends on its storage card comes 0.5 ms later
  scripts/lab netem host1 storage 500us           # and what the NFS server sends
  scripts/lab cut host1 --net storage
  scripts/lab down
"""


class Lab:
    """All of it is in files and in the kernel: each command of the script is a process of its own."""

    def __init__(self):
        self._settings_file = HOSTS / "settings"
        self._shared = HOSTS / "shared"

    def settings(self):
        try:
            return json.loads(self._settings_file.read_text())
        except OSError:
            raise LabError("there is no lab: scripts/lab up makes one") from None

    def machine(self, name):
        """The host of that name, or of that control address, which is what a plan's commands have for {host}."""
        numbers = self.settings()["hosts"]
        by_address = {network.address("control", number): each for each, number in numbers.items()}
        name = by_address.get(name, name)
        if name not in numbers:
            raise LabError(f"the lab has no host '{name}'; it has {', '.join(numbers)}")
        return Machine(HOSTS, NAMESPACE, name, numbers[name])

    def machines(self):
        return [self.machine(name) for name in self.settings()["hosts"]]

    def up(self, hosts, nfs, san, pin=False):
        if not 1 <= hosts <= 40:
            raise LabError(f"--hosts {hosts}: 1 to 40")
        if HOSTS.exists() or network.exists(NAMESPACE):
            raise LabError("there is a lab already, or what a crash left of one: scripts/lab down removes it")
        processors, machines = len(os.sched_getaffinity(0)), hosts + (1 if nfs else 0)
        if pin and machines > processors:
            raise LabError(f"--pin: {machines} hosts, and {processors} processors for them: fewer hosts, or without --pin")
        PLACE.mkdir(parents=True, exist_ok=True)
        image = Image(full=san)
        HOSTS.mkdir()
        begun = time.monotonic()
        numbers = {**({SERVER: SERVER_NUMBER} if nfs else {}),
                   **{f"host{n + 1}": FIRST_NUMBER + n for n in range(hosts)}}
        self._settings_file.write_text(json.dumps({
            "hosts": numbers, "kernel": str(image.kernel), "initramfs": str(image.initramfs), "san": san,
            "pin": pin}))
        network.make(NAMESPACE)
        machines = self.machines()
        clients = [machine for machine in machines if machine.name != SERVER]
        san_words = shared_disk.words(*shared_disk.make(self._shared, hosts), clients) if san else {}
        for machine in machines:
            machine.create(self._words(machine, nfs, san_words))
            self.start(machine)
        for machine in machines:
            machine.await_line("lab: ready", READY_S)
        return time.monotonic() - begun

    @staticmethod
    def _words(machine, nfs, san_words):
        words = {"host": machine.name}
        for net in network.NETS:
            words[net] = network.address(net, machine.number) + "/24"
        if machine.name == SERVER:
            words["export"] = "1"
        else:
            words["agent"] = f"{network.address('control', machine.number)}:{AGENT_PORT}"
            words.update(san_words)
            if nfs:
                words.update(server=network.address("storage", SERVER_NUMBER), mount=MOUNT)
        return " ".join(f"lab.{name}={value}" for name, value in words.items())

    def start(self, machine):
        settings = self.settings()
        shared = self._shared if settings["san"] and machine.name != SERVER else None
        processors = sorted(os.sched_getaffinity(0))
        processor = processors[list(settings["hosts"]).index(machine.name)] if settings["pin"] else None
        machine.start(settings["kernel"], settings["initramfs"], shared, processor)

    def netem(self, machine, delay, nets):
        """Delays what the host sends; 0 takes the delay away."""
        for net in nets:
            if delay in ("0", "0ms", "0us"):
                command = f"/opt/tc qdisc del dev {net} root 2>/dev/null; true"
            else:
                command = f"/opt/tc qdisc replace dev {net} root netem limit 100000 delay {shlex.quote(delay)}"
            output, status = machine.execute(command)
            if status != 0:
                raise LabError(f"{machine.name}: {output.strip()}")

    def drop_locks(self, machine):
        """Has the server expire the host's NFS client: its locks and open files are gone, and others may have them."""
        server = self.machine(SERVER)
        address = network.address("storage", machine.number)
        output, status = server.execute(
            f"found=1; for client in /proc/fs/nfsd/clients/*; do grep -q '^address: \"{address}:' $client/info || continue; "
            "echo expire >$client/ctl && found=0; done; exit $found")
        if status != 0:
            raise LabError(f"the server has no NFS client {machine.name} ({address}): {output.strip()}")

    def down(self):
        """Removes everything, also what a crash left: it looks at what is there, not at what was written down."""
        if HOSTS.exists():
            for place in HOSTS.iterdir():
                if place.is_dir():
                    Machine(HOSTS, NAMESPACE, place.name, 0).kill()
        network.remove(NAMESPACE)
        shutil.rmtree(HOSTS, ignore_errors=True)


def _parser():
    parser = argparse.ArgumentParser(prog="scripts/lab", description=__doc__, epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="make the lab and wait until every agent listens")
    up.add_argument("--hosts", type=int, default=3, metavar="N", help="hosts with an agent (3)")
    up.add_argument("--nfs", action="store_true", help="and a storage host, whose NFSv4.2 export all mount")
    up.add_argument("--san", action="store_true", help="and a disk that all hosts share, with OCFS2 on it: /mnt/san")
    up.add_argument("--pin", action="store_true", help="give each host a processor of this machine, where it goes before all else")
    commands.add_parser("status", help="the hosts, their addresses and states")
    execute = commands.add_parser("exec", help="run a shell command on a host")
    execute.add_argument("host")
    execute.add_argument("words", nargs=argparse.REMAINDER, metavar="CMD")
    inside = commands.add_parser("run", help="run a program of this machine in the lab's network")
    inside.add_argument("words", nargs=argparse.REMAINDER, metavar="PROGRAM")
    netem = commands.add_parser("netem", help="delay what hosts send, by a time such as 500us; 0 ends it")
    netem.add_argument("hosts", nargs="+", metavar="HOST")
    netem.add_argument("delay", metavar="DELAY")
    cut = commands.add_parser("cut", help="cut a host off, silently")
    heal = commands.add_parser("heal", help="connect it again")
    for command, default in ((netem, "storage"), (cut, "both"), (heal, "both")):
        command.add_argument("--net", choices=(*network.NETS, "both"), default=default, help=f"({default})")
    for command in (cut, heal):
        command.add_argument("host")
    for name, text in (("pause", "suspend a host; its clock goes on"), ("resume", "let it go on"),
                       ("kill", "pull its plug"), ("start", "start a host that was killed, with the disk that it had"),
                       ("reset", "pull its plug and start it again; ends when it is ready"),
                       ("drop-locks", "make the NFS server expire it as a client: its locks go to whoever asks for them")):
        commands.add_parser(name, help=text).add_argument("host")
    commands.add_parser("down", help="end and remove everything, also after a crash")
    return parser


@contextlib.contextmanager
def _alone():
    """One command changes the lab at a time."""
    PLACE.mkdir(parents=True, exist_ok=True)
    with open(PLACE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _execute(lab, arguments):
    output, status = lab.machine(arguments.host).execute(" ".join(arguments.words))
    sys.stdout.write(output)
    return status


def _inside(lab, arguments):
    words = arguments.words[1:] if arguments.words[:1] == ["--"] else arguments.words
    if not words:
        raise LabError("run: name a program")
    lab.machines()  # which says so where there is no lab
    # The programs that the hosts run come first, so that `run plimsoll` finds one that fits their agents.
    os.environ["PATH"] = f"{program_directory()}:{os.environ.get('PATH', os.defpath)}"
    argv = ["ip", "netns", "exec", NAMESPACE, *words]
    os.execvp(argv[0], argv)


def _change(lab, arguments):
    command = arguments.command
    if command == "up":
        took_s = lab.up(arguments.hosts, arguments.nfs, arguments.san, arguments.pin)
        print(f"{len(lab.machines())} hosts are up after {took_s:.1f} s; scripts/lab status")
        return 0
    if command == "down":
        lab.down()
        return 0
    machines = [lab.machine(host) for host in (arguments.hosts if command == "netem" else [arguments.host])]
    machine = machines[0]
    nets = network.NETS if getattr(arguments, "net", "both") == "both" else (arguments.net,)
    if command == "netem":
        for each in machines:
            lab.netem(each, arguments.delay, nets)
    elif command == "drop-locks":
        lab.drop_locks(machine)
    elif command in ("cut", "heal"):
        for net in nets:
            network.set_port(NAMESPACE, net, machine.number, command == "heal")
    elif command in ("start", "reset"):
        if command == "reset":
            machine.kill()
        lab.start(machine)
        machine.await_line("lab: ready", READY_S)
    else:
        getattr(machine, command)()
    return 0


def _status(lab):
    for machine in lab.machines():
        print(f"{machine.name:<8} {machine.state():<8} control {network.address('control', machine.number):<11} "
              f"storage {network.address('storage', machine.number)}")
    return 0


def _main():
    arguments = _parser().parse_args()
    if os.geteuid() != 0:
        raise LabError("the lab makes network namespaces and devices: run it as root")
    missing = [name for name in ("qemu-system-x86_64", "ip", "cpio", "depmod", "mke2fs") if shutil.which(name) is None]
    if missing:
        raise LabError(f"missing: {', '.join(missing)}; scripts/check lab installs what the lab needs")
    lab = Lab()
    if arguments.command == "status":
        return _status(lab)
    if arguments.command == "exec":
        return _execute(lab, arguments)
    if arguments.command == "run":
        return _inside(lab, arguments)
    with _alone():
        try:
            return _change(lab, arguments)
        except BaseException:
            # Half a lab is of no use; its consoles are.
            if arguments.command == "up" and HOSTS.exists() and lab._settings_file.exists():
                print(f"scripts/lab: what there is stays for a look (consoles below {HOSTS}); scripts/lab down removes it",
                      file=sys.stderr)
            raise


if __name__ == "__main__":
    try:
        sys.exit(_main())
    except (LabError, subprocess.SubprocessError) as error:
        print(f"scripts/lab: {error}", file=sys.stderr)
        sys.exit(2)
