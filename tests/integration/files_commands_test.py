"""`compare`, `ab` and `limit` on runs that read named files."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faultfs"))

import faultfs  # noqa: E402
import harness

READS = ("--files", "F...", "--qm", "2", "--read-percent", "100", "--access", "random")
MIXED = ("--files", "F...", "--qm", "2", "--read-percent", "50", "--access", "random")


def setUpModule():
    faultfs.own_mounts()


class FilesCommands(harness.PlimsollTest):

    in_memory = True
    agents_ahead = True

    def paced(self, *arguments):
        # Memory without a pause is faster than a busy machine can record.
        return self.run_plan("--delay", "200us", "--duration", "2", *arguments, code=(0, 3))

    def test_two_runs_that_read_files_are_compared(self):
        for arguments, tables in ((READS, 0), (MIXED, 1)):
            with self.subTest(arguments):
                first, second = (self.paced(*arguments).results for _ in range(2))
                (block_size,) = json.loads(self.plimsoll("compare", first, second, "--json").out)["block_sizes"]
                # All but the percentiles for which two seconds of a busy machine hold too few operations.
                self.assertGreaterEqual(len(block_size["pairs"][0]["rows"]), 5)
                self.assertEqual(len(block_size.get("operations", [])), tables)

    def test_runs_whose_threads_do_other_things_with_the_files_are_not_compared_unless_that_is_named(self):
        base = self.paced(*READS).results
        for arguments, option in (
            ((*READS[:4], "--read-percent", "100"), "access"),
            (("--qm", "2", "--read-percent", "100", "--access", "random"), "files"),
            ((*READS, "--pause-percent", "50"), "pause"),
        ):
            with self.subTest(arguments):
                delay = () if "--pause-percent" in arguments else ("--delay", "200us")
                other = self.run_plan(*delay, "--duration", "2", *arguments, code=(0, 3)).results
                refused = self.plimsoll("compare", base, other, code=(0, 2))
                self.assertIn(option, refused.err if refused.code == 2 else refused.out)

    def test_ab_measures_two_directories_by_reads_of_files(self):
        fs = faultfs.mounted(self)
        for name in ("a", "b"):
            (fs.mountpoint / name).mkdir()
        fs.fault("read *a/plimsoll-*/files/* delay_ms=2")
        fs.fault("read *b/plimsoll-*/files/* delay_ms=10")
        out = self.base / "ab"
        process = self.start_plimsoll("ab", "--file-size", "64k", "--warmup", "0", "--duration", "800ms", *READS, "--bsize", "4k", "--rounds", "6",
                                      "--stop-on", "iops,avg,p50", "--vary", f"dir={fs.mountpoint / 'a'},{fs.mountpoint / 'b'}",
                                      "--out", out, wrap=harness.ahead())
        process.finish(180)
        result = self.result_of(process, None, code=(0, 3))
        comparison = json.loads((out / "compare.json").read_text())
        self.assertEqual(comparison["paired"]["complete_rounds"], 6, result)
        (pair,) = comparison["block_sizes"][0]["pairs"]
        ratios = {row["figure"]: row["ratio"] for row in pair["rows"]}
        self.assertLess(ratios["iops"], 0.7, result)
        self.assertGreater(ratios["avg"], 1.5, result)
        for path in fs.mountpoint.iterdir():
            self.assert_nothing_left(path)

    def test_ab_and_limit_refuse_what_fills_files_once(self):
        path = self.dir / "file"
        for command, words in (
            (("ab", "--vary", "sync=dsync,sync", "--files", path, "--create"), "--create"),
            (("limit", "--files", path, "--create", "--require", "p99<5ms"), "--create"),
            (("limit", "--dir", self.dir, "--files", "A", "--one-pass", "--require", "p99<5ms"), "--one-pass"),
            (("limit", "--dir", self.dir, "--files", "A", "--pause-percent", "50", "--require", "p99<5ms"), "--pause-percent"),
        ):
            with self.subTest(command[:2]):
                result = self.plimsoll(*command, code=2)
                self.assertIn(words, result.err)
        self.assert_nothing_left()

    def test_the_limit_of_a_server_of_reads_is_found_with_files(self):
        service_s = 0.005
        fs = faultfs.mounted(self)
        agent = self.agent("alpha", root=fs.mountpoint)
        fs.fault(f"read *files/F* serve_us={int(service_s * 1e6)}")
        out = self.base / "limit"
        process = self.start_plimsoll("limit", "--hosts", agent.address, "--dir", fs.mountpoint, *READS, "--file-size", "256k", "--out", out,
                                      "--require", "p75<25ms", "--duration", "2s", "--warmup", "200ms", "--hold", "3s",
                                      "--tolerance", "20%", "--budget", "90s", "--seed", "7")
        process.finish(200)
        result = self.result_of(process, out, code=(0, 3))
        limit = result.report["limit"]
        # Two threads share a server that serves each read in so long.
        capacity = 1 / service_s / 2
        self.assertLess(limit["maximum"], 1.05 * capacity, result)
        self.assertLess(limit["limit"], capacity, "no server does more than it can")
        self.assertIn("reads/s", result.out)
        self.assert_nothing_left(fs.mountpoint)


if __name__ == "__main__":
    harness.main()
