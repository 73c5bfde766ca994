"""The disk that hosts share, and its cluster file system: OCFS2 with o2cb, the cluster that the kernel brings.

The file system is made here, on the file that is the disk; the package with the programs is unpacked, not installed. The hosts
need none of the programs: what they would do is written into configfs by hand (guest/shared_disk).
"""

import os
import re
import subprocess

import network
from image import LabError, run, unpack

# The programs, and the libraries that they are linked with; none of their daemons runs.
PACKAGES = ("ocfs2-tools", "libcmap4", "libdlm3", "libaio1", "libqb100", "libcorosync-common4")
SIZE_MIB = 1024
CLUSTER = "lab"
BLOCK_BYTES = 4096
JOURNAL_MIB = 4  # The least; each host has one.
# A heartbeat is a sector of its own for each number that a host can have.
SECTOR_BYTES = 512
HEARTBEAT_SECTORS = 255


def _programs():
    """Directory of the programs, and the environment in which they find their libraries."""
    roots = unpack(PACKAGES)
    libraries = [str(root / place) for root in roots for place in ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")]
    return roots[0] / "sbin", {**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)}


def make(disk, hosts):
    """Makes the disk with room for `hosts` at once. Gives the file system's id and the first sector of its heartbeats."""
    programs, environment = _programs()
    with open(disk, "wb") as file:
        file.truncate(SIZE_MIB << 20)
    # -F: it would ask whether the cluster, which this machine is no part of, has it mounted.
    run(programs / "mkfs.ocfs2", "-q", "-F", "-b", BLOCK_BYTES, "-C", BLOCK_BYTES, "-N", hosts, "-J", f"size={JOURNAL_MIB}M",
        "-L", CLUSTER, disk, env=environment, stdin=subprocess.DEVNULL)
    shown = [run(programs / "debugfs.ocfs2", "-R", about, disk, env=environment) for about in ("stats", "stat //heartbeat")]
    identity = re.search(r"UUID: ([0-9A-F]{32})$", shown[0], re.MULTILINE)
    # The file's first extent: number, offset, blocks, first block, flags.
    extent = re.search(r"^\s+0\s+0\s+(\d+)\s+(\d+)\s+0x0\s*$", shown[1], re.MULTILINE)
    if identity is None or extent is None or int(extent.group(1)) * BLOCK_BYTES < HEARTBEAT_SECTORS * SECTOR_BYTES:
        raise LabError(f"debugfs.ocfs2 does not show the file system that was made:\n{''.join(shown)}")
    return identity.group(1), int(extent.group(2)) * BLOCK_BYTES // SECTOR_BYTES


def words(identity, first_sector, machines):
    """What a host must know to take part, for its kernel's command line. Its peers are reached over `storage`."""
    nodes = ",".join(f"{each.name}:{each.number}:{network.address('storage', each.number)}" for each in machines)
    return {"san": identity, "san_heartbeat": f"{SECTOR_BYTES}:{first_sector}:{HEARTBEAT_SECTORS}", "san_nodes": nodes}
