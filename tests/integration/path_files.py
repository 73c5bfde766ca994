"""Runs on files that are named by their paths: what they may write to, and what has to stay as it is."""

import hashlib
import os
import shutil
import stat
import subprocess
import unittest

import harness

KIB = 1 << 10
SIZE = 64 * KIB
BLOCK_BYTES = 4 * KIB


def contents(path):
    """The bytes of a regular file or a block device; those that /dev has at this moment."""
    with open(path, "rb") as file:
        return file.read()


def state(path):
    """All that a write to the file, or another file in its place, would change. Does not open what could block."""
    info = os.lstat(path)
    place = (info.st_mode, info.st_dev, info.st_ino, info.st_nlink)
    if stat.S_ISLNK(info.st_mode):
        return (*place, os.readlink(path))
    if stat.S_ISBLK(info.st_mode):
        return (*place, hashlib.sha256(contents(path)).hexdigest())
    if not stat.S_ISREG(info.st_mode):
        return place
    return (*place, info.st_size, info.st_mtime_ns, hashlib.sha256(contents(path)).hexdigest())


def rewritten(before, after, block_bytes=BLOCK_BYTES):
    """The numbers of the blocks that differ."""
    assert len(before) == len(after), "a file has another size"
    return [number for number in range(-(-len(before) // block_bytes))
            if before[number * block_bytes:(number + 1) * block_bytes] != after[number * block_bytes:(number + 1) * block_bytes]]


class PathsTest(harness.PlimsollTest):
    """Runs one quick pass over each of the files, unless the arguments have another plan."""

    def make(self, name, size=SIZE):
        """A file below the directory under test with bytes that no run writes."""
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(size))
        return path

    def start_paths(self, files, *arguments, hosts=(), wrap=()):
        """`plimsoll run` on these paths, on these agents; on none, an agent that the controller starts."""
        self._results += 1
        out = self.base / f"results-{self._results}"
        names = ",".join(map(str, files)) if isinstance(files, (list, tuple)) else files
        where = ("--hosts", ",".join(agent.address for agent in hosts)) if hosts else ()
        given = {str(argument).split("=")[0] for argument in arguments}
        plan = () if given & {"--duration", "--create"} else ("--one-pass",)
        size = () if "--bsize" in given else ("--bsize", "4k")
        process = self.start_plimsoll("run", "--files", names, *where, *plan, *size, "--out", out, "--full", *arguments, wrap=wrap)
        process.results = out
        return process

    def run_paths(self, files, *arguments, hosts=(), code=0, wrap=()):
        process = self.start_paths(files, *arguments, hosts=hosts, wrap=wrap)
        process.finish(120)
        return self.result_of(process, process.results, code)

    def refused(self, files, pattern, *arguments, hosts=(), code=2):
        """The run is refused with one line for each host, before it has results."""
        result = self.run_paths(files, *arguments, hosts=hosts, code=code)
        (line,) = result.errors
        self.assertRegex(line, pattern)
        self.assertTrue(line.startswith("plimsoll: "), line)
        self.assertFalse(result.results.exists())
        return result

    def create(self, agent, files, *arguments, code=0):
        return self.run_paths(files, "--create", "--file-size", "64k", *arguments, hosts=[agent] if agent else (), code=code)

    def operations_of(self, result, kind="write"):
        """How many operations of the main kind the run measured."""
        (step,) = result.report["steps"]
        return harness.cluster(step)["latency"]["count"]


def loop_device(test, size=2 << 20):
    """A block device of this size, gone at the end of the test however it ends. Returns its path."""
    if os.geteuid() != 0:
        raise unittest.SkipTest("loop devices need root")
    if shutil.which("losetup") is None:
        raise unittest.SkipTest("losetup is not installed")
    test.loops = getattr(test, "loops", 0) + 1
    image = test.base / f"image-{test.loops}"
    with image.open("wb") as file:
        # Zeros that are written: a run that reads refuses holes.
        file.write(bytes(size))
    done = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True, timeout=harness.LONG_S, check=False)
    if done.returncode != 0:
        raise unittest.SkipTest(f"this machine makes no loop device: {done.stderr.strip()}")
    device = done.stdout.strip()
    # While it is open here, to detach it means that it goes with its last user.
    held = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    test.addCleanup(os.close, held)
    subprocess.run(["losetup", "--detach", device], check=True, timeout=harness.LONG_S)
    return device
