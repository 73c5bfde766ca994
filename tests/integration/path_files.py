"""Runs on files that are named by their paths: what they may write to, and what has to stay as it is."""

import errno
import fcntl
import hashlib
import mmap
import os
import shutil
import stat
import subprocess
import tempfile
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


def takes_direct(directory):
    """Whether the file system of this directory takes O_DIRECT: writes a page with it, and reads that again."""
    handle, path = tempfile.mkstemp(prefix=".direct-", dir=directory)
    os.close(handle)
    try:
        file = os.open(path, os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC)
        try:
            # Pages of a mapping are aligned, as O_DIRECT asks.
            with mmap.mmap(-1, BLOCK_BYTES) as written, mmap.mmap(-1, BLOCK_BYTES) as found:
                written.write(b"d" * BLOCK_BYTES)
                done = os.pwritev(file, [written], 0), os.preadv(file, [found], 0)
                if done != (BLOCK_BYTES, BLOCK_BYTES) or found[:] != written[:]:
                    raise AssertionError(f"{directory}: O_DIRECT does not read what it wrote: {done} bytes")
        finally:
            os.close(file)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return False
    finally:
        os.unlink(path)
    return True


def grants_leases(directory):
    """Whether the file system of this directory has leases: a read lease is granted, and refused while the file is open for
    writing. Without them an agent cannot find out that another process writes to a file."""

    def leased(path):
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except OSError:
            return False
        finally:
            os.close(file)
        return True

    handle, path = tempfile.mkstemp(prefix=".lease-", dir=directory)
    try:
        while_written = leased(path)
    finally:
        os.close(handle)
    try:
        return leased(path) and not while_written
    finally:
        os.unlink(path)


def size_of(path):
    """The bytes of a regular file or of a block device."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.lseek(file, 0, os.SEEK_END)
    finally:
        os.close(file)


class PathsTest(harness.PlimsollTest):
    """Runs one quick pass over each of the files, unless the arguments have another plan."""

    def make(self, name, size=SIZE):
        """A file below the directory under test with bytes that no run writes."""
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(size))
        return path

    def start_paths(self, files, *arguments, hosts=(), wrap=()):
        """`plimsoll run` on these paths, on these agents; without any, on an agent that the controller starts."""
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
        """Runs as start_paths does, to its end. A pass that is complete must have taken each block of the files once."""
        process = self.start_paths(files, *arguments, hosts=hosts, wrap=wrap)
        result = self.finished(process, process.results, code, 120)
        if result.code == 0 and "--dry-run" not in arguments:
            self.assert_whole_pass(result, files if isinstance(files, (list, tuple)) else [files])
        return result

    def assert_whole_pass(self, result, files):
        """If the run was a pass: its hosts took the whole blocks of the files, each host all of them or together (--share ranges)."""
        report = result.report
        workloads = [host["workload"] for host in report["hosts"]]
        if not workloads[0].get("one_pass"):
            return
        self.assertEqual(report["run"]["state"], "complete", result)
        (block,) = report["plan"]["block_size_bytes"]
        used = list(files)[:workloads[0]["qm"]]
        sizes = [workloads[0].get("file_size_bytes", size_of(path)) for path in used]
        for path, size in zip(used, sizes):
            self.assertLessEqual(size, size_of(path), path)
        whole = sum(size // block * block for size in sizes)
        ranges = workloads[0]["share"] == "ranges"
        self.assertGreater(len(report["steps"]), 0, result)
        for step in report["steps"]:
            done = [scope["bytes"] for scope in harness.scopes(step, "host")]
            reads = harness.operations(step).get("read", {"scopes": []})
            for host, scope in enumerate(harness.scopes(reads, "host")):
                done[host] += scope["throughput"]["bytes"]
            self.assertEqual(sum(done) if ranges else done, whole if ranges else [whole] * len(workloads), result)

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

    def operations_of(self, result):
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
