"""The examples of xdisk's guide, smaller: on this machine, and with -n over a real sshd on four hosts."""

import dataclasses
import os
import re

import harness
import path_files
import ssh_hosts
import xdisk_lines
from xdisk_lines import COLUMNS, HEADER, lines_of


@dataclasses.dataclass(frozen=True)
class Example:
    name: str
    # The guide's own, but for -t, -w and -f; with O_DIRECT, as the guide advises.
    arguments: str
    processes: int
    read_percent: int
    lines: int = 1

    @property
    def words(self):
        return self.arguments.split()


EXAMPLES = (
    Example("oltp", "-R -r 80 -b 16k -M 4 -OD -t5", 4, 80),
    Example("oltp-32k", "-R -r 80 -b 32k -M 8 -OD", 8, 80),
    Example("video-broadcasting", "-S1 -r 100 -b 1M -M 2 -OD", 2, 100),
    Example("video-creation", "-S1 -r 0 -b 1M -M 1 -OD", 1, 0),
    Example("hana-startup", "-R1 -r 100 -b 256k -M 4 -OD", 4, 100),
    Example("hana-data", "-R -r 0 -b 256k -M 4 -t5 -OD", 4, 0),
    Example("hana-log", "-S -r 0 -b 16k -M 1 -t5 -OD", 1, 0),
    Example("backup", "-R -r 50 -b 64k -M 4 -t5 -OD", 4, 50),
    Example("four-hosts", "-R -r50 -M4 -b64k -OD -V -Q -t5", 4, 50),
    Example("evaluation", "-R -r80 -b 16k -M 4 -w2 -t 5 -V -OD -L log.txt", 4, 80),
    Example("evaluation-writes", "-R -r0 -b 256k -M 2 -w2 -t 5 -V -OD -L log.txt", 2, 0),
    Example("evaluation-reads", "-S -r100 -b 256k -M 2 -w2 -t 5 -V -OD -L log.txt", 2, 100),
    Example("intervals", "-R0 -r50 -t6 -i3 -b4k -OD", 1, 50, lines=2),
    Example("locale", "-R -r50 -b8k -t5 -l de_DE -V", 1, 50),
)
# Examples that run at the same time: more would only wait for a CPU.
AT_ONCE = 4


class ExamplesTest(xdisk_lines.XdiskTest):

    def need_direct(self, *directories):
        """Skips the test where a file system refuses O_DIRECT, with which the guide's examples run."""
        for directory in directories:
            if not path_files.takes_direct(directory):
                self.skipTest(f"the file system of {directory} refuses O_DIRECT")

    def finished_example(self, example, process, hosts=()):
        """Waits for the example and checks its lines and its report, which it returns."""
        result = self.ended(process, 0, 180)
        self.check(example, result, hosts)
        log = self.base / f"{example.name}.txt"
        self.assertEqual(log.exists(), "-L" in example.words)
        if log.exists():
            self.assertEqual(log.read_text(), result.out)
        return self.report_of(result)

    def check(self, example, result, hosts=()):
        """The lines for all hosts are the example's, and each is followed by one for each host, but with -V."""
        words = example.words
        own = len(hosts) if hosts and "-V" not in words else 0
        lines = lines_of(result.out)
        self.assertEqual(len(lines), example.lines * (1 + own), result)
        if "-Q" in words:
            self.assertEqual(len(result.out.splitlines()), len(lines))
        else:
            self.assertIn(HEADER, result.out)
        self.assertEqual("IO Disk test" in result.out, not {"-q", "-Q", "-V"} & set(words))
        for number, line in enumerate(lines):
            self.assertEqual(line["Proc"], str(example.processes), "processes of each host")
            self.assertEqual(line["read%"], str(example.read_percent))
            self.assertEqual(line["IO"], words[0][1])
            self.assertEqual(line["Flag"], "-D" if "-OD" in words else "-")
            if "de_DE" not in words:
                self.assert_figures(line, reads=example.read_percent > 0, writes=example.read_percent < 100)
            if own:
                place = number % (1 + own)
                self.assertEqual(line["more"], [] if place == 0 else [hosts[place - 1]])
        if own:
            for begin in range(0, len(lines), 1 + own):
                all_hosts, *each = [float(line["IO/s"]) for line in lines[begin:begin + 1 + own]]
                self.assertLessEqual(abs(all_hosts - sum(each)), 0.02 * all_hosts + 1, result)


class OneHost(ExamplesTest):

    def test_every_example_of_the_guide(self):
        self.need_direct(self.dir)
        for begin in range(0, len(EXAMPLES), AT_ONCE):
            running = []
            for example in EXAMPLES[begin:begin + AT_ONCE]:
                names = self.created(example.name, example.processes, "4m")
                words = [word.replace("log.txt", f"{self.base}/{example.name}.txt") for word in example.words]
                running.append((example, self.start_xdisk(*words, f"-f{names}")))
            for example, process in running:
                with self.subTest(example.name):
                    self.finished_example(example, process)

    def test_the_sample_of_creation(self):
        self.need_direct(self.dir)
        result = self.xdisk("-C10m", "-i5", "-b64k", "-OD", f"-f{self.dir}/F...")
        line = self.line(result)
        self.assertEqual([line[column] for column in COLUMNS[:6]], ["64K", "1", "0", "0", "SC", "-D"])
        self.assertRegex(result.out, r"(?m)^I/O type +: Create file$")
        self.assertRegex(result.out, r"(?m)^File size +: 10 MB, 0 GB$")
        self.assertEqual((self.dir / "F000").stat().st_size, 10 << 20)
        self.assert_figures(line, reads=False, writes=True)
        self.assertEqual(harness.cluster(self.report_of(result)["steps"][0])["latency"]["count"], 160)

    def test_files_of_several_mount_points_by_a_list_and_by_a_file(self):
        places = [self.dir / name for name in ("data0", "data1")]
        for place in places:
            place.mkdir()
        paths = [place / name for place in places for name in ("F1", "F2")]
        self.xdisk("-C1M", "-M4", "-b64k", "-f", ",".join(map(str, paths)))
        listed = self.base / "file_list.txt"
        listed.write_text("\n".join(map(str, paths)) + "\n")
        for option in (("-f", ":".join(map(str, paths))), ("-F", listed)):
            result = self.xdisk("-R1", "-r100", "-M4", "-b64k", "-Q", *option)
            self.assertEqual(harness.cluster(self.report_of(result)["steps"][0])["latency"]["count"], 4 * 16)

    def test_128_processes_have_128_files(self):
        names = self.created("F", 128)
        self.assertEqual(sorted(os.listdir(self.dir)), [".plimsoll-kept", *(f"F{number:03}" for number in range(128))])
        result = self.xdisk("-R1", "-r100", "-M", "128", "-b64k", "-Q", "-f", names)
        self.assertEqual(harness.cluster(self.report_of(result)["steps"][0])["latency"]["count"], 128 * 16)


class FourHosts(ssh_hosts.SshTest, ExamplesTest):
    """Each host has a disk of its own at /mnt."""

    size = 4

    def setUp(self):
        super().setUp()
        self.labels = [host.name for host in self.hosts]
        self.list = ",".join(self.labels)
        # The agent for the hosts, and a client that knows them. --launch ssh is the default with -n.
        self.reach = self.launch()[2:]

    def boot_with_disks(self):
        self.disks = [host.home / "disk" for host in self.hosts]
        for disk in self.disks:
            disk.mkdir()
        self.boot(shell="mount --bind /root/disk /mnt")

    def start_there(self, *arguments, hosts=None):
        return self.start_xdisk("-n", hosts or self.list, *arguments, *self.reach, wrap=self.network.on_controller())

    def there(self, *arguments, hosts=None, code=0):
        return self.ended(self.start_there(*arguments, hosts=hosts), code, 180)

    def files_on(self, disk):
        return sorted(path.name for path in disk.iterdir())

    def test_every_example_of_the_guide(self):
        self.boot_with_disks()
        self.need_direct(*self.disks)
        # The first one copies the agent to the hosts.
        self.there("-C4m", "-M8", "-b64k", "-Q", "-f/mnt/F...")
        for disk in self.disks:
            self.assertEqual(self.files_on(disk), [".plimsoll-kept", *(f"F{number:03}" for number in range(8))])
            self.assertEqual({(disk / f"F{number:03}").stat().st_size for number in range(8)}, {4 << 20})
        for begin in range(0, len(EXAMPLES), 2):
            running = []
            for example in EXAMPLES[begin:begin + 2]:
                words = [word.replace("log.txt", f"{self.base}/{example.name}.txt") for word in example.words]
                running.append((example, self.start_there(*words, "-f/mnt/F...")))
            for example, process in running:
                with self.subTest(example.name):
                    report = self.finished_example(example, process, self.labels)
                    self.assertEqual([host["label"] for host in report["hosts"]], self.labels)
                    self.assertEqual({host["workload"]["share"] for host in report["hosts"]}, {"all"})
        self.await_nothing_runs()
        for disk in self.disks:
            self.assertEqual(self.files_on(disk), [".plimsoll-kept", *(f"F{number:03}" for number in range(8))])

    def test_lists_of_hosts_have_three_separators_or_are_in_a_file(self):
        self.boot_with_disks()
        self.there("-C1m", "-b64k", "-Q", "-f/mnt/F...")
        listed = self.base / "list.txt"
        listed.write_text("\n".join(self.labels) + "\n")
        for separator in ("#", ":", None):
            hosts = ("-N", listed) if separator is None else ("-n" + separator.join(self.labels),)
            result = self.xdisk(*hosts, "-S1", "-r100", "-b64k", "-q", "-f/mnt/F...", *self.reach, wrap=self.network.on_controller())
            lines = lines_of(result.out)
            self.assertEqual([line["more"] for line in lines], [[], *([label] for label in self.labels)])
            for line in lines:
                self.assert_figures(line, reads=True, writes=False)
        # The starting host does nothing itself.
        self.assertFalse((self.dir / "F000").exists())

    def test_a_host_that_refuses_or_lacks_the_file_is_named_and_no_host_writes(self):
        self.boot_with_disks()
        self.there("-C1m", "-b64k", "-Q", "-f/mnt/F...", hosts="host1,host2,host4")
        (self.disks[2] / "F000").write_bytes(os.urandom(1 << 20))
        before = [(disk / "F000").read_bytes() for disk in self.disks]
        result = self.there("-S1", "-r0", "-b64k", "-f/mnt/F...", code=2)
        errors = [line for line in result.errors if line.startswith("plimsoll: ") and "host" in line]
        self.assertEqual(len(errors), 1, result)
        self.assertRegex(errors[0], r"host3.*/mnt/F000.*--allow-target")
        result = self.there("-S1", "-r0", "-b64k", "-f/mnt/F...", "--allow-target", code=2)
        self.assertRegex(result.err, r"host3.*/mnt/F000.*--overwrite")
        (self.disks[2] / "F000").unlink()
        result = self.there("-S1", "-r0", "-b64k", "-f/mnt/F...", "--allow-target", "--overwrite", code=2)
        self.assertRegex(result.err, r"host3: /mnt/F000 does not exist")
        for number, (disk, was) in enumerate(zip(self.disks, before), start=1):
            if number != 3:
                self.assertEqual((disk / "F000").read_bytes(), was)
        self.assertFalse((self.disks[2] / "F000").exists())
        self.await_nothing_runs()

    def test_hosts_that_cannot_be_reached_are_all_named(self):
        self.hosts[0].boot((self.user / "key.pub").read_text())
        result = self.there("-S1", "-r100", "-b64k", "-f/mnt/F...", code=4)
        self.assertEqual(sorted(re.findall(r"(?m)^plimsoll: (host\d): ", result.err)), ["host2", "host3", "host4"])

    def test_a_run_passes_permissions_to_the_agents_that_it_starts(self):
        # `plimsoll run` in place of xdisk.
        self.boot_with_disks()
        out = self.base / "created"
        arguments = ("run", "--hosts", self.names, *self.launch(), "--files", "/mnt/kept")
        create = ("--create", "--file-size", "64k", "--bsize", "4k", "--out", out)
        refused = self.plimsoll(*arguments, *create, code=2, wrap=self.network.on_controller())
        self.assertEqual(set(re.findall(r"(?m)^plimsoll: (host\d): .*--allow-kept", refused.err)), set(self.labels))
        self.plimsoll(*arguments, *create, "--agent-option=--allow-kept", wrap=self.network.on_controller())
        for disk in self.disks:
            self.assertEqual(self.files_on(disk), [".plimsoll-kept", "kept"])
        self.plimsoll(*arguments, "--read-percent", "100", "--one-pass", "--agent-option=--allow-target=/mnt/kept", "--out", self.base / "read",
                      wrap=self.network.on_controller())
        self.await_nothing_runs()

    def test_a_device_of_a_host(self):
        device = path_files.loop_device(self)
        self.boot_with_disks()
        refused = self.there("-S1", "-r100", "-b64k", "-f", device, hosts="host1", code=2)
        self.assertRegex(refused.err, rf"host1.*{device}.*--allow-target")
        result = self.there("-S1", "-r100", "-b64k", "-Q", "--allow-target", "-f", device, hosts="host1")
        self.assertEqual(harness.cluster(self.report_of(result)["steps"][0])["latency"]["count"], 32)
        self.there("-S1", "-r0", "-b64k", "-Q", "--allow-target", "--overwrite", "-f", device, hosts="host1")
        self.assertEqual(path_files.rewritten(bytes(2 << 20), path_files.contents(device), 64 << 10), list(range(32)))

    def test_on_a_shared_directory_one_host_creates_and_the_others_need_allow_target(self):
        # /mnt is the same directory on all hosts, as with a cluster file system.
        self.boot()
        self.there("-C1m", "-M2", "-b64k", "-Q", "-f/mnt/F...", hosts="host1")
        paths = [self.dir / f"F00{number}" for number in range(2)]
        before = [path.read_bytes() for path in paths]
        refused = self.there("-S1", "-r100", "-M2", "-b64k", "-f/mnt/F...", code=2)
        self.assertEqual(set(re.findall(r"(?m)^plimsoll: (host\d)", refused.err)), {"host2", "host3", "host4"})
        self.assertIn("--allow-target", refused.err)
        result = self.there("-S1", "-r100", "-M2", "-b64k", "-Q", "--allow-target", "-f/mnt/F...")
        counts = [scope["latency"]["count"] for scope in harness.scopes(self.report_of(result)["steps"][0], "host")]
        self.assertEqual(counts, [32] * 4, "every host all of the files")
        self.assertEqual([path.read_bytes() for path in paths], before)
        refused = self.there("-S1", "-r0", "-M2", "-b64k", "--allow-target", "-f/mnt/F...", code=2)
        self.assertEqual(set(re.findall(r"(?m)^plimsoll: (host\d).*--overwrite", refused.err)), {"host2", "host3", "host4"})
        self.assertEqual([path.read_bytes() for path in paths], before)


if __name__ == "__main__":
    harness.main()
