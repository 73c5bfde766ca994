"""`plimsoll xdisk`: each option of xdisk's guide (V8.6) changes a system call or an output, or is refused."""

import os
import pathlib
import signal

import file_calls
import harness
import path_files
import xdisk_lines
from path_files import KIB, contents, state
from xdisk_lines import COLUMNS, HEADER, SHARES, figures, lines_of

MIB = 1 << 20
BLOCK_BYTES = 64 * KIB
BLOCKS = MIB // BLOCK_BYTES


class Calls(xdisk_lines.XdiskTest):
    """Options that change the calls to the kernel."""

    def setUp(self):
        super().setUp()
        file_calls.need_strace()
        self.traces = 0

    def trace(self, *arguments, code=0):
        """Returns the result, and the calls of the agent that the command starts."""
        self.traces += 1
        trace = file_calls.Trace(self.base / f"strace-{self.traces}")
        return self.xdisk(*arguments, wrap=trace.options, code=code), trace

    def offsets(self, trace, number=1, length=BLOCK_BYTES):
        return [one.offset for one in trace.transfers(number, length)]

    def test_c_creates_files_by_writing_each_block_once_in_order_and_keeps_them(self):
        for number, size in enumerate(("-C1m", "-C1M", "-C", "-C2M")):
            value = ("1M",) if size == "-C" else ()
            path = self.dir / f"file-{number}"
            result, trace = self.trace(size, *value, "-b64k", "-f", path)
            bytes_ = 2 * MIB if size == "-C2M" else MIB
            self.assertEqual(self.offsets(trace), list(range(0, bytes_, BLOCK_BYTES)))
            self.assertEqual({one.kind for one in trace.transfers(1)}, {"write"})
            self.assertEqual(path.stat().st_size, bytes_)
            line = self.line(result)
            self.assertEqual([line[column] for column in COLUMNS[:6]], ["64K", "1", "0", "0", "SC", "-"])
            self.assert_figures(line, reads=False, writes=True)

    def test_c_with_r_creates_in_random_order(self):
        path = self.dir / "file"
        result, trace = self.trace("-C1m", "-R", "-b64k", "-f", path)
        self.assertEqual(sorted(self.offsets(trace)), list(range(0, MIB, BLOCK_BYTES)))
        self.assertNotEqual(self.offsets(trace), sorted(self.offsets(trace)))
        self.assertEqual(self.line(result)["IO"], "RC")

    def test_s1_and_r1_take_each_block_once_whatever_t_and_w_are(self):
        names = self.created()
        for option, order in (("-S1", list), ("-R1", sorted)):
            result, trace = self.trace(option, "-r100", "-b64k", "-t3600", "-w600", "-f", names)
            self.assertEqual(order(self.offsets(trace)), list(range(0, MIB, BLOCK_BYTES)))
            self.assertEqual({one.kind for one in trace.transfers(1)}, {"read"})
            self.assertEqual(self.line(result)["IO"], option[1])
            self.assertRegex(result.err, rf"-t is ignored with {option}")
            self.assertRegex(result.err, rf"-w is ignored with {option}")
            self.assertRegex(result.out, r"(?m)^Run time +: 0 seconds$")

    def test_m_processes_have_a_file_each_or_ranges_of_fewer_files(self):
        names = self.created(processes=2)
        _, trace = self.trace("-S1", "-r100", "-M2", "-b64k", "-f", names)
        self.assertEqual([os.path.basename(trace.transfers(number, BLOCK_BYTES)[0].path) for number in (1, 2)], ["F000", "F001"])
        both = f"{self.dir}/F000,{self.dir}/F001"
        result, trace = self.trace("-S1", "-r100", "-M", "5", "-b64k", "-f", both)
        for number, (file, begin, end) in enumerate(file_calls.ranges(5, 2, BLOCKS), start=1):
            taken = trace.transfers(number, BLOCK_BYTES)
            self.assertEqual({os.path.basename(one.path) for one in taken}, {f"F00{file}"})
            self.assertEqual([one.offset // BLOCK_BYTES for one in taken], list(range(begin, end)))
        self.assertEqual(self.line(result)["Proc"], "5")
        # Files without a process are not used.
        result, trace = self.trace("-S1", "-r100", "-M1", "-b64k", "-f", both)
        self.assertEqual(trace.threads(), [1])
        self.assertIn("-M 1 uses 1 of 2 files", result.err)

    def test_a_operations_of_each_process_are_threads(self):
        names = self.created(processes=2)
        result, trace = self.trace("-S1", "-r100", "-M2", "-A3", "-b64k", "-z100", "-f", names)
        self.assertEqual(trace.threads(), [1, 2, 3, 4, 5, 6])
        files = [os.path.basename(trace.transfers(number, BLOCK_BYTES)[0].path) for number in range(1, 7)]
        self.assertEqual(files, ["F000"] * 3 + ["F001"] * 3)
        line = self.line(result)
        self.assertEqual((line["Proc"], line["AIO"]), ("2", "3"))
        # With -A, -z has no effect.
        self.assertIn("-z is ignored with -A", result.err)
        self.assertNotIn("clock_nanosleep", trace.names(1, BLOCK_BYTES))
        self.assertRegex(result.out, r"(?m)^Snooze % +: 0 percent$")

    def test_z_pauses_after_each_operation(self):
        names = self.created()
        for option in (("-z80",), ("-z", "200")):
            result, trace = self.trace("-S1", "-r100", "-b64k", *option, "-f", names)
            self.assertEqual(trace.names(1, BLOCK_BYTES), (["preadv2", "clock_nanosleep"] * BLOCKS)[:2 * BLOCKS - 1])
            self.assertRegex(result.out, rf"(?m)^Snooze % +: {''.join(option)[2:]} percent$")
        _, trace = self.trace("-S1", "-r100", "-b64k", "-f", names)
        self.assertEqual(set(trace.names(1, BLOCK_BYTES)), {"preadv2"})

    def test_r_is_the_share_of_reads(self):
        names = self.created()
        for option, reads, words in ((("-r", "0"), 0, "Write Only"), (("-r100",), 200, "Read Only"), (("-r50",), 100, "Equal read and write"),
                                     (("-r", "80"), 160, "80% read, 20% write"), ((), 0, "Write Only")):
            # 200 blocks are whole hundreds.
            result, trace = self.trace("-R1", "-b4k", "-s800k", *option, "-f", names)
            kinds = [one.kind for one in trace.transfers(1, 4 * KIB)]
            self.assertEqual((len(kinds), kinds.count("read")), (200, reads))
            line = self.line(result)
            self.assertEqual(line["read%"], "".join(option)[2:].strip() or "0")
            self.assert_figures(line, reads=reads > 0, writes=reads < 200)
            self.assertIn(f": {words}\n", result.out)

    def test_b_is_the_size_of_each_operation(self):
        names = self.created()
        for option, size, name in ((("-b512",), 512, "512"), (("-b", "1024"), 1024, "1K"), (("-b1k",), 1024, "1K"), (("-b32K",), 32 * KIB, "32K"),
                                   (("-b1M",), MIB, "1M"), ((), 4 * KIB, "4K")):
            result, trace = self.trace("-S1", "-r100", *option, "-f", names)
            self.assertEqual(self.offsets(trace, length=size), list(range(0, MIB, size)))
            self.assertEqual(self.line(result)["BS"], name)

    def test_s_is_the_part_that_is_used(self):
        names = self.created()
        for option in (("-s256K",), ("-s", "256k")):
            _, trace = self.trace("-S1", "-r100", "-b64k", *option, "-f", names)
            self.assertEqual(self.offsets(trace), [0, BLOCK_BYTES, 2 * BLOCK_BYTES, 3 * BLOCK_BYTES])
        self.refused(r".*(1,048,576|1m).*-s", "-S1", "-r100", "-s2M", "-f", names)

    def test_s_is_the_part_of_a_device_that_is_used(self):
        device = path_files.loop_device(self)
        _, trace = self.trace("-S1", "-r0", "-b64k", "-s256k", "--overwrite", "-f", device)
        self.assertEqual(self.offsets(trace), [0, BLOCK_BYTES, 2 * BLOCK_BYTES, 3 * BLOCK_BYTES])

    def test_o_is_how_files_are_opened_and_flushed(self):
        names = self.created()
        takes_direct = path_files.takes_direct(self.dir)
        for option, flags, after, in_words in (
            ((), set(), [], "none"), (("-OS",), {"O_SYNC"}, [], "O_SYNC"), (("-O", "D"), {"O_DIRECT"}, [], "O_DIRECT"),
            (("-OSD",), {"O_SYNC", "O_DIRECT"}, [], "O_SYNC, O_DIRECT"), (("-OW",), {"O_DSYNC"}, [], "O_DSYNC"), (("-Of",), set(), ["fsync"], "none"),
        ):
            with self.subTest(option):
                refused = "O_DIRECT" in flags and not takes_direct
                result, trace = self.trace("-S1", "-r0", "-b64k", *option, "-f", names, code=(2, 3, 4) if refused else 0)
                if refused:
                    self.assertIn("O_DIRECT", result.err)
                    continue
                self.assertEqual(trace.opened_with(1, BLOCK_BYTES) & {"O_SYNC", "O_DSYNC", "O_DIRECT"}, flags)
                self.assertEqual(trace.names(1, BLOCK_BYTES), (["pwritev2", *after] * BLOCKS)[:(1 + len(after)) * (BLOCKS - 1) + 1])
                self.assertEqual(self.line(result)["Flag"], "-" + "".join(option)[2:])
                self.assertRegex(result.out, rf"(?m)^File open Flag +: {in_words}$")
                self.assertRegex(result.out, rf"(?m)^Sync type +: {r'fsync.. after each write.' if after else r'no fsync...'}$")

    def test_f_lists_have_three_separators_and_names_are_numbered_by_m(self):
        self.created(processes=3)
        paths = [f"{self.dir}/F00{number}" for number in range(3)]
        for separator in ",:#":
            _, trace = self.trace("-S1", "-r100", "-M3", "-b64k", "-f" + separator.join(paths))
            self.assertEqual([trace.transfers(number, BLOCK_BYTES)[0].path for number in (1, 2, 3)], paths)
        result, trace = self.trace("-S1", "-r100", "-M3", "-b64k", f"-f{self.dir}/F...")
        self.assertEqual([trace.transfers(number, BLOCK_BYTES)[0].path for number in (1, 2, 3)], paths)
        self.assertRegex(result.out, r"(?m)^Number of files +: 3$")
        self.assertRegex(result.out, rf'(?m)^File Names +: "{self.dir}/F\.\.\."$')

    def test_f_names_may_be_relative_and_a_file_lists_them(self):
        self.created(processes=2)
        relative = os.path.relpath(self.dir, self.base)
        _, trace = self.trace("-S1", "-r100", "-b64k", "-f", f"{relative}/F000")
        self.assertEqual(trace.transfers(1, BLOCK_BYTES)[0].path, f"{self.dir}/F000")
        listed = self.base / "list.txt"
        for end in ("\n", ""):
            listed.write_text(f"{self.dir}/F001\n{self.dir}/F000{end}")
            for option in (("-F", listed), (f"-F{listed}",)):
                _, trace = self.trace("-S1", "-r100", "-M2", "-b64k", *option)
                self.assertEqual([os.path.basename(trace.transfers(number, BLOCK_BYTES)[0].path) for number in (1, 2)], ["F001", "F000"])


class Times(xdisk_lines.XdiskTest):
    """Runs of several seconds, at the same time."""

    def test_t_w_and_i_are_the_times_of_the_run_and_of_its_lines(self):
        runs = {}
        for name, arguments in (
            ("default", ("-S",)), ("zero", ("-S0", "-t6")), ("warm", ("-R", "-w2", "-t", "5")), ("lines", ("-R0", "-t5", "-i2")),
            ("whole", ("-R", "-t6", "-w", "2", "-i", "3")),
        ):
            names = self.created(name)
            # A pause leaves the machine to the others.
            runs[name] = self.start_xdisk(*arguments, "-r50", "-b64k", "-z1000", "-f", names)
        results = {}
        for name, run in runs.items():
            results[name] = self.ended(run)
        second = 1_000_000_000
        for name, duration_s, warmup_s, lines in (("default", 5, 0, 1), ("zero", 6, 0, 1), ("warm", 5, 2, 1), ("lines", 5, 0, 2),
                                                  ("whole", 6, 2, 2)):
            with self.subTest(name):
                (step,) = self.report_of(results[name])["steps"]
                self.assertEqual((step["duration_ns"], step["warmup_ns"]), (duration_s * second, warmup_s * second))
                # With intervals, neither the rest of the time nor the whole run has a line.
                printed = lines_of(results[name].out)
                self.assertEqual(len(printed), lines, results[name])
                self.assertGreater(harness.cluster(step)["writes"], BLOCKS, "again and again")
                for line in printed:
                    self.assert_figures(line, reads=True, writes=True)
                self.assertEqual(printed[0]["IO"], "R" if name in ("warm", "lines", "whole") else "S")
                self.assertRegex(results[name].out, rf"(?m)^Run time +: {duration_s} seconds$")

    def test_lines_of_intervals_are_the_operations_of_their_seconds(self):
        names = self.created()
        result = self.xdisk("-R", "-r50", "-t6", "-i2", "-b64k", "-z1000", "-q", "-f", names)
        self.assertEqual(result.out.splitlines()[0], HEADER)
        lines = lines_of(result.out)
        self.assertEqual(len(lines), 3)
        report = self.report_of(result)
        (step,) = report["steps"]
        reads = harness.operations(step)["read"]
        done = harness.cluster(step)["writes"] + harness.cluster(reads)["throughput"]["count"]
        counted = sum(2 * float(line["IO/s"]) for line in lines)
        self.assertGreater(done, 0)
        # Three digits of each line are left.
        self.assertLessEqual(abs(counted - done), 0.01 * done + 6, result)


class Interrupted(xdisk_lines.XdiskTest):

    def test_a_creation_that_is_interrupted_names_the_file_that_is_not_full(self):
        path = self.dir / "file"
        process = self.start_xdisk("-C1g", "-b512", "-z10000", "-d", "-f", path)
        self.await_running(process)
        process.signal(signal.SIGINT)
        result = self.ended(process, code=3)
        self.assertRegex(result.err, rf"(?m)^plimsoll: \S+: created, but not written full: {path} \(.* of 1 GiB\); create them again")


class Output(xdisk_lines.XdiskTest):
    """Options that change the output. The runs are single passes."""

    def setUp(self):
        super().setUp()
        self.names = self.created()

    def read(self, *arguments, **how):
        return self.xdisk("-R1", "-r100", "-b4k", "-f", self.names, *arguments, **how)

    def mixed(self, *arguments, **how):
        return self.xdisk("-R1", "-r50", "-b4k", "-f", self.names, *arguments, **how)

    def test_without_options_there_are_the_info_block_the_header_and_a_line(self):
        result = self.mixed()
        *info, header, line = result.out.splitlines()
        self.assertEqual(info[0], "IO Disk test")
        self.assertEqual(header, HEADER)
        labels = [text.partition(":")[0].strip() for text in info[1:]]
        self.assertEqual(labels, ["No. IO threads", "No. Async threads", "I/O type", "Block size", "", "Start time", "Sync type", "File open Flag",
                                  "Number of files", "Run time", "Snooze %", "File Names"])
        self.assertRegex(result.out, r"(?m)^Start time +: \d{4}\.\d\d\.\d\d-\d\d:\d\d:\d\d$")
        self.assert_figures(figures(line), reads=True, writes=True)
        self.assertEqual(figures(line)["more"], [])

    def test_the_line_has_the_reports_figures_and_standard_error_says_where_that_is(self):
        result = self.mixed()
        report = self.report_of(result)
        (step,) = report["steps"]
        reads = harness.operations(step)["read"]
        line = self.line(result)
        writes = harness.cluster(step)
        self.assert_reported(line, report)
        for prefix, latency in (("r", harness.cluster(reads)["latency"]), ("w", writes["latency"])):
            for column, name in ((f"{prefix}Min-ms", "min_ns"), (f"{prefix}Max-ms", "max_ns"), (f"{prefix}Avg-ms", "avg_ns"),
                                 ({"r": "WtAvg", "w": "WwAvg"}[prefix], "wavg_ns")):
                expected = float(latency[name]) / 1e6
                self.assertLessEqual(abs(float(line[column]) - expected), 0.005 * expected + 0.0006, (column, line, latency))
        expected = writes["iops"] + harness.cluster(reads)["throughput"]["iops"]
        self.assertLessEqual(abs(float(line["IO/s"]) - expected), 0.005 * expected + 0.5)

    def test_out_is_the_directory_of_the_results(self):
        out = self.base / "own"
        result = self.mixed("--out", out)
        self.assertIn(f"are in {out}", result.err)
        self.assertTrue((out / "report.json").exists())
        self.assertTrue((out / "report.html").exists())

    def test_q_leaves_out_the_info_block_and_capital_q_the_header_too(self):
        self.assertEqual(self.mixed("-q").out.splitlines()[0], HEADER)
        self.assertEqual(len(self.mixed("-q").out.splitlines()), 2)
        (line,) = self.mixed("-Q").out.splitlines()
        self.assertEqual(len(line.split()), len(COLUMNS))

    def test_p_prints_the_header_and_exits(self):
        self.assertEqual(self.xdisk("-P").out, HEADER + "\n")
        result = self.xdisk("-P", "-R1", "-f", self.dir / "missing")
        self.assertEqual(result.out, HEADER + "\n")
        self.assertEqual(result.err, "")
        shares = self.xdisk("-xr", "-P").out.split()
        self.assertEqual(shares, COLUMNS + SHARES)
        self.assertEqual(self.xdisk("-xs", "-V", "-P").out.split(), COLUMNS + SHARES + SHARES)
        devices = self.xdisk("-c", "-P").out.split()
        self.assertEqual(devices[:len(COLUMNS) + 1], [*COLUMNS, "Device"])

    def test_x_prints_distributions_in_thousandths(self):
        for option, sides in ((("-xr",), 1), (("-x", "w"), 1), (("-xs",), 2), (("-xrw",), 2)):
            with self.subTest(option):
                result = self.mixed("-q", *option)
                header, *lines = result.out.splitlines()
                self.assertEqual(header.split(), COLUMNS + SHARES)
                self.assertEqual(len(lines), sides, result)
                for number, text in enumerate(lines):
                    cells = figures(text)["more"] if number == 0 else text.split()
                    self.assertEqual(len(cells), len(SHARES))
                    total = sum(int(cell) for cell in cells if cell not in ("___", "---"))
                    self.assertTrue(970 <= total <= 1000, cells)
                    # No time belongs to "ms" and "s"; "us" stands for times below a microsecond.
                    self.assertEqual((cells[11], cells[22]), ("___", "___"))
                if sides == 2:
                    self.assertGreater(len(lines[1]) - len(lines[1].lstrip()), len(HEADER) - 10, "below the reads")

    def test_x_shows_the_only_side_that_there_is(self):
        for arguments in (("-xw",), ("-xs",), ("-xr",)):
            result = self.read("-q", *arguments)
            _, line = result.out.splitlines()
            self.assertEqual(len(figures(line)["more"]), len(SHARES))
            self.assertTrue(970 <= sum(int(cell) for cell in figures(line)["more"] if cell not in ("___", "---")) <= 1000, line)

    def test_v_prints_one_line_with_zeros_for_spreadsheets(self):
        result = self.mixed("-V", "-xs")
        header, line = result.out.splitlines()
        self.assertEqual(header.split(" "), COLUMNS + SHARES + SHARES, "single blanks")
        cells = line.split(" ")
        self.assertEqual(len(cells), len(COLUMNS) + 2 * len(SHARES))
        for side in (cells[len(COLUMNS):-len(SHARES)], cells[-len(SHARES):]):
            self.assertTrue(all(cell.isdigit() for cell in side), side)
            self.assertTrue(970 <= sum(map(int, side)) <= 1000, side)
        (line,) = self.mixed("-V", "-Q").out.splitlines()
        self.assertEqual(len(line.split(" ")), len(COLUMNS))

    def test_capital_t_is_a_text_at_the_end(self):
        for arguments in (("-T", "Run 1 out of 5"), ("-TRun 1 out of 5",)):
            self.assertEqual(self.mixed("-Q", *arguments).out.splitlines()[-1], "Run 1 out of 5")
        self.assertIn("Run �[31m1", self.mixed("-Q", "-T", "Run \x1b[31m1").out)

    def test_l_groups_digits(self):
        for locale, group in (("en_US", ","), ("de_DE", "."), (None, "")):
            result = self.xdisk("-R1", "-r100", "-b512", "-Q", "-f", self.names, *(["-l", locale] if locale else []))
            expected = round(harness.cluster(self.report_of(result)["steps"][0])["iops"])
            shown = self.line(result)["IO/s"]
            # 2,048 blocks of the page cache: fewer than 1,000 a second would have no group to see.
            self.assertGreaterEqual(expected, 1000)
            with self.subTest(locale):
                self.assertIn(shown, [f"{each:,}".replace(",", group) for each in (expected - 1, expected, expected + 1)])
        self.refused(r"-l: 'fr_FR' is not a locale that is known here: use en_US or de_DE", "-R1", "-r100", "-l", "fr_FR", "-f", self.names)

    def test_capital_l_appends_what_is_printed_to_a_log(self):
        log = self.base / "log.txt"
        first = self.mixed("-L", log)
        self.assertEqual(log.read_text(), first.out)
        second = self.mixed("-Q", "-V", f"-L{log}", "-T", "end")
        self.assertEqual(log.read_text(), first.out + second.out)
        self.refused(r".*-L.*missing", "-R1", "-r100", "-f", self.names, "-L", self.base / "missing" / "log")

    def test_d_prints_the_plan_and_the_progress(self):
        result = self.mixed("-d", "-Q")
        self.assertIn("one_pass: true", result.err)
        self.assertIn(f"{self.dir}/F000", result.err)
        self.assertNotIn("one_pass", self.mixed("-Q").err)
        self.assertEqual(len(result.out.splitlines()), 1, "standard output is as it was")

    def test_c_adds_the_statistics_of_the_devices(self):
        header, line = self.mixed("-q", "-c").out.splitlines()
        names = header.split()[len(COLUMNS):]
        self.assertEqual(names[0], "Device")
        self.assertIn("%util", names)
        self.assertEqual(len(figures(line)["more"]), len(names))
        both, _ = self.mixed("-q", "-V", "-c", "-xr").out.splitlines()
        self.assertEqual(both.split(" "), COLUMNS + names + SHARES)
        writes, _ = self.xdisk("-R1", "-r0", "-b4k", "-q", "-c", "-f", self.names).out.splitlines()
        self.assertEqual(writes.split()[len(COLUMNS):], [name for name in names if name not in ("r/s", "rMB/s", "r_await")])

    def test_c_counts_the_reads_of_the_device(self):
        if not path_files.takes_direct(self.dir):
            self.skipTest("the file system of this test refuses O_DIRECT")
        device = os.stat(self.dir).st_dev
        if not os.path.exists(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"):
            self.skipTest(f"{self.dir} is not directly on a block device")
        result = self.read("-q", "-OD", "-c")
        header, line = result.out.splitlines()
        names = header.split()[len(COLUMNS):]
        self.assertEqual(names[:4], ["Device", "r/s", "rMB/s", "r_await"])
        cells = dict(zip(names, figures(line)["more"]))
        self.assertNotEqual(cells["Device"], "-")
        (load,) = self.report_of(result)["steps"][0]["load"]
        # All reads of the run go to the device; others may use it as well.
        self.assertGreaterEqual(load["disk"]["reads"], MIB // (4 * KIB))
        self.assertGreaterEqual(load["disk"]["read_bytes"], MIB)
        expected = load["disk"]["reads"] * 1e9 / load["sampled_ns"]
        self.assertLessEqual(abs(float(cells["r/s"]) - expected), 0.005 * expected + 0.5)
        self.assertGreater(float(cells["rMB/s"]), 0)

    def test_h_prints_the_help(self):
        for option in ("-h", "-?", "--help"):
            text = self.xdisk(option).out
            for letter in "SRCMfFOtwizrbAscqQPxVTlLdnN":
                self.assertRegex(text, rf"(?m)^ +-{letter}\b", option)
            for name in ("--overwrite", "--allow-target", "--out", "--launch"):
                self.assertIn(name, text)

    def test_a_link_of_that_name_is_xdisk(self):
        link = pathlib.Path(harness.binary("xdisk"))
        if not link.exists():
            self.skipTest("the build makes no link of that name")
        result = self.xdisk("-R1", "-r100", "-b64k", "-Q", "-f", self.names, program=("xdisk",))
        self.assertEqual(self.line(result)["BS"], "64K")


class Permissions(xdisk_lines.XdiskTest):

    def test_files_of_others_are_read_and_written_only_with_overwrite(self):
        path = self.make("data", MIB)
        before = state(path)
        self.xdisk("-S1", "-r100", "-b64k", "-f", path)
        self.refused(rf".*{path} would be overwritten: pass --overwrite", "-S1", "-r0", "-b64k", "-f", path)
        self.refused(rf".*{path} would be overwritten: pass --overwrite", "-R", "-r99", "-b64k", "-f", path)
        self.assertEqual(state(path), before)
        was = contents(path)
        self.xdisk("-S1", "-r0", "-b64k", "--overwrite", "-f", path)
        self.assertEqual(path_files.rewritten(was, contents(path), BLOCK_BYTES), list(range(BLOCKS)))

    def test_c_does_not_take_files_of_others(self):
        path = self.make("data", MIB)
        before = state(path)
        for more in ((), ("--overwrite",)):
            self.refused(rf".*{path} exists, and -C of this agent did not make it", "-C1m", "-f", path, *more)
        self.assertEqual(state(path), before)

    def test_files_of_c_are_written_and_created_again_without_more(self):
        names = self.created(processes=2)
        paths = [self.dir / f"F00{number}" for number in range(2)]
        before = [state(path) for path in paths]
        self.xdisk("-R1", "-r50", "-M2", "-b64k", "-f", names)
        self.assertNotEqual([state(path) for path in paths], before)
        self.created(processes=2)
        self.assertEqual(sorted(os.listdir(self.dir)), [".plimsoll-kept", "F000", "F001"])

    def test_a_link_and_a_queue_managers_log_are_refused(self):
        path = self.make("QM1/S0000000.LOG", MIB)
        self.make("QM1/amqhlctl.lfh")
        link = self.dir / "link"
        link.symlink_to(self.make("data", MIB))
        before = state(path)
        for wrong, words in ((path, "queue manager"), (link, "symbolic link")):
            self.refused(rf".*{words}", "-S1", "-r0", "--overwrite", "-b64k", "-f", wrong)
        self.assertEqual(state(path), before)


class Refused(xdisk_lines.XdiskTest):
    """One line that names the option, the limit and the way out; exit code 2; nothing is made."""

    def test_wrong_options(self):
        path = self.dir / "F"
        listed = self.base / "list"
        listed.write_text(f"{path}1\n\n{path}2\n")
        blank = self.base / "blank"
        blank.write_text(f"{path}1 \n")
        hosts = self.base / "hosts"
        hosts.write_text("host1\n\nhost2\n")
        ok = ("-S1", "-r100", "-f", path)
        for arguments, pattern in (
            ((), r"-S, -R or -C is missing"),
            (("-f", path), r"-S, -R or -C is missing"),
            (("-S1", "-r100"), r"-f or -F is missing"),
            (("-S", "-R", "-f", path), r"-S and -R exclude each other"),
            (("-S2", "-f", path), r"-S2: write -S, or -S1"),
            (("-S", "1", "-f", path), r"unexpected argument '1': write -S1 without a blank"),
            (("-C512k", "-f", path), r"-C: '512k' is not a size from 1m to 2t"),
            (("-C3T", "-f", path), r"-C: '3T' is not a size from 1m to 2t"),
            (("-C1M", "-r50", "-f", path), r"-C creates the files by writing them, -r 50"),
            (("-C1M", "-s1M", "-f", path), r"-s has no meaning with -C"),
            ((*ok, "-M0"), r"-M: '0' is not a whole number of processes from 1 to 128"),
            ((*ok, "-M129"), r"-M: '129' is not a whole number of processes from 1 to 128"),
            ((*ok, "-M", "x"), r"-M: 'x' is"),
            ((*ok, "-A129"), r"-A: '129' is not a whole number of asynchronous operations from 1 to 128"),
            ((*ok, "-M128", "-A128"), r"-M 128 and -A 128 make 16,384 operations in flight on a host; at most 4,096"),
            (("-S1", "-r100", "-f", f"{path}...", "-M2"), r"-f .*\.\.\. is numbered by -M: write -M 2 before -f"),
            (("-S1", "-r100", "-f", f"{path},,{path}1"), r"-f: .* has an empty name"),
            (("-S1", "-r100", "-M2", "-f", f"{path}1:{path}1"), r"-f: '.*F1' is in the list twice"),
            (("-S1", "-r100", "-f", path, "-F", listed), r"-f and -F exclude each other"),
            (("-S1", "-r100", "-F", listed), r"-F: .*list:2: an empty line"),
            (("-S1", "-r100", "-F", blank), r"-F: .*blank:1: a blank before or after the name"),
            (("-S1", "-r100", "-F", self.base / "missing"), r".*-F.*missing"),
            ((*ok, "-OC"), r"-OC \(O_CIO\) is for AIX"),
            ((*ok, "-OR"), r"-OR \(O_RSYNC\) is for AIX"),
            ((*ok, "-ORW"), r"-OR \(O_RSYNC\) is for AIX"),
            ((*ok, "-OX"), r"-O: 'X' is not a flag"),
            ((*ok, "-OfD"), r"-OfD: f \(fsync\) has no other flags beside it"),
            (("-S", "-r100", "-t4", "-f", path), r"-t: '4' is not a whole number of seconds from 5 to 86400"),
            (("-S", "-r100", "-t86401", "-f", path), r"-t: '86401' is"),
            (("-S", "-r100", "-w1", "-f", path), r"-w: '1' is not a whole number of seconds from 2 to 3600"),
            (("-S", "-r100", "-w3601", "-f", path), r"-w: '3601' is"),
            (("-S", "-r100", "-i1", "-f", path), r"-i: '1' is not a whole number of seconds from 2 to 3600"),
            (("-S", "-r100", "-i3601", "-f", path), r"-i: '3601' is"),
            (("-S", "-r100", "-i6", "-f", path), r"-i 6 is longer than -t 5"),
            ((*ok, "-z-1"), r"-z: '-1' is"),
            (("-S1", "-r101", "-f", path), r"-r: '101' is not a whole number of percent from 0 to 100"),
            ((*ok, "-b511"), r"-b: '511' is not a size from 512 to 64m"),
            ((*ok, "-b65M"), r"-b: '65M' is"),
            ((*ok, "-b", "16k,", "32k"), r"unexpected argument '32k': write lists without blanks|-b: '16k,' is"),
            ((*ok, "-xq"), r"-x: 'q' is not of the letters"),
            ((*ok, "-q1"), r"-q takes no value: write -q -1"),
            ((*ok, "-x"), r"-x needs a value: r, w or s"),
            ((*ok, "-Y"), r"unknown option '-Y'"),
            ((*ok, "-T"), r"-T needs a value"),
            ((*ok, "-r50"), r"-r was given twice"),
            (("-S1", "-r100", "-f", "relative", "-n", "host1"), r"-f: 'relative' is not an absolute path, which hosts"),
            ((*ok, "-n", "host1", "-N", hosts), r"-n and -N exclude each other"),
            ((*ok, "-N", hosts), r"-N: .*hosts:2: an empty line"),
            ((*ok, "-n", "host1:7461"), r"-n: ':' separates hosts; list hosts with a port in a file \(-N\)"),
            ((*ok, "-n", "host1,host1"), r"-n: host1 is in the list twice"),
            ((*ok, "-n", ":".join(f"host{number}" for number in range(17))), r"-n: 17 hosts; at most 16"),
        ):
            with self.subTest([str(argument)[:40] for argument in arguments]):
                self.refused(pattern, *arguments)
        self.assert_nothing_left()

    def test_files_that_cannot_be_used_are_named_by_xdisks_options(self):
        self.refused(rf".*{self.dir}/missing", "-S1", "-r100", "-f", self.dir / "missing")
        short = self.make("short", 10 * KIB)
        result = self.refused(rf".*{short}.*-b", "-S1", "-r100", "-b64k", "-f", short)
        self.assertNotRegex(result.err, r"--(bsize|qm|files|file-size|create|one-pass)\b")
        result = self.refused(rf".*{short}.*-M", "-S1", "-r100", "-b4k", "-M8", "-f", short)
        self.assertNotRegex(result.err, r"--(bsize|qm|files)\b|workload\.")
        result = self.refused(rf".*{self.base}/none", "-C1m", "-f", self.base / "none" / "file")
        self.assertNotRegex(result.err, r"--(files|create)\b")


if __name__ == "__main__":
    harness.main()
