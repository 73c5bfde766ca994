"""Runs on files that they make themselves (--files with plain names): which thread takes which blocks of which file, and how."""

import collections
import os
import signal

import file_calls
import harness
import path_files

KIB = 1 << 10
BLOCK_BYTES = 16 * KIB
FILE_BYTES = 256 * KIB
BLOCKS = FILE_BYTES // BLOCK_BYTES


class FilesTest(harness.PlimsollTest):
    """Runs under strace."""

    in_memory = True

    def setUp(self):
        super().setUp()
        file_calls.need_strace()
        self.traces = 0

    def trace(self, files, *arguments, code=(0, 3), quick=True):
        """Runs a plan under strace, with blocks of 16 KiB where the arguments have none. Returns its result and the calls."""
        self.traces += 1
        trace = file_calls.Trace(self.base / f"strace-{self.traces}")
        agent = self.agent("alpha", wrap=[*harness.ahead(), *trace.options])
        block = () if "--bsize" in arguments else ("--bsize", "16k")
        # The pauses let programs make progress that do not run ahead.
        pace = ("--delay", "200us") if quick else ()
        time = () if "--duration" in arguments else ("--duration", "600ms")
        result = self.run_plan("--hosts", agent.address, "--files", files, *block, *pace, *time, *arguments, code=code)
        self.stop_agents(agent)
        self.assert_nothing_left()
        return result, trace

    def places(self, trace, number, *lengths):
        """The (name, offset) of the thread's operations, in order."""
        return [(os.path.basename(one.path), one.offset) for one in trace.transfers(number, *(lengths or (BLOCK_BYTES,)))]

    def expected(self, name, begin, end):
        return [(name, block * BLOCK_BYTES) for block in range(begin, end)]

    def assert_laps(self, places, lap):
        """The operations take the blocks in their order, again and again."""
        self.assertGreater(len(places), len(lap), "too few operations to see anything")
        self.assertEqual(places, [lap[number % len(lap)] for number in range(len(places))])

    def assert_passes(self, places, blocks):
        """Each pass takes every block once, and some pass not in their order: few blocks may be in order by chance."""
        self.assertGreater(len(places), 10 * len(blocks), "too few operations to see anything")
        whole = []
        for begin in range(0, len(places), len(blocks)):
            taken = places[begin:begin + len(blocks)]
            self.assertEqual(len(set(taken)), len(taken), "a block twice in a pass")
            self.assertLessEqual(set(taken), set(blocks))
            if len(taken) == len(blocks):
                self.assertEqual(set(taken), set(blocks), "every block")
                whole.append(taken)
        self.assertTrue(any(taken != blocks for taken in whole))


class Division(FilesTest):

    def test_threads_that_are_fewer_than_the_files_have_one_each_and_leave_the_others(self):
        result, trace = self.trace("A,B,C", "--qm", "2")
        for number, name in ((1, "A"), (2, "B")):
            self.assert_laps(self.places(trace, number), self.expected(name, 0, BLOCKS))
        self.assertEqual(trace.threads(), [1, 2])
        self.assertEqual(trace.openings("C"), {}, "a file that no thread uses is not made")
        self.assertIn("1 of 3 files are not used", " ".join((result.err + result.out).split()))

    def test_as_many_threads_as_numbered_files_have_one_each(self):
        result, trace = self.trace("F...", "--qm", "3")
        for number in (1, 2, 3):
            self.assert_laps(self.places(trace, number), self.expected(f"F{number - 1:03}", 0, BLOCKS))
        self.assertEqual([scope["qm"] for scope in harness.scopes(result.report["steps"][0], "qm")], [1, 2, 3])

    def test_threads_that_are_more_than_the_files_divide_them_in_whole_blocks(self):
        # Three threads on the first file, of 16 blocks, and two on the second one.
        expected = [("A", 0, 5), ("A", 5, 10), ("A", 10, 16), ("B", 0, 8), ("B", 8, 16)]
        self.assertEqual(file_calls.ranges(5, 2, BLOCKS), [("AB".index(name), begin, end) for name, begin, end in expected])
        _, trace = self.trace("A,B", "--qm", "5")
        for number, (name, begin, end) in enumerate(expected, start=1):
            self.assert_laps(self.places(trace, number), self.expected(name, begin, end))
            # Before the start each thread fills its own part, all of it.
            filled = sorted((one.offset, one.length) for one in trace.transfers(number) if one.length not in (BLOCK_BYTES, 4096))
            self.assertEqual(filled[0][0], begin * BLOCK_BYTES)
            for (offset, length), (after, _) in zip(filled, filled[1:]):
                self.assertEqual(offset + length, after)
            self.assertEqual(sum(filled[-1]), end * BLOCK_BYTES)
        for name in "AB":
            self.assertTrue(any({"O_CREAT", "O_EXCL"} <= flags for calls in trace.openings(name).values() for flags in calls), name)

    def test_in_random_order_each_pass_of_a_thread_takes_every_block_of_its_part_once(self):
        _, trace = self.trace("A,B", "--qm", "5", "--access", "random", "--read-percent", "40", "--duration", "1")
        taken = collections.defaultdict(set)
        for number, (file, begin, end) in enumerate(file_calls.ranges(5, 2, BLOCKS), start=1):
            places = self.places(trace, number)
            self.assert_passes(places, self.expected("AB"[file], begin, end))
            for place in set(places):
                taken[place].add(number)
        self.assertEqual(set(taken), set(self.expected("A", 0, BLOCKS) + self.expected("B", 0, BLOCKS)), "all of both files")
        self.assertEqual({len(numbers) for numbers in taken.values()}, {1}, "no two threads share a block")

    def test_blocks_of_each_size_stay_in_the_parts_that_the_largest_one_makes(self):
        largest = 64 * KIB
        _, trace = self.trace("A", "--qm", "3", "--bsize", "512,8k,64k", "--direct", "off")
        for number, (_, begin, end) in enumerate(file_calls.ranges(3, 1, FILE_BYTES // largest), start=1):
            lengths = set()
            for one in trace.transfers(number, 512, 8 * KIB, largest):
                lengths.add(one.length)
                self.assertGreaterEqual(one.offset, begin * largest)
                self.assertLessEqual(one.offset + one.length, end * largest)
                self.assertEqual(one.offset % one.length, 0)
            self.assertEqual(lengths, {512, 8 * KIB, largest})

    def test_each_host_has_files_of_its_own(self):
        agents = [self.agent(name) for name in ("alpha", "beta")]
        run = self.start_run("--hosts", ",".join(agent.address for agent in agents), "--files", "A,B", "--qm", "2", "--delay",
                             "1ms", "--duration", "60")
        self.await_running(run)
        found = {str(path.relative_to(self.dir)).partition("/")[2] for path in harness.paths(self.dir, "plimsoll-*/**/files/*")}
        self.assertEqual(found, {f"{host}/files/{name}" for host in ("alpha", "beta") for name in "AB"})
        self.assertEqual({path.stat().st_size for path in harness.paths(self.dir, "plimsoll-*/**/files/*")}, {FILE_BYTES})
        run.signal(signal.SIGINT)
        report = self.result_of(run, run.results, code=3).report
        self.assertEqual(report["hosts"][0]["workload"]["share"], "own")
        self.assert_nothing_left()


class Calls(FilesTest):

    def check_sync(self, mode, flags, after, *arguments):
        """With this mode the file is opened with these flags of the two, and each write has these calls after it."""
        result, trace = self.trace("A", "--sync", mode, "--direct", "off", *arguments, quick=False)
        self.assertEqual(trace.opened_with(1, BLOCK_BYTES) & {"O_DSYNC", "O_SYNC", "O_DIRECT"}, flags)
        calls = [name for name in trace.names(1, BLOCK_BYTES) if name in ("pwritev2", "fsync", "fdatasync")]
        self.assertGreater(len(calls), 2 * (1 + len(after)))
        each = ["pwritev2", *after]
        self.assertEqual(calls, [each[number % len(each)] for number in range(len(calls))])
        return result

    def test_dsync_opens_with_o_dsync(self):
        self.check_sync("dsync", {"O_DSYNC"}, [])

    def test_sync_opens_with_o_sync(self):
        # O_SYNC is O_DSYNC and one bit more; strace names it alone.
        self.check_sync("sync", {"O_SYNC"}, [])

    def test_none_opens_with_neither_and_calls_nothing(self):
        self.check_sync("none", set(), [])

    def test_fdatasync_follows_each_write(self):
        self.check_sync("fdatasync", set(), ["fdatasync"])

    def test_fsync_follows_each_write_and_both_parts_are_measured(self):
        result = self.check_sync("fsync", set(), ["fsync"], "--require", "sync_max<1h")
        (step,) = result.report["steps"]
        whole = harness.cluster(step)["latency"]
        parts = {name: harness.cluster(one)["latency"] for name, one in harness.operations(step).items()}
        self.assertEqual(list(parts), ["write_call", "sync"])
        self.assertEqual({part["count"] for part in parts.values()}, {whole["count"]})
        self.assertGreater(whole["count"], 0)
        self.assertGreater(min(part["sum_ns"] for part in parts.values()), 0)
        self.assertEqual(sum(part["sum_ns"] for part in parts.values()), whole["sum_ns"])

    def test_reads_of_an_fsync_run_are_not_followed_by_one(self):
        _, trace = self.trace("A", "--sync", "fsync", "--direct", "off", "--read-percent", "50")
        calls = [name for name in trace.names(1, BLOCK_BYTES) if name in ("preadv2", "pwritev2", "fsync")]
        self.assertEqual(set(calls), {"preadv2", "pwritev2", "fsync"})
        for name, after in zip(calls, calls[1:]):
            self.assertEqual(after == "fsync", name == "pwritev2", calls)

    def test_direct_opens_with_o_direct(self):
        takes = path_files.takes_direct(self.dir)
        result, trace = self.trace("A", "--direct", "on", code=(0, 3) if takes else (2, 4))
        if not takes:
            self.assertRegex(result.err, r"O_DIRECT")
            self.skipTest("the file system of this test refuses O_DIRECT")
        self.assertLessEqual({"O_DIRECT", "O_DSYNC"}, trace.opened_with(1, BLOCK_BYTES))

    def test_a_run_that_only_reads_makes_no_call_that_writes_once_the_files_are_filled(self):
        result, trace = self.trace("A", "--qm", "2", "--read-percent", "100", "--access", "random")
        for number in (1, 2):
            self.assertEqual({one.kind for one in trace.transfers(number, BLOCK_BYTES)}, {"read"})
            transfers = trace.transfers(number)
            (first, *_) = [place for place, one in enumerate(transfers) if one.length == BLOCK_BYTES]
            self.assertNotIn("write", {one.kind for one in transfers[first:]}, "the files are filled before the first read")
        self.assertEqual(result.report["plan"]["read_percent"], 100)
        self.assertGreater(harness.cluster(result.report["steps"][0])["latency"]["count"], 0)

    def test_a_pause_in_percent_is_a_sleep_after_each_operation(self):
        # Blocks that take long, so that each pause is worth a sleep.
        _, trace = self.trace("A", "--bsize", "512k", "--file-size", "8m", "--read-percent", "50", "--pause-percent", "80", "--duration",
                              "1", quick=False)
        steady = ["operation" if name in ("preadv2", "pwritev2") else name for name in trace.names(1, 512 * KIB)]
        self.assertGreater(len(steady), 4)
        self.assertEqual(steady, (["operation", "clock_nanosleep"] * len(steady))[:len(steady)])


class Exports(FilesTest):
    """What exports say of the place of each operation is what the kernel was asked."""

    def check(self, threads, *arguments, files="A,B", lengths=(BLOCK_BYTES,)):
        result, trace = self.trace(files, "--qm", str(threads), *arguments)
        self.assertEqual(trace.threads(), list(range(1, threads + 1)))
        file_calls.check_exports(self, result, {"alpha": trace}, *lengths)

    def test_blocks_in_order(self):
        self.check(1)
        self.check(4)

    def test_blocks_in_random_order_read_and_written(self):
        for threads in (1, 4):
            self.check(threads, "--access", "random", "--read-percent", "40")

    def test_reads_in_random_order(self):
        self.check(4, "--access", "random", "--read-percent", "100")

    def test_several_block_sizes_in_ranges_that_the_largest_one_makes(self):
        self.check(3, "--bsize", "8k,32k", files="A", lengths=(8 * KIB, 32 * KIB))


class Order(FilesTest):
    """One pass over many blocks in random order."""

    blocks = 20_000
    block_bytes = 512

    def assert_uniform(self, places, what, cells=100):
        """The blocks (numbers below `blocks`) are spread evenly. Those of a pass are drawn without replacement, which makes them more
        even than chance: a false alarm is even less likely than the limit's."""
        counts = collections.Counter(place * cells // self.blocks for place in places)
        found = file_calls.chi_squared((counts[cell] for cell in range(cells)), len(places) / cells)
        self.assertLess(found, file_calls.chi_squared_limit(cells), what)

    def test_the_blocks_of_a_random_pass_are_a_permutation_and_evenly_spread_in_every_part_of_it(self):
        result, trace = self.trace("A", "--qm", "2", "--one-pass", "--access", "random", "--read-percent", "50", "--direct", "off",
                                   "--sync", "none", "--bsize", str(self.block_bytes), "--file-size",
                                   str(2 * self.blocks * self.block_bytes), "--duration", "600", quick=False)
        seed = f"seed {result.report['plan']['seed']}"
        orders = []
        for number in (1, 2):
            taken = trace.transfers(number, self.block_bytes)
            first = (number - 1) * self.blocks
            places = [one.offset // self.block_bytes - first for one in taken]
            self.assertEqual(sorted(places), list(range(self.blocks)), f"{seed}: each block of the thread's part once")
            # Exactly half of each hundred operations read.
            kinds = [one.kind for one in taken]
            for begin in range(0, self.blocks, 100):
                self.assertEqual(kinds[begin:begin + 100].count("read"), 50, seed)
            half = self.blocks // 2
            self.assert_uniform(places[:half], f"{seed}: the first half")
            self.assert_uniform(places[half // 2:half + half // 2], f"{seed}: the middle")
            for kind in ("read", "write"):
                self.assert_uniform([place for place, one in zip(places, kinds) if one == kind], f"{seed}: {kind}s")
            # A block says nothing about the one after it: pairs fall into each of 16 x 16 cells equally often.
            pairs = collections.Counter((one * 16 // self.blocks, after * 16 // self.blocks) for one, after in
                                        zip(places[::2], places[1::2]))
            found = file_calls.chi_squared((pairs[(row, column)] for row in range(16) for column in range(16)), half / 256)
            self.assertLess(found, file_calls.chi_squared_limit(256), f"{seed}: pairs")
            orders.append(places)
        self.assertNotEqual(*orders, "each thread has an order of its own")


if __name__ == "__main__":
    harness.main()
