"""Reports of runs on named files: one pass, shares of reads, pauses, caps; and plans that are refused."""

import shutil

import harness
import path_files

KIB = 1 << 10


class Runs(harness.PlimsollTest):

    in_memory = True

    def run_files(self, *arguments, code=0, files="A", dir=None, size="256k", wrap=None):
        """Runs on these files without the defaults that a run of a set time has."""
        self._results += 1
        out = self.base / f"results-{self._results}"
        size = ("--file-size", size) if size else ()
        process = self.start_plimsoll("run", "--files", files, "--dir", dir or self.dir, "--out", out, "--full", *size, *arguments,
                                      wrap=harness.ahead() if wrap is None else wrap)
        return self.finished(process, out, code, 240)

    def rows(self, result, *arguments):
        """The lines of the export, without their heading: lists of text, and the columns' places by name."""
        lines = self.plimsoll("export", result.results, "--format", "csv", *arguments).out.splitlines()
        places = {name: place for place, name in enumerate(lines[0].split(","))}
        return [line.split(",") for line in lines[1:]], places


class OnePass(Runs):

    def check_pass(self, result, blocks, outcome, code):
        report = result.report
        self.assertEqual((report["run"]["state"], report["verdict"]["outcome"], result.code), ("complete", outcome, code), result)
        (step,) = report["steps"]
        scope = harness.cluster(step)
        reads = harness.operations(step).get("read")
        done = scope["writes"] + (harness.cluster(reads)["throughput"]["count"] if reads else 0)
        self.assertEqual(done, blocks, "each block once")
        self.assertEqual(scope["closing"]["writes"], 0, "no operation ended after the pass")
        self.assertEqual(step["warmup_ns"], 0)
        self.assertLess(scope["measured_ns"], int(report["plan"]["duration_ns"]), "the duration is a limit")
        self.assertEqual(scope["measured_ns"], max(one["measured_ns"] for one in harness.scopes(step, "host")))
        self.assertEqual(scope["measured_ns"], step["duration_ns"])
        self.assertGreater(scope["measured_ns"], 0)
        self.assertGreater(scope["iops"], 0)
        self.assertEqual(scope["bytes"] + (harness.cluster(reads)["throughput"]["bytes"] if reads else 0),
                         blocks * step["block_size_bytes"], "as many bytes as the files have")
        self.assertEqual(step["cut_short"], "")
        self.assert_nothing_left()
        return step

    def test_one_pass_takes_each_block_once_and_the_run_is_complete_long_before_its_limit(self):
        result = self.run_files("--one-pass", "--qm", "3", "--bsize", "4k", "--delay", "1ms")
        step = self.check_pass(result, 64, "done", 0)
        self.assertEqual(int(result.report["plan"]["duration_ns"]), 86_400_000_000_000, "the limit is a day")
        self.assertEqual(result.report["verdict"]["reasons"], [])
        self.assertEqual([scope["latency"]["count"] for scope in harness.scopes(step, "qm")], [21, 21, 22])
        rows, places = self.rows(result)
        self.assertEqual(len(rows), 64)
        self.assertEqual({row[places["bytes"]] for row in rows}, {"4096"})
        text = (result.results / "report.txt").read_text()
        self.assertRegex(text, r"(?m)^  Access +--one-pass +one pass, each block once$")
        self.assertRegex(text, r"one in flight per thread")

    def test_a_pass_that_keeps_its_criteria_passes(self):
        result = self.run_files("--one-pass", "--bsize", "4k", "--delay", "1ms", "--require", "avg<10s", code=(0, 3))
        # Not every file system takes O_DIRECT, and a page cache passes no criterion.
        direct = path_files.takes_direct(self.dir)
        self.assertEqual(result.report["hosts"][0]["mount"]["direct"], direct)
        self.check_pass(result, 64, "pass" if direct else "inconclusive", 0 if direct else 3)

    def test_reads_and_writes_of_a_random_pass_are_as_many_as_the_blocks(self):
        result = self.run_files("--one-pass", "--access", "random", "--read-percent", "30", "--bsize", "4k", "--delay", "200us", "--file-size",
                                str(400 * 4 * KIB), "--qm", "2", size=None)
        step = self.check_pass(result, 400, "done", 0)
        self.assertEqual(harness.cluster(harness.operations(step)["read"])["throughput"]["count"], 120)

    def test_each_block_size_is_a_pass_of_its_own(self):
        report = self.run_files("--one-pass", "--bsize", "4k,16k", "--repeat", "2", "--delay", "500us").report
        self.assertEqual([harness.cluster(step)["writes"] for step in report["steps"]], [64, 16, 64, 16])
        self.assertEqual({harness.cluster(step)["bytes"] for step in report["steps"]}, {256 * KIB}, "all of the file in each pass")
        self.assertEqual(report["verdict"]["outcome"], "done")

    def test_of_two_hosts_the_slower_one_makes_the_time_and_no_host_ended_early(self):
        plan = self.base / "plan.yaml"
        agents = [self.agent(name) for name in ("alpha", "beta")]
        plan.write_text(f"hosts:\n  - address: {agents[0].address}\n  - address: {agents[1].address}\n    workload: {{delay: 20ms}}\n"
                        "workload: {files: [A], one_pass: true, file_size: 256k}\nblock_size: 8k\n")
        result = self.run_files(plan, files="A", code=0)
        (step,) = result.report["steps"]
        alpha, beta = harness.scopes(step, "host")
        self.assertEqual((alpha["writes"], beta["writes"]), (32, 32))
        self.assertGreater(beta["measured_ns"], 31 * 20_000_000)
        self.assertEqual(harness.cluster(step)["measured_ns"], max(alpha["measured_ns"], beta["measured_ns"]))
        self.assertEqual(result.report["verdict"]["outcome"], "done")
        self.assertEqual(step["cut_short"], "")
        for host in result.report["hosts"]:
            self.assertNotIn("lost", host)

    def test_a_pass_that_its_limit_ends_is_inconclusive_and_says_so(self):
        result = self.run_files("--one-pass", "--bsize", "4k", "--delay", "100ms", "--duration", "500ms", code=3)
        report = result.report
        self.assertEqual(report["verdict"]["outcome"], "inconclusive")
        self.assertIn("the pass was not finished within --duration", " ".join(result.out.split()))
        self.assertIn("the pass was not finished within --duration", str(report["verdict"]["reasons"]))
        (step,) = report["steps"]
        self.assertIn("the pass was not finished within --duration", step["cut_short"])
        self.assertTrue(0 < harness.cluster(step)["writes"] < 64, step)
        self.assert_nothing_left()

    def test_the_journal_gives_the_same_report_again(self):
        result = self.run_files("--one-pass", "--qm", "2", "--bsize", "4k", "--read-percent", "50", "--access", "random", "--delay", "500us")
        copy = self.base / "copy"
        copy.mkdir()
        shutil.copy(result.results / "journal", copy)
        self.plimsoll("report", copy)
        for name in ("report.csv", "report.html", "report.json", "report.txt", "timeline.csv"):
            self.assertEqual((copy / name).read_bytes(), (result.results / name).read_bytes(), name)


class Shares(Runs):

    def test_of_a_million_operations_the_share_that_reads_is_exact(self):
        # Two threads with 50,000 blocks each, ten passes.
        percent, blocks, passes = 37, 100_000, 10
        result = self.run_files("--one-pass", "--access", "random", "--read-percent", percent, "--bsize", "512", "--file-size", 512 * blocks,
                                "--qm", "2", "--repeat", passes, "--sync", "none", "--direct", "off", size=None, code=(0, 3), wrap=())
        steps = result.report["steps"]
        self.assertEqual(len(steps), passes)
        reads = sum(harness.cluster(harness.operations(step)["read"])["latency"]["count"] for step in steps)
        writes = sum(harness.cluster(step)["latency"]["count"] for step in steps)
        self.assertEqual((reads + writes, reads), (passes * blocks, passes * blocks * percent // 100))
        # The export has the operations of each thread in their order.
        rows, places = self.rows(result, "--step", "1")
        self.assertEqual(len(rows), blocks)
        for qm in ("1", "2"):
            kinds = [row[places["operation"]] for row in rows if row[places["qm"]] == qm]
            self.assertEqual({kinds[begin:begin + 100].count("read") for begin in range(0, len(kinds), 100)}, {percent})


class Pause(Runs):

    def test_each_operation_is_followed_by_its_share_of_the_mean_so_far_of_its_kind(self):
        percent = 150
        result = self.run_files("--pause-percent", percent, "--read-percent", "50", "--access", "random", "--bsize", "1m", "--file-size", "16m",
                                "--direct", "off", "--duration", "1", "--warmup", "0", size=None, code=(0, 3), wrap=())
        rows, places = self.rows(result)
        self.assertGreater(len(rows), 10)
        sums, counts = {}, {}
        for row, after in zip(rows, rows[1:]):
            kind, latency_ns = row[places["operation"]], int(row[places["latency_ns"]])
            sums[kind] = sums.get(kind, 0) + latency_ns
            counts[kind] = counts.get(kind, 0) + 1
            idle_ns = int(after[places["timeline_ns"]]) - int(row[places["timeline_ns"]]) - latency_ns
            # Rounding, and clocks that differ by 0.05 %, are the rest.
            self.assertGreaterEqual(idle_ns, 0.99 * percent / 100 * sums[kind] / counts[kind] - 5_000, (row, after))
        self.assertEqual(set(sums), {"read", "write"})
        self.assertGreater(min(sums.values()), 0)
        self.assertEqual(result.report["hosts"][0]["workload"]["pause_percent"], percent)
        self.assertRegex(" ".join(result.out.split()), r"pause of 150 % of the mean latency after each")


class Plans(Runs):

    def test_a_rate_is_kept_by_threads_on_files(self):
        report = self.run_files("--qm", "2", "--rate", "100", "--read-percent", "50", "--access", "random", "--duration", "1", "--warmup", "0",
                                files="F...", code=(0, 3)).report
        scope = harness.cluster(report["steps"][0])
        self.assertEqual(scope["rate"]["asked_iops"], 200)
        reads = harness.cluster(harness.operations(report["steps"][0])["read"])
        self.assertGreater(min(scope["writes"], reads["throughput"]["count"]), 0)
        done = scope["writes"] + reads["throughput"]["count"]
        self.assertLessEqual(done, 202)
        # Each thread may have an operation in flight at the end, which is not in `done`.
        self.assertGreaterEqual(done + scope["rate"]["unserved"] + 2, 200)

    def test_the_names_of_a_list_file_are_those_of_the_plan(self):
        names = self.base / "names"
        names.write_text("one\ntwo\nthree...\n")
        result = self.run_plan("--files-from", names, "--qm", "2", "--delay", "1ms")
        self.assertEqual(result.report["hosts"][0]["workload"]["files"], ["one", "two", "three000", "three001"])
        self.assert_nothing_left()
        for text, expected in (("", "has no names"), ("one\n\ntwo\n", ":2: the line is empty"), ("x\n" * 100_000, "131")):
            with self.subTest(text[:10]):
                names.write_text(text)
                (line,) = self.run_plan("--files-from", names, code=2).errors
                self.assertIn(str(names), line)
                self.assertIn(expected, line)
        both = self.run_plan("--files-from", names, "--files", "A", code=2)
        self.assertRegex(both.err, r"--files-from.*--files|--files.*--files-from")
        missing = self.run_plan("--files-from", self.base / "missing", code=2)
        self.assertIn(f"{self.base}/missing", missing.err)

    def test_threads_and_files_count_for_the_caps_of_an_agent(self):
        agent = self.agent("alpha", more=["--max-writers", "3", "--max-files", "2", "--max-bytes", "1m"])
        for arguments, words in (
            (("--files", "A", "--qm", "4"), ("--max-writers is 3, the plan asks for 4", "--qm")),
            (("--files", "A,B,C", "--qm", "3"), ("--max-files is 2", "3 files", "--files")),
            (("--files", "A,B", "--qm", "2", "--file-size", "1m"), ("--max-bytes is 1m", "2,097,152 bytes", "--files or --file-size")),
        ):
            with self.subTest(arguments):
                (line,) = self.run_plan("--hosts", agent.address, *arguments, code=2).errors
                for word in words:
                    self.assertIn(word, line)
                self.assertNotIn("extents", line)
        self.run_plan("--hosts", agent.address, "--files", "A,B,C", "--qm", "2", "--delay", "1ms")
        self.assert_nothing_left()

    def test_the_configuration_names_files_and_threads(self):
        result = self.run_plan("--files", "F...", "--qm", "5", "--file-size", "64k", "--delay", "1ms", "--access", "random")
        text = (result.results / "report.txt").read_text()
        self.assertRegex(text, r"(?m)^  Files +--files +F000 \.\.\. F004 \(5 files\)$")
        self.assertRegex(text, r"(?m)^Run .*, 1 host x 5 threads, Plimsoll")
        self.assertRegex(text, r"(?m)^  Threads +--qm +5 per host; qm1 is thread 1$")
        self.assertRegex(text, r"(?m)^  File size +64 KiB \(--file-size 64k\)$")
        workload = result.report["hosts"][0]["workload"]
        self.assertEqual(workload["files"], [f"F{number:03}" for number in range(5)])
        self.assertNotIn("num_files", workload)
        self.assertNotIn("file_prefix", workload)

    def test_a_dry_run_makes_nothing(self):
        result = self.run_plan("--files", "A,B", "--qm", "2", "--dry-run")
        self.assertIn("512 KiB", result.out)
        self.assertFalse(result.results.exists())
        self.assert_nothing_left()

    def test_what_a_plan_may_not_ask_for_is_one_line_that_names_the_options(self):
        path = str(self.base / "file")
        for arguments, words in (
            (("--files", "a/b"), ("--files", "'a/b'", "begin it with '/'")),
            (("--files", "./a"), ("--files", "'./a'")),
            (("--files", ".a"), ("--files", "plain name")),
            (("--files", "A,A"), ("--files", "listed twice")),
            (("--files", "A,,B"), ("--files", "empty")),
            (("--files", f"A,{path}"), ("--files", "mixed")),
            (("--files", f"{path}/../file"), ("--files", "'..'")),
            (("--files", f"{path}/"), ("--files", "directory")),
            (("--files", "F...,G...", "--qm", "4096"), ("--files", "4096")),
            (("--files", "A", "--qm", "4097"), ("--qm", "4096")),
            (("--files", "A", "--qm", "17", "--bsize", "16k"), ("--file-size", "A of 256k", "17 threads", "--qm")),
            (("--files", "A", "--file-size", "4k", "--bsize", "8k"), ("--file-size", "4k", "8k")),
            (("--files", "A", "--num-files", "3"), ("--num-files", "leave it out")),
            (("--files", "A", "--file-prefix", "L"), ("--file-prefix", "leave it out")),
            (("--files", "A", "--share", "ranges"), ("--share", "absolute paths")),
            (("--files", "A", "--share", "all"), ("--share", "absolute paths")),
            (("--files", "A", "--create"), ("--create", "absolute paths")),
            (("--files", "A", "--overwrite"), ("--overwrite", "leave it out")),
            (("--files", "A", "--one-pass", "--rate", "10"), ("--rate", "--one-pass")),
            (("--files", "A", "--one-pass", "--warmup", "1s"), ("--warmup", "--one-pass")),
            (("--files", "A", "--one-pass", "--until-steady", "10m"), ("--until-steady", "--one-pass")),
            (("--files", "A", "--pause-percent", "80", "--delay", "1ms"), ("--pause-percent", "--delay")),
            (("--files", "A", "--pause-percent", "80", "--rate", "10"), ("--pause-percent", "--rate")),
            (("--files", "A", "--pause-percent", "10001"), ("--pause-percent", "10000")),
            (("--files", "A", "--bsize-mix", "4k=50,8k=50", "--access", "random"), ("--bsize-mix", "--access")),
            (("--share", "all"), ("--share", "--files")),
            (("--create",), ("--create", "--files")),
            (("--one-pass",), ("--one-pass", "--files")),
            (("--overwrite",), ("--overwrite", "--files")),
            (("--pause-percent", "80"), ("--pause-percent", "--files")),
        ):
            with self.subTest([argument[:40] for argument in arguments]):
                process = self.start_run(*arguments)
                self.assertEqual(process.finish(), 2, process.err)
                line, *more = process.err.splitlines()
                # A path, and --dir, which the harness adds, are each wrong by themselves.
                self.assertLessEqual(len(more), 1 if str(self.base) in line else 0, process.err)
                for word in words:
                    self.assertIn(word, line)
                self.assertFalse(process.results.exists())
        self.assert_nothing_left()

    def test_paths_need_no_directory_and_created_files_have_rules_of_their_own(self):
        path = str(self.dir / "file")
        for arguments, words in (
            (("--dir", self.base), ("--dir", "leave it out")),
            (("--create", "--read-percent", "10"), ("--create", "--read-percent")),
            (("--create", "--bsize", "4k,8k"), ("--bsize", "--create")),
            (("--create", "--repeat", "2"), ("--repeat", "--create")),
            (("--create", "--share", "all"), ("--create", "--share")),
            (("--create", "--share", "ranges"), ("--create", "--share")),
            (("--create", "--keep-files"), ("--keep-files", "--create")),
            (("--create", "--warmup", "2s"), ("--warmup", "--create")),
            (("--create", "--rate", "10"), ("--rate", "--create")),
        ):
            with self.subTest(arguments):
                process = self.start_plimsoll("run", "--files", path, *arguments)
                self.assertEqual(process.finish(), 2, process.err)
                (line,) = process.err.splitlines()
                for word in words:
                    self.assertIn(word, line)
        self.assert_nothing_left()

    def test_other_commands_than_run_and_limit_refuse_files(self):
        plan = self.base / "plan.yaml"
        for more in ("ha: {pairs: [node1+node2]}", "accept: {}\ncriteria: [p99<1s, max<1s]\nduration: 60s"):
            plan.write_text(f"workload: {{files: [A]}}\n{more}\n")
            (line,) = self.plimsoll("plan", "check", plan, code=2).errors
            self.assertIn("--files (workload.files)", line)
        for option in ("--one-pass", "--create"):
            result = self.plimsoll("limit", "--dir", self.dir, "--files", "A", option, "--require", "p99<5ms", code=2)
            self.assertIn(option, result.err)

    def test_a_plan_as_yaml_is_the_same_plan(self):
        plan = self.base / "plan.yaml"
        plan.write_text(f"workload:\n  dir: {self.dir}\n  files: [F...]\n  qm: 2\n  file_size: 64k\n  one_pass: true\nread: 50\n")
        self.assertIn("is valid", self.plimsoll("plan", "check", plan).out)
        result = self.run_plan(plan, "--duration", "60", "--delay", "500us", "--file-size", "64k")
        (step,) = result.report["steps"]
        self.assertEqual(sum(harness.cluster(one)["latency"]["count"] for one in (step, harness.operations(step)["read"])), 32)
        # The plan that the results keep runs as well.
        self.plimsoll("plan", "check", result.results / "plan.yaml")


if __name__ == "__main__":
    harness.main()
