"""Runs on files that exist, and runs that create files: who may open what, how hosts share it, and what is kept."""

import os
import signal

import file_calls
import harness
import path_files
from path_files import BLOCK_BYTES, KIB, SIZE, contents, rewritten, state

BLOCKS = SIZE // BLOCK_BYTES


class Targets(path_files.PathsTest):
    """Files that others made, with --allow-target."""

    def target_agent(self, name="alpha", *more, **options):
        return self.agent(name, more=["--allow-target", self.dir, *more], **options)

    def test_a_file_is_read_and_stays_as_it_is(self):
        path = self.make("data")
        before = state(path)
        result = self.run_paths(path, "--read-percent", "100", "--access", "random", hosts=[self.target_agent()])
        self.assertEqual(self.operations_of(result), BLOCKS)
        self.assertEqual(state(path), before)
        self.assertEqual(os.listdir(self.dir), ["data"], "no directory of a run")

    def test_a_file_is_overwritten_where_agent_and_controller_say_so_and_remains_the_same_file(self):
        path = self.make("data")
        path.chmod(0o640)
        before, was = path.stat(), contents(path)
        result = self.run_paths(path, "--overwrite", hosts=[self.target_agent()])
        after = path.stat()
        self.assertEqual((after.st_ino, after.st_size, after.st_mode, after.st_uid), (before.st_ino, SIZE, before.st_mode, before.st_uid))
        self.assertEqual(rewritten(was, contents(path)), list(range(BLOCKS)), "every block was written")
        self.assertEqual(self.operations_of(result), BLOCKS)
        self.assertEqual(os.listdir(self.dir), ["data"])

    def test_without_overwrite_nothing_is_written_and_the_message_names_it(self):
        path = self.make("data")
        before = state(path)
        agent = self.target_agent()
        for percent in ("0", "99"):
            self.refused(path, rf"alpha.*: {path} would be overwritten: pass --overwrite", "--read-percent", percent, hosts=[agent])
        self.assertEqual(state(path), before)
        self.assertNotIn("session of", agent.err)

    def test_an_agent_that_was_started_without_permissions_opens_no_file_of_others(self):
        path = self.make("data")
        before = state(path)
        agent = self.agent("alpha")
        for use in (("--read-percent", "100"), ("--overwrite",)):
            self.refused(path, r"alpha.*: .*--allow-target", *use, hosts=[agent])
        self.assertEqual(state(path), before)
        self.assertNotIn("session of", agent.err)

    def test_one_file_may_be_allowed_alone(self):
        one, other = self.make("one"), self.make("other")
        agent = self.agent("alpha", more=["--allow-target", one])
        self.run_paths(one, "--read-percent", "100", hosts=[agent])
        for path in (other, self.make("one.more"), self.make("sub/one")):
            self.refused(path, rf"alpha.*{path}.*--allow-target", "--read-percent", "100", hosts=[agent])

    def test_targets_may_be_outside_the_roots(self):
        elsewhere = self.base / "elsewhere"
        elsewhere.mkdir()
        path = elsewhere / "data"
        path.write_bytes(os.urandom(SIZE))
        agent = self.agent("alpha", more=["--allow-target", elsewhere])
        self.run_paths(path, "--read-percent", "100", hosts=[agent])
        self.run_paths(path, "--overwrite", hosts=[agent])
        self.assertEqual(os.listdir(elsewhere), ["data"])
        # A target is not a place for a run's own files.
        refused = self.run_plan("--hosts", agent.address, dir=elsewhere, code=2)
        self.assertIn("outside the directories of the agent's --root", refused.err)

    def test_a_file_that_does_not_exist_is_named(self):
        self.refused(self.dir / "missing", rf"alpha.*: {self.dir}/missing does not exist", "--read-percent", "100",
                     hosts=[self.target_agent()])
        self.assert_nothing_left()

    def test_a_file_shorter_than_the_file_size_is_named_with_both(self):
        path = self.make("data", 100 * KIB)
        before = state(path)
        agent = self.target_agent()
        for use in (("--read-percent", "100"), ("--overwrite",)):
            self.refused(path, rf"alpha.*{path} has 102,400 bytes, fewer than --file-size 256k", "--file-size", "256k", *use, hosts=[agent])
        self.assertEqual(state(path), before)

    def test_only_the_first_part_is_used_that_file_size_names(self):
        path = self.make("data")
        was = contents(path)
        self.run_paths(path, "--overwrite", "--file-size", "16k", hosts=[self.target_agent()])
        self.assertEqual(rewritten(was, contents(path)), [0, 1, 2, 3])

    def test_what_is_left_behind_the_last_whole_block_is_not_touched(self):
        path = self.make("data", 10 * BLOCK_BYTES + 1000)
        was = contents(path)
        self.run_paths(path, "--overwrite", hosts=[self.target_agent()])
        self.assertEqual(rewritten(was, contents(path)), list(range(10)))

    def test_a_file_too_small_for_its_threads_is_named(self):
        path = self.make("data", 3 * BLOCK_BYTES)
        self.refused(path, rf"alpha.*{path}.*12k.*4 threads", "--read-percent", "100", "--qm", "4", hosts=[self.target_agent()])
        self.refused(path, rf"beta.*{path}.*16k", "--read-percent", "100", "--bsize", "16k", hosts=[self.target_agent("beta")])

    def test_a_dry_run_shows_what_would_become_of_the_files(self):
        paths = [self.make("one"), self.make("two", 2 * SIZE)]
        before = [state(path) for path in paths]
        agent = self.target_agent()
        for use, fate in ((("--overwrite",), "will be overwritten"), (("--read-percent", "100"), "will be read")):
            result = self.run_paths(paths, "--qm", "2", "--dry-run", *use, hosts=[agent])
            for path, size in zip(paths, ("64 KiB", "128 KiB")):
                self.assertRegex(result.out, rf"(?m)alpha +{path} +{size} +file +{fate}$")
            self.assertFalse(result.results.exists())
        refused = self.run_paths(paths, "--qm", "2", "--dry-run", hosts=[agent], code=2)
        self.assertEqual(len(refused.errors), 2, refused)
        self.assertIn("--overwrite", refused.err)
        self.assertEqual([state(path) for path in paths], before)
        self.assertNotIn("session of", agent.err)

    def test_threads_divide_files_that_exist(self):
        paths = [self.make("one"), self.make("two")]
        was = [contents(path) for path in paths]
        report = self.run_paths(paths, "--qm", "5", "--overwrite", hosts=[self.target_agent()]).report
        self.assertEqual([rewritten(old, contents(path)) for old, path in zip(was, paths)], [list(range(BLOCKS))] * 2)
        counts = [scope["latency"]["count"] for scope in harness.scopes(report["steps"][0], "qm")]
        self.assertEqual(counts, [end - begin for _, begin, end in file_calls.ranges(5, 2, BLOCKS)])

    def test_files_are_opened_for_reading_alone_where_they_are_only_read(self):
        file_calls.need_strace()
        path = self.make("data")
        for number, (use, mode, others) in enumerate(((("--read-percent", "100"), "O_RDONLY", {"O_RDWR", "O_WRONLY"}),
                                                      (("--overwrite", "--read-percent", "50"), "O_RDWR", {"O_WRONLY"}))):
            trace = file_calls.Trace(self.base / f"strace-{number}")
            agent = self.agent("alpha", more=["--allow-target", self.dir], wrap=trace.options)
            self.run_paths(path, *use, hosts=[agent])
            self.stop_agents(agent)
            flags = set().union(*(one for calls in trace.openings(path).values() for one in calls))
            self.assertIn(mode, flags)
            self.assertEqual(flags & {*others, "O_CREAT", "O_TRUNC"}, set())

    def test_an_agent_that_the_controller_starts_has_the_permissions_of_the_plans_user(self):
        path = self.make("data")
        before = state(path)
        self.run_paths(path, "--read-percent", "100")
        refused = self.run_paths(path, code=2)
        self.assertIn(f"{path} would be overwritten: pass --overwrite", refused.err)
        self.assertNotIn("--allow-target", refused.err)
        self.assertEqual(state(path), before)
        was = contents(path)
        self.run_paths(path, "--overwrite")
        self.assertEqual(rewritten(was, contents(path)), list(range(BLOCKS)))

    def test_a_target_of_an_agent_may_be_relative_to_where_it_starts_and_not_empty(self):
        path = self.make("data")
        agent = self.agent("alpha", more=["--allow-target", os.path.relpath(path, self.base)])
        self.run_paths(path, "--read-percent", "100", hosts=[agent])
        process = self.start(harness.Process, [harness.binary("plimsoll-agent"), "--root", self.dir, "--allow-target", ""])
        self.assertEqual(process.finish(), 2, process.err)
        (line,) = process.err.splitlines()
        self.assertIn("--allow-target", line)

    def test_an_interrupted_run_leaves_files_where_they_are(self):
        path = self.make("data")
        before = state(path)
        process = self.start_paths(path, "--read-percent", "100", "--delay", "1ms", "--duration", "60", "--warmup", "0",
                                   hosts=[self.target_agent()])
        self.await_running(process)
        process.signal(signal.SIGINT)
        self.result_of(process, process.results, code=3)
        self.assertEqual(state(path), before)


class Hosts(path_files.PathsTest):
    """Several hosts on the same files."""

    def agents(self, *mores, wraps=((), ())):
        return [self.agent(name, more=more, wrap=wrap) for name, more, wrap in zip(("alpha", "beta"), mores, wraps)]

    def test_where_one_host_refuses_no_host_writes_a_byte(self):
        allowed, foreign = self.make("allowed"), self.make("foreign")
        before = [state(path) for path in (allowed, foreign)]
        agents = self.agents(["--allow-target", self.dir], ["--allow-target", allowed])
        result = self.run_paths([allowed, foreign], "--qm", "2", "--overwrite", hosts=agents, code=2)
        (line,) = result.errors
        self.assertRegex(line, rf"^plimsoll: beta.*: .*{foreign}.*--allow-target")
        self.assertEqual([state(path) for path in (allowed, foreign)], before)
        for agent in agents:
            self.assertNotIn("session of", agent.err)

    def test_ranges_divide_the_files_among_the_threads_of_all_hosts(self):
        file_calls.need_strace()
        path = self.make("data")
        was = contents(path)
        traces = [file_calls.Trace(self.base / f"strace-{name}") for name in ("alpha", "beta")]
        agents = self.agents(*[["--allow-target", self.dir]] * 2, wraps=[trace.options for trace in traces])
        # With O_DIRECT each thread would first read a page, to see whether that works.
        result = self.run_paths(path, "--share", "ranges", "--qm", "3", "--overwrite", "--direct", "off", hosts=agents)
        self.stop_agents(*agents)
        self.assertEqual(rewritten(was, contents(path)), list(range(BLOCKS)))
        self.assertEqual(result.report["hosts"][0]["workload"]["share"], "ranges")
        self.assertRegex(result.out, r"(?m)^  Share +--share +ranges: all hosts share the files")
        self.assertRegex(result.out, r"(?m)^  File size +as found$")
        taken = []
        for host, trace in enumerate(traces):
            for number, (_, begin, end) in enumerate(file_calls.ranges(3, 1, BLOCKS, hosts=2, host=host), start=1):
                blocks = [one.offset // BLOCK_BYTES for one in trace.transfers(number, BLOCK_BYTES) if one.path == str(path)]
                self.assertEqual(blocks, list(range(begin, end)))
                taken += blocks
        self.assertEqual(sorted(taken), list(range(BLOCKS)), "disjoint, and all of the file")
        file_calls.check_exports(self, result, dict(zip(("alpha", "beta"), traces)), BLOCK_BYTES)

    def test_all_gives_every_host_all_of_the_files(self):
        path = self.make("data")
        agents = self.agents(*[["--allow-target", self.dir]] * 2)
        report = self.run_paths(path, "--share", "all", "--qm", "3", "--read-percent", "100", hosts=agents).report
        self.assertEqual([scope["latency"]["count"] for scope in harness.scopes(report["steps"][0], "host")], [BLOCKS, BLOCKS])
        self.assertEqual(report["hosts"][1]["workload"]["share"], "all")

    def test_ranges_too_small_for_the_threads_of_all_hosts_are_refused(self):
        path = self.make("data", 5 * BLOCK_BYTES)
        agents = self.agents(*[["--allow-target", self.dir]] * 2)
        result = self.run_paths(path, "--share", "ranges", "--qm", "3", "--read-percent", "100", hosts=agents, code=2)
        self.assertRegex(result.err, rf"{path}.*6 threads on all hosts")
        self.run_paths(path, "--share", "all", "--qm", "3", "--read-percent", "100", hosts=agents)

    def test_mixed_reads_and_writes_of_two_hosts_stay_in_their_ranges(self):
        file_calls.need_strace()
        paths = [self.make(name) for name in ("one", "two")]
        traces = [file_calls.Trace(self.base / f"strace-{name}") for name in ("alpha", "beta")]
        agents = self.agents(*[["--allow-target", self.dir]] * 2, wraps=[trace.options for trace in traces])
        result = self.run_paths(paths, "--share", "ranges", "--qm", "4", "--overwrite", "--read-percent", "50", "--access", "random",
                                "--delay", "1ms", "--duration", "500ms", "--warmup", "0", "--direct", "off", hosts=agents, code=(0, 3))
        self.stop_agents(*agents)
        users, kinds = {}, set()
        for host, trace in enumerate(traces):
            for number, (file, begin, end) in enumerate(file_calls.ranges(4, 2, BLOCKS, hosts=2, host=host), start=1):
                for one in trace.transfers(number, BLOCK_BYTES):
                    self.assertEqual(one.path, str(paths[file]))
                    self.assertTrue(begin <= one.offset // BLOCK_BYTES < end, one)
                    kinds.add(one.kind)
                    users.setdefault((one.path, one.offset), set()).add((host, number))
        self.assertEqual(kinds, {"read", "write"})
        self.assertEqual({len(who) for who in users.values()}, {1}, "each block has one user")
        file_calls.check_exports(self, result, dict(zip(("alpha", "beta"), traces)), BLOCK_BYTES)


class Created(path_files.PathsTest):
    """Files that --create leaves, with --allow-kept."""

    def kept_agent(self, name="alpha", *more):
        return self.agent(name, more=["--allow-kept", *more])

    def test_created_files_are_filled_once_and_kept_and_may_then_be_read_and_written(self):
        paths = [self.dir / name for name in ("one", "two")]
        agent = self.kept_agent()
        result = self.create(agent, paths, "--qm", "2")
        self.assertEqual(self.operations_of(result), 2 * BLOCKS)
        self.assertEqual(result.report["run"]["state"], "complete")
        self.assertIn(f"Files created and kept: {paths[0]}, {paths[1]} (2 files)", result.out)
        self.assertEqual(sorted(os.listdir(self.dir)), [".plimsoll-kept", "one", "two"])
        for path in paths:
            self.assertEqual(path.stat().st_size, SIZE)
            self.assertEqual(rewritten(bytes(SIZE), contents(path)), list(range(BLOCKS)), "every block was written")
        before = [state(path) for path in paths]
        result = self.run_paths(paths, "--qm", "2", "--read-percent", "100", "--access", "random", hosts=[agent])
        self.assertEqual(self.operations_of(result), 2 * BLOCKS)
        self.assertEqual([state(path) for path in paths], before)
        # They are the agent's own: no other permission is needed to write to them.
        self.run_paths(paths, "--qm", "2", "--read-percent", "50", "--access", "random", hosts=[agent])
        self.assertNotEqual([state(path) for path in paths], before)
        # Neither a new agent nor clean removes them.
        self.kept_agent("beta")
        self.plimsoll("clean", "--hosts", agent.address, "--dir", self.dir, "--yes")
        self.assertTrue(all(path.exists() for path in paths))

    def test_created_again_a_file_is_emptied_and_used_once_more(self):
        path = self.dir / "kept"
        agent = self.kept_agent()
        self.create(agent, path)
        was = state(path)
        result = self.create(agent, path, "--access", "random", "--qm", "4")
        self.assertEqual(self.operations_of(result), BLOCKS)
        self.assertEqual(path.stat().st_ino, was[2])
        self.assertNotEqual(state(path), was)
        dry = self.run_paths(path, "--create", "--file-size", "64k", "--dry-run", hosts=[agent])
        self.assertRegex(dry.out, rf"{path} .* will be emptied and created again")
        smaller = self.run_paths(path, "--create", "--file-size", "16k", hosts=[agent])
        self.assertEqual((self.operations_of(smaller), path.stat().st_size), (4, 16 * KIB))

    def test_random_creation_writes_each_block_once_and_not_in_order(self):
        file_calls.need_strace()
        trace = file_calls.Trace(self.base / "strace")
        agent = self.agent("alpha", more=["--allow-kept"], wrap=trace.options)
        path = self.dir / "kept"
        self.create(agent, path, "--access", "random", "--direct", "off")
        self.stop_agents(agent)
        offsets = [one.offset for one in trace.transfers(1, BLOCK_BYTES)]
        self.assertEqual(sorted(offsets), list(range(0, SIZE, BLOCK_BYTES)))
        self.assertNotEqual(offsets, sorted(offsets))
        self.assertEqual({one.kind for one in trace.transfers(1)}, {"write"}, "nothing but the measured writes fills it")
        self.assertEqual(len(trace.transfers(1)), BLOCKS)

    def test_a_pass_that_is_cut_off_names_the_files_that_it_did_not_fill(self):
        paths = [self.dir / name for name in ("one", "two", "three")]
        # The first file has two threads, of which each pauses for 1.6 s; the other ones pause for 3 s at least.
        result = self.create(self.kept_agent(), paths, "--qm", "4", "--delay", "200ms", "--duration", "2800ms", code=3)
        (note,) = [note for note in result.report["notes"] if "not written full" in note]
        part = r"\([1-9]\d* KiB of 64 KiB\)"
        self.assertRegex(note, rf"^alpha: created, but not written full: {paths[1]} {part}, {paths[2]} {part};")
        self.assertNotIn(str(paths[0]), note, "two threads fill it in time")
        kept = rf"Files created and kept: {paths[0]} \.\.\. {paths[2]} \(3 files\); not all are full"
        self.assertRegex(" ".join(result.out.split()), kept)
        self.assertIn("not written full", result.out)

    def test_an_agent_without_the_permission_creates_nothing(self):
        for name, more in (("alpha", []), ("beta", ["--allow-target", self.dir])):
            agent = self.agent(name, more=more)
            self.refused(self.dir / "kept", rf"{name}.*--allow-kept", "--create", "--file-size", "64k", hosts=[agent])
            self.refused(self.dir / "kept", rf"{name}.*--allow-kept", "--create", "--file-size", "64k", "--overwrite", hosts=[agent])
        self.assert_nothing_left()

    def test_an_agent_that_is_started_again_knows_its_files_and_others_do_not(self):
        path = self.dir / "kept"
        first = self.kept_agent()
        self.create(first, path)
        before = state(path)
        self.stop_agents(first)
        self.run_paths(path, "--read-percent", "100", hosts=[self.kept_agent()])
        for name, more in (("gamma", ["--allow-kept"]), ("delta", [])):
            agent = self.agent(name, more=more)
            for use in (("--read-percent", "100"), (), ("--overwrite",)):
                self.refused(path, rf"{name}.*--allow-target", *use, hosts=[agent])
        self.assertEqual(state(path), before)

    def test_files_are_created_only_below_the_roots_and_in_directories_that_exist(self):
        elsewhere = self.base / "elsewhere"
        elsewhere.mkdir()
        agent = self.kept_agent("alpha", "--allow-target", elsewhere)
        self.refused(elsewhere / "kept", r"alpha.*outside the directories of the agent's --root", "--create", "--file-size", "64k", hosts=[agent])
        self.refused(self.dir / "missing" / "kept", rf"alpha.*{self.dir}/missing.*does not exist", "--create", "--file-size", "64k",
                     hosts=[agent])
        self.assertEqual(os.listdir(elsewhere), [])
        self.assert_nothing_left()

    def test_space_is_checked_before_anything_is_created(self):
        # No file system has so much, whatever the size of the file.
        result = self.run_paths(self.dir / "kept", "--create", "--file-size", "64k", "--min-free", "900t", hosts=[self.kept_agent()],
                                code=(2, 4))
        self.assertRegex(result.err, r"free \(--min-free\)")
        self.assert_nothing_left()

    def test_caps_of_the_agent_count_created_files(self):
        agent = self.kept_agent("alpha", "--max-bytes", "128k", "--max-files", "2")
        paths = [self.dir / name for name in ("one", "two", "three")]
        self.refused(paths, r"--max-(bytes|files)", "--create", "--file-size", "64k", "--qm", "3", hosts=[agent])
        self.create(agent, paths[:2], "--qm", "2")
        # Files that exist are no demand.
        self.run_paths(paths[:2], "--qm", "2", "--read-percent", "100", hosts=[agent])

    def test_a_creation_that_its_limit_ends_is_inconclusive(self):
        agent = self.kept_agent()
        result = self.run_paths(self.dir / "kept", "--create", "--file-size", "64k", "--delay", "100ms", "--duration", "300ms", hosts=[agent],
                                code=3)
        self.assertIn("the pass was not finished within --duration", " ".join(result.out.split()))
        self.assertEqual(result.report["verdict"]["outcome"], "inconclusive")
        self.assertTrue(0 < self.operations_of(result) < BLOCKS, result)
        # The unfinished file belongs to this agent, which may create it again.
        self.create(agent, self.dir / "kept")

    def test_an_interrupted_creation_can_be_repeated(self):
        agent = self.kept_agent()
        process = self.start_paths(self.dir / "kept", "--create", "--file-size", "64k", "--delay", "1s", hosts=[agent])
        self.await_running(process)
        process.signal(signal.SIGINT)
        self.result_of(process, process.results, code=3)
        self.create(agent, self.dir / "kept")

    def test_the_agent_that_the_controller_starts_keeps_files_for_the_next_one(self):
        path = self.dir / "kept"
        self.create(None, path)
        self.run_paths(path, "--read-percent", "100")
        was = state(path)
        self.run_paths(path)
        self.assertNotEqual(state(path), was)

    def test_a_killed_agent_leaves_what_it_created(self):
        agent = self.kept_agent()
        path = self.dir / "kept"
        self.create(agent, path)
        before = state(path)
        process = self.start_paths(path, "--read-percent", "100", "--delay", "1ms", "--duration", "60", "--warmup", "0", hosts=[agent])
        self.await_running(process)
        agent.signal(signal.SIGKILL)
        self.result_of(process, process.results, code=3)
        self.assertEqual(state(path), before)
        self.run_paths(path, "--read-percent", "100", hosts=[self.kept_agent()])


class Devices(path_files.PathsTest):
    """Block devices that are empty."""

    def setUp(self):
        super().setUp()
        self.device = path_files.loop_device(self)

    def target_agent(self, name="alpha", target=None):
        return self.agent(name, more=["--allow-target", target or self.device])

    def test_an_empty_device_is_read_and_overwritten_where_both_sides_say_so(self):
        agent = self.target_agent()
        before = state(self.device)
        result = self.run_paths(self.device, "--read-percent", "100", "--bsize", "64k", hosts=[agent])
        self.assertEqual(self.operations_of(result), 32)
        self.refused(self.device, rf"alpha.*{self.device} would be overwritten: pass --overwrite", hosts=[agent])
        self.assertEqual(state(self.device), before)
        dry = self.run_paths(self.device, "--overwrite", "--dry-run", hosts=[agent])
        self.assertRegex(dry.out, rf"alpha +{self.device} +(2 MiB|2,048 KiB) +block device +will be overwritten")
        self.assertEqual(state(self.device), before)
        self.run_paths(self.device, "--overwrite", "--bsize", "64k", "--qm", "3", hosts=[agent])
        self.assertEqual(rewritten(bytes(2 << 20), contents(self.device), 64 * KIB), list(range(32)))
        # The blocks of a run are not taken for a file system.
        self.run_paths(self.device, "--overwrite", "--bsize", "64k", hosts=[agent])

    def test_a_part_of_a_device_is_used_and_a_larger_one_than_it_has_is_refused(self):
        agent = self.target_agent()
        self.run_paths(self.device, "--overwrite", "--file-size", "128k", "--bsize", "64k", hosts=[agent])
        self.assertEqual(rewritten(bytes(2 << 20), contents(self.device), 64 * KIB), [0, 1])
        self.refused(self.device, rf"alpha.*{self.device} has 2,097,152 bytes, fewer than --file-size 4m", "--file-size", "4m", "--overwrite",
                     hosts=[agent])

    def test_a_link_below_dev_to_the_device_is_the_device(self):
        link = f"/dev/plimsoll-test-{os.getpid()}"
        os.symlink(self.device, link)
        self.addCleanup(os.unlink, link)
        agent = self.target_agent(target=link)
        self.run_paths(link, "--read-percent", "100", "--bsize", "64k", hosts=[agent])
        self.run_paths(link, "--overwrite", "--bsize", "64k", hosts=[agent])
        self.assertEqual(len(rewritten(bytes(2 << 20), contents(self.device), 64 * KIB)), 32)
        # Outside of /dev, a link to a device is refused like any link.
        outside = self.dir / "link"
        outside.symlink_to(self.device)
        was = state(self.device)
        self.refused(outside, r"beta.*link", "--overwrite", hosts=[self.agent("beta", more=["--allow-target", self.dir, "--allow-target",
                                                                                           self.device])])
        self.assertEqual(state(self.device), was)

    def test_the_controllers_own_agent_overwrites_a_device_where_the_plan_says_so(self):
        before = state(self.device)
        refused = self.run_paths(self.device, code=2)
        self.assertIn(f"{self.device} would be overwritten: pass --overwrite", refused.err)
        self.assertEqual(state(self.device), before)
        self.run_paths(self.device, "--overwrite", "--bsize", "64k")
        self.assertNotEqual(state(self.device), before)


if __name__ == "__main__":
    harness.main()
