"""The lab's network: one namespace with two bridges, `control` and `storage`, and a port of each for every host.

The controller runs in the namespace and has the address 10.77.1.254 on `control`; it has none on `storage`.
"""

import subprocess

from image import LabError

NETS = ("control", "storage")
CONTROLLER = "10.77.1.254"


def _ip(*arguments):
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


def address(net, number):
    """Address of host `number`; the storage host is number 1, the others begin with 11."""
    return f"10.77.{NETS.index(net) + 1}.{number}"


def hardware_address(net, number):
    return f"52:54:00:{NETS.index(net) + 1:02x}:00:{number:02x}"


def port(net, number):
    """The host's port on a bridge: the tap device that its card is connected to."""
    return f"{net}{number}"


def make(namespace):
    _ip("netns", "add", namespace)
    _ip("-n", namespace, "link", "set", "lo", "up")
    for net in NETS:
        _ip("-n", namespace, "link", "add", net, "type", "bridge", "forward_delay", "0", "mcast_snooping", "0")
        _ip("-n", namespace, "link", "set", net, "up")
    _ip("-n", namespace, "addr", "add", f"{CONTROLLER}/24", "dev", "control")


def add_ports(namespace, number):
    for net in NETS:
        _ip("-n", namespace, "tuntap", "add", port(net, number), "mode", "tap")
        _ip("-n", namespace, "link", "set", port(net, number), "master", net, "up")


def set_port(namespace, net, number, up):
    """A port that is down takes and gives nothing; the host's card does not notice."""
    _ip("-n", namespace, "link", "set", port(net, number), "up" if up else "down")


def exists(namespace):
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False).stdout
    return namespace in [line.split()[0] for line in listed.splitlines() if line.strip()]


def remove(namespace):
    if exists(namespace):
        _ip("netns", "del", namespace)
