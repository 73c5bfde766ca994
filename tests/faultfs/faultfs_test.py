"""The fault file system itself: without a rule it is the directory behind it; with one, what the rule says happens."""

import contextlib
import errno
import fcntl
import mmap
import os
import pathlib
import signal
import struct
import subprocess
import sys
import threading
import time

import faultfs
import harness

BLOCK = 4096


def setUpModule():
    faultfs.own_mounts()


def aligned(byte, size=BLOCK):
    """Memory that O_DIRECT takes, full of one byte."""
    memory = mmap.mmap(-1, size)
    memory.write(byte * size)
    return memory


class FaultFsTest(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        self.fs = faultfs.mounted(self)
        self.path = self.fs.mountpoint / "file"
        self.below = self.fs.backing / "file"

    def open(self, flags=os.O_RDWR | os.O_CREAT, path=None):
        fd = os.open(path or self.path, flags, 0o600)
        self.addCleanup(lambda: os.close(fd))
        return fd

    def assert_fails(self, number, call, *arguments):
        with self.assertRaises(OSError) as caught:
            call(*arguments)
        self.assertEqual(errno.errorcode[caught.exception.errno], errno.errorcode[number])

    def started(self, call):
        """Runs the call on a thread; what it returned, or the error it raised, is in the list."""
        outcome = []

        def run():
            try:
                outcome.append(call())
            except OSError as error:
                outcome.append(error.errno)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.addCleanup(thread.join, harness.LONG_S)
        return thread, outcome


class Passthrough(FaultFsTest):

    def test_what_is_written_is_in_the_directory_behind_it_and_can_be_read(self):
        (self.fs.mountpoint / "a").mkdir()
        inner = self.fs.mountpoint / "a" / "b"
        inner.write_bytes(b"hello")
        self.assertEqual((self.fs.backing / "a" / "b").read_bytes(), b"hello")
        inner.rename(self.fs.mountpoint / "c")
        self.assertEqual((self.fs.mountpoint / "c").read_bytes(), b"hello")
        self.assertEqual(sorted(os.listdir(self.fs.mountpoint)), ["a", "c"])
        (self.fs.mountpoint / "c").unlink()
        (self.fs.mountpoint / "a").rmdir()
        self.assertEqual(os.listdir(self.fs.backing), [])
        self.assertEqual(os.statvfs(self.fs.mountpoint).f_blocks, os.statvfs(self.fs.backing).f_blocks)

    def test_o_direct_and_o_dsync_reach_the_file_behind_it(self):
        fd = self.open(os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_DIRECT | os.O_DSYNC)
        flags = fcntl.fcntl(fd, fcntl.F_GETFL)
        self.assertEqual(flags & os.O_DIRECT, os.O_DIRECT)
        self.assertEqual(flags & os.O_DSYNC, os.O_DSYNC)
        behind = [os.readlink(link) for link in self.descriptors()]
        self.assertIn(str(self.below), behind)
        for link in self.descriptors():
            if os.readlink(link) == str(self.below):
                info = (link.parent.parent / "fdinfo" / link.name).read_text()
                octal = int(info.split("flags:")[1].split()[0], 8)
                self.assertEqual(octal & (os.O_DIRECT | os.O_DSYNC), os.O_DIRECT | os.O_DSYNC, info)
        self.assertEqual(os.pwrite(fd, aligned(b"x"), BLOCK), BLOCK)
        self.assertEqual(self.below.read_bytes(), bytes(BLOCK) + b"x" * BLOCK)

    def descriptors(self):
        return list(pathlib.Path(f"/proc/{self.fs._process.pid}/fd").iterdir())

    def test_each_write_is_one_write(self):
        fd = self.open(os.O_RDWR | os.O_CREAT | os.O_DIRECT)
        counted = self.fs.fault("write *file delay_ms=1")
        for size in (BLOCK, 64 << 10, 1 << 20):
            os.pwrite(fd, aligned(b"x", size), 0)
        self.assertEqual(counted.hits, 3)

    def test_a_file_that_was_removed_while_open_can_still_be_written(self):
        fd = self.open()
        self.path.unlink()
        self.assertEqual(os.listdir(self.fs.backing), [])
        self.assertEqual(os.pwrite(fd, b"x", 0), 1)
        self.assertEqual(os.pread(fd, 1, 0), b"x")


class Errors(FaultFsTest):

    def test_each_error_comes_from_the_operation_that_it_is_for_and_no_other(self):
        for name in ("EIO", "ESTALE", "EROFS", "EDQUOT", "ENOSPC"):
            with self.subTest(name):
                fd = self.open()
                rule = self.fs.fault(f"write /file error={name}")
                self.assert_fails(getattr(errno, name), os.pwrite, fd, b"x", 0)
                os.fsync(fd)
                self.assertEqual(rule.hits, 1)
                rule.release()
                self.assertEqual(os.pwrite(fd, b"x", 0), 1)

    def test_other_operations_fail_too_where_a_rule_catches_them(self):
        fd = self.open()
        directory = self.fs.mountpoint / "d"
        directory.mkdir()
        for operation, call in (("fsync", lambda: os.fsync(fd)), ("fsync", lambda: os.fdatasync(fd)),
                                ("open", lambda: os.close(os.open(self.path, os.O_RDONLY))),
                                ("create", lambda: os.close(os.open(str(self.path) + "2", os.O_CREAT | os.O_WRONLY))),
                                ("unlink", self.path.unlink), ("mkdir", (directory / "e").mkdir),
                                ("rmdir", directory.rmdir), ("statfs", lambda: os.statvfs(self.fs.mountpoint)),
                                ("read", lambda: os.pread(fd, 1, 0)), ("readdir", lambda: os.listdir(directory)),
                                ("rename", lambda: self.path.rename(str(self.path) + "3")),
                                ("truncate", lambda: os.ftruncate(fd, 5))):
            with self.subTest(operation):
                rule = self.fs.fault(f"{operation} * error=EIO")
                self.assert_fails(errno.EIO, call)
                rule.release()

    def test_a_rule_begins_after_as_many_and_ends_after_as_many_as_it_says(self):
        fd = self.open()
        self.fs.fault("write * after=2 count=1 error=EIO")
        outcomes = []
        for _ in range(5):
            try:
                outcomes.append(os.pwrite(fd, b"x", 0))
            except OSError as error:
                outcomes.append(error.errno)
        self.assertEqual(outcomes, [1, 1, errno.EIO, 1, 1])

    def test_a_rule_hits_only_paths_of_its_pattern(self):
        fd, other = self.open(), self.open(path=self.fs.mountpoint / "other")
        self.fs.fault("write *oth* error=EIO")
        self.assertEqual(os.pwrite(fd, b"x", 0), 1)
        self.assert_fails(errno.EIO, os.pwrite, other, b"x", 0)

    def test_a_rule_for_a_process_lets_others_pass_and_catches_all_threads_of_its_own(self):
        fd = self.open()
        child = subprocess.Popen(["sleep", "600"])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        other = self.fs.fault(f"write * pid={child.pid} error=EIO")
        self.assertEqual(os.pwrite(fd, b"x", 0), 1)
        self.fs.fault(f"write * pid={os.getpid()} error=EROFS")
        self.assert_fails(errno.EROFS, os.pwrite, fd, b"x", 0)
        thread, outcome = self.started(lambda: os.pwrite(fd, b"x", 0))
        thread.join(harness.LONG_S)
        self.assertEqual((outcome, other.hits), ([errno.EROFS], 0))

    def test_a_rule_that_makes_no_sense_is_refused(self):
        for rule in ("write *", "scribble * error=EIO", "write * error=EWHAT", "write * after=x drop", "write * what"):
            with self.subTest(rule), self.assertRaises(ValueError):
                self.fs.fault(rule)


class Waits(FaultFsTest):

    def test_a_delay_makes_the_operation_last_that_long(self):
        fd = self.open()
        self.fs.fault("write * delay_ms=300")
        before = time.monotonic()
        os.pwrite(fd, b"x", 0)
        self.assertGreaterEqual(time.monotonic() - before, 0.3)
        self.assertEqual(self.below.read_bytes(), b"x")

    def test_one_server_takes_what_comes_in_turn(self):
        fd = self.open()
        self.fs.fault("write * serve_us=100000")
        before = time.monotonic()
        threads = [self.started(lambda: os.pwrite(fd, b"x", 0))[0] for _ in range(3)]
        for thread in threads:
            thread.join(harness.LONG_S)
        # Three at once, each behind the one before; a delay would have held them all for the same time.
        self.assertGreaterEqual(time.monotonic() - before, 0.3)
        # A server that was idle is not late: it begins with what comes.
        time.sleep(0.15)
        before = time.monotonic()
        os.pwrite(fd, b"y", 0)
        self.assertGreaterEqual(time.monotonic() - before, 0.1)
        self.assertEqual(self.below.read_bytes(), b"y")

    def test_a_hang_lasts_until_it_is_released_and_then_does_its_work(self):
        fd = self.open()
        rule = self.fs.fault("write * hang")
        thread, outcome = self.started(lambda: os.pwrite(fd, b"x", 0))
        rule.await_waiting()
        self.assertEqual((self.below.read_bytes(), outcome), (b"", []))
        rule.release()
        thread.join(harness.LONG_S)
        self.assertEqual((self.below.read_bytes(), outcome), (b"x", [1]))

    def test_a_hang_can_end_by_itself_and_with_an_error(self):
        fd = self.open()
        self.fs.fault("write * hang_ms=200 error=EIO")
        before = time.monotonic()
        self.assert_fails(errno.EIO, os.pwrite, fd, b"x", 0)
        self.assertGreaterEqual(time.monotonic() - before, 0.2)

    def test_others_go_on_while_one_hangs(self):
        fd, other = self.open(), self.open(path=self.fs.mountpoint / "other")
        rule = self.fs.fault("write /file hang")
        self.started(lambda: os.pwrite(fd, b"x", 0))
        rule.await_waiting()
        for _ in range(100):
            os.pwrite(other, b"y", 0)
        self.assertEqual(rule.waiting, 1)
        rule.release()

    def child_that_writes(self):
        return self.start(harness.Process, [sys.executable, "-c", "import os, sys\n"
                          "os.pwrite(os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), b'x', 0)", str(self.path)])

    def test_a_process_that_hangs_cannot_be_killed(self):
        rule = self.fs.fault("write * hang")
        child = self.child_that_writes()
        rule.await_waiting()
        child.signal(signal.SIGKILL)
        with self.assertRaises(AssertionError):
            child.finish(0.5)
        rule.release()
        self.assertEqual(child.finish(), -signal.SIGKILL)

    def test_a_process_can_be_killed_where_the_hang_says_so(self):
        rule = self.fs.fault("write * hang interruptible")
        child = self.child_that_writes()
        rule.await_waiting()
        child.signal(signal.SIGKILL)
        self.assertEqual(child.finish(), -signal.SIGKILL)
        self.assertEqual(self.below.read_bytes(), b"")

    def test_its_end_lets_everything_go(self):
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT)
        rule = self.fs.fault("write * hang")
        thread, outcome = self.started(lambda: os.pwrite(fd, b"x", 0))
        rule.await_waiting()
        self.fs.end()
        thread.join(harness.LONG_S)
        self.assertEqual(len(outcome), 1)
        with contextlib.suppress(OSError):
            os.close(fd)
        self.assertEqual(subprocess.run(["mountpoint", "-q", self.fs.mountpoint], check=False).returncode, 32)


class LostAndTorn(FaultFsTest):

    def test_a_dropped_write_is_acknowledged_and_lost(self):
        fd = self.open(os.O_RDWR | os.O_CREAT | os.O_DSYNC)
        os.pwrite(fd, b"aaaa", 0)
        rule = self.fs.fault("write * count=1 drop")
        self.assertEqual(os.pwrite(fd, b"bbbb", 0), 4)
        self.assertEqual((rule.hits, self.below.read_bytes()), (1, b"aaaa"))
        os.pwrite(fd, b"cccc", 4)
        self.assertEqual(self.below.read_bytes(), b"aaaacccc")

    def test_a_torn_write_is_acknowledged_whole_and_done_in_part(self):
        fd = self.open(os.O_RDWR | os.O_CREAT | os.O_DIRECT | os.O_DSYNC)
        os.pwrite(fd, aligned(b"a"), 0)
        self.fs.fault("write * torn=1000")
        self.assertEqual(os.pwrite(fd, aligned(b"b"), 0), BLOCK)
        self.assertEqual(self.below.read_bytes(), b"b" * 1000 + b"a" * (BLOCK - 1000))

    def test_a_torn_write_can_fail_as_well(self):
        fd = self.open()
        os.pwrite(fd, b"aaaa", 0)
        self.fs.fault("write * torn=2 error=EIO")
        self.assert_fails(errno.EIO, os.pwrite, fd, b"bbbb", 0)
        self.assertEqual(self.below.read_bytes(), b"bbaa")


    def test_volatile_writes_can_be_read_and_are_lost_when_their_file_is_closed(self):
        kept = self.open(os.O_RDWR | os.O_CREAT | os.O_DSYNC)
        os.pwrite(kept, b"a" * 8, 0)
        rule = self.fs.fault("write *file volatile=3")
        writer = os.open(self.path, os.O_RDWR)
        for place, byte in enumerate((b"b", b"c", b"d", b"e")):
            os.pwrite(writer, byte, place)
        os.pwrite(writer, b"f", 2)
        self.assertEqual(self.below.read_bytes(), b"bcfeaaaa")
        os.close(writer)
        self.assertEqual(self.below.read_bytes(), b"bcaaaaaa")
        self.assertEqual(rule.lost, [("/file", 2), ("/file", 3), ("/file", 2)])
        os.pwrite(kept, b"g", 0)
        self.assertEqual(self.below.read_bytes(), b"gcaaaaaa", "the rule has ended")

    def test_a_file_that_volatile_writes_made_longer_gets_its_length_back(self):
        kept = self.open()
        os.pwrite(kept, b"aa", 0)
        self.fs.fault("write *file volatile=2")
        writer = os.open(self.path, os.O_RDWR)
        os.pwrite(writer, b"bbbb", 1)
        os.pwrite(writer, b"cccc", 5)
        self.assertEqual(self.below.read_bytes(), b"abbbbcccc")
        os.close(writer)
        self.assertEqual(self.below.read_bytes(), b"aa")

    def test_volatile_writes_of_a_killed_process_are_lost_before_its_locks_are_free(self):
        fd = self.open()
        os.pwrite(fd, b"a", 0)
        rule = self.fs.fault("write *file volatile=1")
        child = self.start(harness.Process, [sys.executable, "-c", "import fcntl, os, sys, time\n"
                           "fd = os.open(sys.argv[1], os.O_RDWR)\nfcntl.lockf(fd, fcntl.LOCK_EX)\n"
                           "os.pwrite(fd, b'b', 0)\nprint('locked', flush=True)\ntime.sleep(600)", str(self.path)])
        harness.wait_until(lambda: "locked" in child.out, "the child to hold the lock")
        thread, outcome = self.started(lambda: fcntl.lockf(fd, fcntl.LOCK_EX) or os.pread(fd, 1, 0))
        self.assertEqual((self.below.read_bytes(), outcome), (b"b", []))
        child.signal(signal.SIGKILL)
        thread.join(harness.LONG_S)
        self.assertEqual((outcome, rule.lost), ([b"a"], [("/file", 0)]))


class Locks(FaultFsTest):
    """With open-file-description locks, flock and the locks of processes."""

    def setUp(self):
        super().setUp()
        self.one, self.two = self.open(), self.open()

    def ofd(self, fd, kind=fcntl.F_WRLCK, wait=False):
        # struct flock: type, whence, start, length, pid.
        asked = struct.pack("hhqqi4x", kind, 0, 0, 0, 0)
        return fcntl.fcntl(fd, 38 if wait else 37, asked)  # F_OFD_SETLKW, F_OFD_SETLK

    def test_a_lock_is_granted_once_and_goes_with_its_file(self):
        kinds = (("ofd", self.ofd), ("flock", lambda fd: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)))
        for name, take in kinds:
            with self.subTest(name):
                holder = os.open(self.path, os.O_RDWR)
                take(holder)
                self.assert_fails(errno.EAGAIN, take, self.two)
                os.close(holder)
                harness.wait_until(lambda: self.takes(take, self.two), "the lock of a file that was closed")

    def test_a_lock_stays_with_its_file_under_another_name(self):
        self.ofd(self.one)
        renamed = self.path.with_name("renamed")
        os.rename(self.path, renamed)
        other = os.open(renamed, os.O_RDWR)
        self.addCleanup(os.close, other)
        self.assert_fails(errno.EAGAIN, self.ofd, other)

    def takes(self, take, fd):
        try:
            take(fd)
            return True
        except BlockingIOError:
            return False

    def test_locks_of_processes_shut_out_other_processes_on_their_bytes_only(self):
        fcntl.lockf(self.one, fcntl.LOCK_EX, 10, 0)
        script = ("import fcntl, os, sys\nfd = os.open(sys.argv[1], os.O_RDWR)\n"
                  "fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 10)\n"
                  "try:\n    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 5)\n"
                  "except BlockingIOError:\n    sys.exit(7)")
        child = subprocess.run([sys.executable, "-c", script, str(self.path)], check=False, timeout=60)
        self.assertEqual(child.returncode, 7)

    def test_who_waits_gets_the_lock_when_it_is_free(self):
        self.ofd(self.one)
        thread, outcome = self.started(lambda: len(self.ofd(self.two, wait=True)))
        self.ofd(self.one, fcntl.F_UNLCK)
        thread.join(harness.LONG_S)
        self.assertEqual(len(outcome), 1)

    def test_a_lock_can_be_granted_twice(self):
        self.ofd(self.one)
        self.fs.fault("lock * grant")
        self.ofd(self.two)

    def test_locks_of_a_process_can_be_taken_from_it_while_it_goes_on(self):
        child = self.start(harness.Process, [sys.executable, "-c", "import fcntl, os, sys, time\n"
                           "fd = os.open(sys.argv[1], os.O_RDWR)\nfcntl.lockf(fd, fcntl.LOCK_EX)\n"
                           "print('locked', flush=True)\ntime.sleep(600)", str(self.path)])
        harness.wait_until(lambda: "locked" in child.out, "the child to hold the lock")
        with self.assertRaises(BlockingIOError):
            fcntl.lockf(self.one, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.assertEqual(self.fs.expire(os.getpid()), 0)
        self.assertEqual(self.fs.expire(child.pid), 1)
        fcntl.lockf(self.one, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.assertTrue(child.running())

    def test_a_lock_can_come_late(self):
        self.fs.fault("lock * delay_ms=200")
        before = time.monotonic()
        self.ofd(self.one)
        self.assertGreaterEqual(time.monotonic() - before, 0.2)

    def test_a_lock_can_be_refused_though_it_is_free_or_never_answered(self):
        refusal = self.fs.fault("lock * error=EAGAIN")
        self.assert_fails(errno.EAGAIN, self.ofd, self.one)
        refusal.release()
        hang = self.fs.fault("lock * hang")
        thread, outcome = self.started(lambda: len(self.ofd(self.one, wait=True)))
        hang.await_waiting()
        self.assertEqual(outcome, [])
        hang.release()
        thread.join(harness.LONG_S)


if __name__ == "__main__":
    harness.main()
