"""Files and devices that a plan may not open, with every combination of an agent's permissions and --overwrite, stay as they are."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import threading
import unittest

import harness
import path_files
from path_files import SIZE, contents, state

NOT_ITS_OWN = r"exists, and --create of this agent did not make it|is not a file that --create left by this agent"
UNALLOWED = r"alpha.*start the agent with --allow-target"
READ = ("--read-percent", "100")
WRITE = ()


def never(_target, _overwrite, _use):
    return False


def as_a_plain_file(target, overwrite, use):
    """An ordinary file is read where the agent allows it, and written where the plan has --overwrite as well."""
    return target and (use == READ or overwrite)


def only_read(target, _overwrite, use):
    return target and use == READ


class AttacksTest(path_files.PathsTest):
    """Runs with each combination of permissions."""

    def start_agents(self, *targets):
        """An agent for each combination of --allow-kept and --allow-target, the latter for all of `targets`."""
        allowed = [word for target in targets for word in ("--allow-target", target)]
        self.agents = [(name, target, self.agent(name, more=[*kept, *(allowed if target else [])]))
                       for name, kept, target in (("none", [], False), ("kept", ["--allow-kept"], False), ("target", [], True),
                                                  ("both", ["--allow-kept"], True))]

    def assert_one_line(self, result, name, pattern):
        # Beside warnings, where the file was opened to find that out.
        (line,) = [line for line in result.errors if line.startswith(f"plimsoll: {name}: ")]
        self.assertRegex(line, pattern)
        self.assertFalse(result.results.exists())

    def attempt(self, path, may, pattern, *precious, bsize="4k"):
        """Reads and writes `path` in every way. `may`: whether that is allowed; where it is not, the message matches the pattern, or
        names the option that is missing. What is `precious`, and the file itself, changes only where writing is allowed."""
        files = [pathlib.Path(one) for one in (path, *precious)]
        for name, target, agent in self.agents:
            for overwrite in (False, True):
                for use in (READ, WRITE):
                    with self.subTest(path=str(path), agent=name, overwrite=overwrite, use=use):
                        before = [state(one) for one in files]
                        result = self.run_paths(path, "--bsize", bsize, *use, *(["--overwrite"] if overwrite else []), hosts=[agent],
                                                code=(0, 2, 4))
                        allowed = may(target, overwrite, use)
                        self.assertEqual(result.code == 0, allowed, result)
                        if allowed and use == WRITE:
                            self.assertNotEqual([state(one) for one in files], before, "written, as allowed")
                            continue
                        self.assertEqual([state(one) for one in files], before)
                        if allowed:
                            continue
                        unasked = use == WRITE and not overwrite
                        missing = r"start the agent with --allow-target" if not target else r"pass --overwrite" if unasked else r"(?!)"
                        self.assert_one_line(result, name, rf"{pattern}|{missing}")

    def attempt_creation(self, path, pattern, *precious, names=("none", "kept", "target", "both")):
        """Creates `path` in every way; it is refused."""
        files = [pathlib.Path(one) for one in precious]
        for name, _, agent in self.agents:
            for overwrite in (False, True):
                if name not in names:
                    continue
                with self.subTest(path=str(path), agent=name, overwrite=overwrite):
                    before = [state(one) for one in files]
                    existed = os.path.lexists(path)
                    result = self.run_paths(path, "--create", "--file-size", "64k", *(["--overwrite"] if overwrite else []), hosts=[agent],
                                            code=(2, 4))
                    self.assertEqual([state(one) for one in files], before)
                    self.assertEqual(os.path.lexists(path), existed)
                    missing = r"--allow-kept" if name in ("none", "target") else r"(?!)"
                    self.assert_one_line(result, name, rf"{pattern}|{missing}")


class Files(AttacksTest):

    def setUp(self):
        super().setUp()
        self.outside = self.base / "outside"
        self.outside.mkdir()
        self.stranger = self.outside / "stranger"
        self.stranger.write_bytes(os.urandom(SIZE))

    def test_an_existing_file(self):
        self.start_agents(self.dir)
        path = self.make("data")
        self.attempt(path, as_a_plain_file, r"(?!)")
        self.attempt_creation(path, NOT_ITS_OWN, path)

    def test_a_link_to_a_file(self):
        self.start_agents(self.dir, self.outside)
        plain = self.make("data")
        for target in (plain, self.stranger, self.dir / "missing"):
            link = self.dir / "link"
            link.symlink_to(target)
            precious = [one for one in (plain, self.stranger) if one.exists()]
            self.attempt(link, never, r"symbolic link", *precious)
            self.attempt_creation(link, r"exists, and --create of this agent did not make it; remove it, or name another file", *precious)
            link.unlink()
        self.assertFalse((self.dir / "missing").exists())

    def test_a_link_in_place_of_a_directory_of_the_path(self):
        self.start_agents(self.dir)
        inside = self.make("real/data")
        way = self.dir / "way"
        for target, name in ((self.outside, "stranger"), (self.dir / "real", "data")):
            way.symlink_to(target)
            self.attempt(way / name, never, r"symbolic link", inside, self.stranger)
            self.attempt_creation(way / "new", r"symbolic link", inside, self.stranger)
            way.unlink()
        self.assertEqual(os.listdir(self.outside), ["stranger"])

    def test_a_file_with_another_name_is_read_and_not_written(self):
        self.start_agents(self.dir)
        path = self.dir / "data"
        os.link(self.stranger, path)
        self.attempt(path, only_read, r"2 names \(hard links\)", self.stranger)
        self.attempt_creation(path, rf"hard link|{NOT_ITS_OWN}", self.stranger)

    def test_what_is_no_file(self):
        self.start_agents(self.dir, "/dev/null")
        fifo, directory, listener = self.dir / "fifo", self.dir / "directory", self.dir / "socket"
        os.mkfifo(fifo)
        directory.mkdir()
        bound = socket.socket(socket.AF_UNIX)
        self.addCleanup(bound.close)
        bound.bind(str(listener))
        for path, words in ((fifo, r"FIFO"), (directory, r"directory"), (listener, r"socket"), (pathlib.Path("/dev/null"), r"character device")):
            self.attempt(path, never, words)
            self.attempt_creation(path, rf"{words}|exists|outside the directories", path)
        self.assertEqual(list(directory.iterdir()), [])

    def test_files_of_a_queue_manager(self):
        self.start_agents(self.dir)
        control = self.make("QM1/amqhlctl.lfh")
        extent = self.make("QM1/active/S0000000.LOG")
        beside = self.make("QM1/active/data")
        queue = self.make("QM2/queues/Q1/q")
        self.make("QM2/qm.ini")
        for path in (control, extent, beside, queue):
            self.attempt(path, never, r"queue manager", control, extent, beside, queue)
        self.attempt_creation(self.dir / "QM1/active/S0000001.LOG", r"queue manager", control, extent, beside)
        self.attempt_creation(self.dir / "QM1/new", r"queue manager", control, extent, beside)
        # Its control file may be elsewhere, or hidden from the agent.
        alone = self.make("alone/S0000003.LOG")
        self.attempt(alone, only_read, r"name of a queue manager's log file")
        self.assertFalse((self.dir / "QM1/new").exists())

    def test_a_file_that_another_process_has_open_for_writing(self):
        if not path_files.grants_leases(self.dir):
            self.skipTest("the file system of this test has no leases")
        self.start_agents(self.dir)
        path = self.make("data")
        with open(path, "r+b"):
            self.attempt(path, only_read, rf"is in use: process {os.getpid()} \(python3?.*\) has it open for writing")
        self.attempt(path, as_a_plain_file, r"(?!)")

    def test_names_that_only_begin_as_an_allowed_one_and_paths_with_detours(self):
        allowed = self.dir / "allowed"
        allowed.mkdir()
        self.start_agents(allowed)
        beside = self.make("allowed-not/data")
        longer = self.make("allowed.bak")
        for path in (beside, longer):
            self.attempt(path, never, r"--allow-target")
        before = [state(path) for path in (beside, longer)]
        for path in (f"{allowed}/../allowed.bak", f"{allowed}/./x", f"{allowed}//x", f"{allowed}/"):
            result = self.run_paths(path, "--overwrite", hosts=[self.agents[3][2]], code=2)
            self.assertEqual(len(result.errors), 1, result)
            self.assertFalse(result.results.exists())
        self.assertEqual([state(path) for path in (beside, longer)], before)
        self.assertEqual(list(allowed.iterdir()), [])

    @contextlib.contextmanager
    def swapping(self, name, other):
        """Swaps the files of the two names again and again meanwhile; fails if a swap fails."""
        ended = threading.Event()
        aside = self.base / "aside"
        swaps, errors = [0], []

        def swap():
            try:
                while not ended.is_set():
                    for _ in range(2):  # There and back.
                        os.rename(name, aside)
                        os.rename(other, name)
                        os.rename(aside, other)
                        swaps[0] += 1
            except BaseException as error:  # pylint: disable=broad-exception-caught
                errors.append(error)

        thread = threading.Thread(target=swap)
        thread.start()
        try:
            # Whatever begins now meets names that change.
            harness.wait_until(lambda: swaps[0] > 1 or errors, "a swap of the names")
            first = swaps[0]
            yield
            harness.wait_until(lambda: swaps[0] > first or errors, "swaps until the end")
        finally:
            ended.set()
            thread.join(harness.LONG_S)
        self.assertFalse(thread.is_alive(), "the names still change")
        self.assertEqual(errors, [])

    def test_a_name_that_changes_between_the_checks_and_the_run(self):
        agent = self.agent("alpha", more=["--allow-target", self.dir])
        kept = self.agent("beta", more=["--allow-kept"])
        self.create(kept, self.dir / "kept")
        precious = {"stranger": self.stranger, "twin": self.outside / "twin", "inside": self.outside / "real" / "data"}
        precious["twin"].write_bytes(os.urandom(SIZE))
        os.link(precious["twin"], self.dir / "twin")
        precious["inside"].parent.mkdir()
        precious["inside"].write_bytes(os.urandom(SIZE))
        (self.dir / "link").symlink_to(self.stranger)
        (self.dir / "link-for-kept").symlink_to(self.stranger)
        (self.dir / "way").symlink_to(precious["inside"].parent)
        self.make("plain")
        self.make("plain-too")
        self.make("real/data")
        before = {name: contents(path) for name, path in precious.items()}
        for name, other, path, writer, use in (
            ("plain", "link", "plain", agent, ("--overwrite",)), ("plain-too", "twin", "plain-too", agent, ("--overwrite",)),
            ("real", "way", "real/data", agent, ("--overwrite",)), ("kept", "link-for-kept", "kept", kept, ()),
            ("kept", "link-for-kept", "kept", kept, ("--create", "--file-size", "64k")),
        ):
            with self.subTest(name=name, other=other, use=use), self.swapping(self.dir / name, self.dir / other):
                for _ in range(4):
                    # What has the name when the run ends is not what it had before: run_paths would look at that.
                    process = self.start_paths(self.dir / path, *use, hosts=[writer])
                    result = self.finished(process, process.results, (0, 2, 3, 4), 120)
                    if result.code in (2, 4):
                        self.assertIn(str(self.dir), result.err)
            self.assertEqual({name: contents(path) for name, path in precious.items()}, before)

    def test_plimsolls_own_files_and_those_of_the_kernel(self):
        self.start_agents(self.dir, "/proc", "/sys")
        creator = dict((name, agent) for name, _, agent in self.agents)["kept"]
        self.create(creator, self.dir / "kept")
        self.attempt(self.dir / ".plimsoll-kept", never, r"a name of Plimsoll's own", self.dir / "kept")
        self.attempt_creation(self.dir / ".plimsoll-kept", r"a name of Plimsoll's own", self.dir / ".plimsoll-kept", self.dir / "kept")
        of_a_run = self.make("plimsoll-0a1b2c/beta/files/data")
        self.attempt(of_a_run, only_read, r"is in a run's directory \(plimsoll-0a1b2c\)")
        for path in ("/proc/sys/vm/swappiness", "/sys/kernel/mm/ksm/run"):
            if os.path.exists(path):
                was = pathlib.Path(path).read_text()
                for _, target, agent in self.agents:
                    result = self.run_paths(path, "--overwrite", hosts=[agent], code=2)
                    self.assertEqual(len(result.errors), 1, result)
                    self.assertRegex(result.err, r"one of the kernel's" if target else r"start the agent with --allow-target")
                self.assertEqual(pathlib.Path(path).read_text(), was)

    def test_a_file_that_a_loop_device_is_made_of(self):
        device = path_files.loop_device(self)
        image = pathlib.Path(pathlib.Path(f"/sys/block/{device.removeprefix('/dev/')}/loop/backing_file").read_text().strip())
        self.start_agents(self.base)
        self.attempt(image, only_read, rf"is in use: {device} is made of it", device, bsize="64k")


class Kept(AttacksTest):
    """Files that --create left, and what is put in their place."""

    def setUp(self):
        super().setUp()
        self.creator = self.agent("alpha", more=["--allow-kept"])
        self.path = self.dir / "kept"
        self.marker = self.dir / ".plimsoll-kept"
        self.create(self.creator, self.path)

    def assert_not_its_own(self, *precious, pattern=UNALLOWED):
        """The agent does not take the file for its own: it is neither read nor written, nor created again."""
        before = [state(one) for one in (self.path, *precious)]
        for use in ((*READ,), (), ("--overwrite",), ("--create", "--file-size", "64k"), ("--create", "--file-size", "64k", "--overwrite")):
            with self.subTest(use):
                result = self.run_paths(self.path, *use, hosts=[self.creator], code=(2, 4))
                self.assertEqual(len(result.errors), 1, result)
                created = NOT_ITS_OWN if pattern == UNALLOWED else f"{NOT_ITS_OWN}|{pattern}"
                self.assertRegex(result.err, created if "--create" in use else pattern)
        self.assertEqual([state(one) for one in (self.path, *precious)], before)

    def test_another_file_of_that_name(self):
        other = self.make("other")
        was = contents(other)
        os.replace(other, self.path)
        self.assert_not_its_own()
        self.assertEqual(contents(self.path), was)

    def test_a_kept_file_with_another_name(self):
        moved = self.dir / "moved"
        self.path.rename(moved)
        self.refused(moved, r"alpha.*--allow-target", *READ, hosts=[self.creator])

    def test_a_copy_of_the_marker_in_another_directory(self):
        (self.dir / "sub").mkdir()
        shutil.copy(self.marker, self.dir / "sub")
        path = self.make("sub/kept")
        for use in (READ, ()):
            self.refused(path, r"alpha.*--allow-target", *use, hosts=[self.creator])

    def test_a_marker_that_names_another_agent_or_another_inode(self):
        text = self.marker.read_text()
        head, _, entry = text.partition("\n")
        agent, device, inode, birth, name = entry.split(" ", 4)
        for forged in (f"{agent[::-1]} {device} {inode} {birth} {name}", f"{agent} {device} {int(inode) + 1} {birth} {name}",
                       f"{agent} {int(device) + 1} {inode} {birth} {name}"):
            self.marker.write_text(f"{head}\n{forged}")
            self.assert_not_its_own(self.marker)
        self.marker.write_text(text)
        self.run_paths(self.path, *READ, hosts=[self.creator])

    def test_a_link_or_a_file_of_others_in_place_of_the_marker(self):
        elsewhere = self.base / "marker"
        shutil.copy(self.marker, elsewhere)
        self.marker.unlink()
        self.marker.symlink_to(elsewhere)
        self.assert_not_its_own(elsewhere, pattern=r"alpha.*\.plimsoll-kept")
        self.marker.unlink()
        os.mkfifo(self.marker)
        self.assert_not_its_own(self.marker, pattern=r"alpha.*\.plimsoll-kept")
        self.marker.unlink()
        shutil.copy(elsewhere, self.marker)
        for mode in (0o666, 0o660):
            self.marker.chmod(mode)
            self.assert_not_its_own(self.marker, pattern=r"alpha.*\.plimsoll-kept")
        self.marker.chmod(0o600)
        if os.geteuid() == 0:
            os.chown(self.marker, 4711, 4711)
            self.assert_not_its_own(self.marker, pattern=r"alpha.*\.plimsoll-kept")
            os.chown(self.marker, 0, 0)
        self.run_paths(self.path, hosts=[self.creator])

    def test_a_damaged_marker_claims_nothing(self):
        text = self.marker.read_text()
        for damaged in (text[:-1], text[:-3], "plimsoll-kept 2\n" + text.partition("\n")[2], "\0" * 100, "x" * 1000):
            self.marker.write_text(damaged)
            self.assert_not_its_own(self.marker, pattern=r"alpha.*\.plimsoll-kept")

    def test_a_second_name_of_a_kept_file(self):
        os.link(self.path, self.base / "twin")
        before = state(self.path)
        for use in ((), ("--overwrite",), ("--create", "--file-size", "64k")):
            result = self.run_paths(self.path, *use, hosts=[self.creator], code=(2, 4))
            self.assertRegex(result.err, r"2 names \(hard links\)")
        self.assertEqual(state(self.path), before)

    def test_a_directory_of_the_path_that_became_a_link(self):
        (self.dir / "sub").mkdir()
        path = self.dir / "sub" / "kept"
        self.create(self.creator, path)
        (self.dir / "sub").rename(self.base / "sub")
        (self.dir / "sub").symlink_to(self.base / "sub")
        before = state(self.base / "sub" / "kept")
        for use in (READ, (), ("--create", "--file-size", "64k")):
            result = self.run_paths(path, *use, hosts=[self.creator], code=(2, 4))
            self.assertRegex(result.err, r"symbolic link")
        self.assertEqual(state(self.base / "sub" / "kept"), before)

    def test_a_file_replaced_during_the_run_is_not_touched(self):
        process = self.start_paths(self.path, "--delay", "1ms", "--duration", "60", "--warmup", "0", hosts=[self.creator])
        self.await_running(process)
        other = self.make("other")
        os.replace(other, self.path)
        before = state(self.path)
        shown = process.err.count(" IO/s")
        # The first of these may be about the time before.
        harness.wait_until(lambda: process.err.count(" IO/s") > shown + 1, "figures of the time after the file was replaced")
        process.signal(signal.SIGINT)
        self.result_of(process, process.results, code=3)
        self.assertEqual(state(self.path), before)


class Devices(AttacksTest):
    """Loop devices that are not empty, or in use."""

    def setUp(self):
        super().setUp()
        self.device = path_files.loop_device(self)

    def need(self, *programs):
        for program in programs:
            if shutil.which(program) is None:
                raise unittest.SkipTest(f"{program} is not installed")

    def run_program(self, *argv):
        subprocess.run(argv, check=True, timeout=harness.LONG_S, capture_output=True)

    def check_device(self, pattern, path=None):
        self.start_agents(path or self.device)
        self.attempt(path or self.device, only_read, pattern, self.device, bsize="64k")

    def test_one_with_a_file_system(self):
        self.need("mkfs.ext4")
        self.run_program("mkfs.ext4", "-q", "-F", self.device)
        self.check_device(r"holds a file system \(ext4\), which --overwrite does not destroy")

    def test_one_that_is_mounted(self):
        self.need("mkfs.ext4", "mount", "umount")
        self.run_program("mkfs.ext4", "-q", "-F", self.device)
        place = self.base / "mounted"
        place.mkdir()
        # With these options, mounting writes nothing.
        done = subprocess.run(["mount", "-o", "ro,noload", self.device, place], capture_output=True, text=True, timeout=harness.LONG_S, check=False)
        if done.returncode != 0:
            raise unittest.SkipTest(f"this machine mounts no loop device: {done.stderr.strip()}")
        try:
            self.check_device(rf"in use: it is mounted on {place}")
        finally:
            self.run_program("umount", place)

    def test_one_that_another_device_is_made_of(self):
        self.need("dmsetup")
        name = f"plimsoll-test-{os.getpid()}"
        sectors = pathlib.Path(f"/sys/block/{self.device.removeprefix('/dev/')}/size").read_text().strip()
        done = subprocess.run(["dmsetup", "create", name, "--table", f"0 {sectors} linear {self.device} 0"], capture_output=True, text=True,
                              timeout=harness.LONG_S, check=False)
        if done.returncode != 0:
            raise unittest.SkipTest(f"this machine has no device mapper: {done.stderr.strip()}")
        try:
            self.check_device(r"in use: (it is a part of dm-\d+|it is mounted, or another device or process holds it)")
            # The device above it may be written to, by its name below /dev/mapper.
            above = f"/dev/mapper/{name}"
            agent = self.agent("mapper", more=["--allow-target", above])
            before = state(self.device)
            self.run_paths(above, "--bsize", "64k", "--overwrite", hosts=[agent])
            self.assertNotEqual(state(self.device), before)
        finally:
            self.run_program("dmsetup", "remove", "--retry", name)

    def test_one_that_another_process_holds(self):
        held = os.open(self.device, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
        with contextlib.closing(os.fdopen(held, "rb", buffering=0)):
            self.check_device(r"in use: (it is mounted, or another device or process holds it|process "
                              rf"{os.getpid()} \(python3?.*\) has it open for writing)")

    def test_one_with_a_partition_table(self):
        table = bytearray(512)
        table[446:462] = struct.pack("<B3sB3sII", 0, b"\0\2\0", 0x83, b"\0\3\0", 64, 1024)
        table[510:512] = b"\x55\xaa"
        with open(self.device, "r+b") as device:
            device.write(table)
        self.check_device(r"holds a partition table \(dos\)|holds partitions")

    def test_one_that_is_swap_space(self):
        self.need("mkswap")
        self.run_program("mkswap", self.device)
        self.check_device(r"holds data of swap")

    def test_one_of_a_volume_group(self):
        # The label of a physical volume of LVM, in the second sector.
        label = bytearray(512)
        label[0:8] = b"LABELONE"
        label[8:16] = struct.pack("<Q", 1)
        label[20:24] = struct.pack("<I", 32)
        label[24:32] = b"LVM2 001"
        label[32:64] = b"abcdefghijklmnopqrstuvwxyz012345"
        label[64:72] = struct.pack("<Q", 2 << 20)
        label[16:20] = struct.pack("<I", lvm_checksum(bytes(label[20:])))
        with open(self.device, "r+b") as device:
            device.seek(512)
            device.write(label)
        known = subprocess.run(["blkid", "-p", self.device], capture_output=True, text=True, timeout=harness.LONG_S, check=False).stdout
        if "LVM2_member" not in known:
            raise unittest.SkipTest(f"blkid does not take this for a physical volume: {known.strip()}")
        self.check_device(r"holds data of LVM2_member")

    def test_one_that_is_empty_is_written_where_both_sides_say_so(self):
        self.start_agents(self.device)
        self.attempt(self.device, as_a_plain_file, r"(?!)", bsize="64k")

    def test_a_link_to_one_outside_of_dev(self):
        link = self.dir / "link"
        link.symlink_to(self.device)
        self.start_agents(self.dir, self.device)
        self.attempt(link, never, r"symbolic link", self.device, bsize="64k")

    def test_a_node_of_it_elsewhere_is_the_same_device(self):
        self.need("mkfs.ext4")
        self.run_program("mkfs.ext4", "-q", "-F", self.device)
        node = self.dir / "node"
        try:
            os.mknod(node, 0o600 | 0o060000, os.stat(self.device).st_rdev)
            os.close(os.open(node, os.O_RDONLY))
        except OSError as error:
            raise unittest.SkipTest(f"this directory takes no device: {error}") from error
        self.check_device(r"holds a file system \(ext4\)", path=node)


def lvm_checksum(data):
    """LVM's CRC-32, which begins with 0xf597a6cf and does not complement its end."""
    crc = 0xf597a6cf
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xedb88320 if crc & 1 else 0)
    return crc


if __name__ == "__main__":
    harness.main()
