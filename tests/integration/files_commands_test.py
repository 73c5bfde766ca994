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
                (pair,) = block_size["pairs"]
                # All but the percentiles for which two seconds of a busy machine hold too few operations.
                self.assertGreaterEqual(len(pair["rows"]), 5)
                operations = block_size.get("operations", [])
                self.assertEqual([one["name"] for one in operations], ["read"] * tables)
                for row in [*pair["rows"], *(row for one in operations for each in one["pairs"] for row in each["rows"])]:
                    self.assertGreater(min(row["first"], row["second"]), 0, row)

    def test_runs_whose_threads_do_other_things_with_the_files_are_not_compared_unless_that_is_named(self):
        base = self.paced(*READS).results
        for arguments, code, words in (
            ((*READS[:4], "--read-percent", "100"), 2,
             ("not comparable: order of blocks (--access): random in ", ", sequential in ", "pass --differs access")),
            (("--qm", "2", "--read-percent", "100", "--access", "random"), 2,
             ("not comparable: files or logs (--files, --create, --one-pass): named files in ", ", logs in ",
              "pass --differs create,files,one-pass")),
            ((*READS, "--pause-percent", "50"), 0,
             ("B and A do not carry the same load, pause in percent (--pause-percent): 50 against 0; pauses lower IO/s",)),
        ):
            with self.subTest(arguments):
                delay = () if "--pause-percent" in arguments else ("--delay", "200us")
                other = self.run_plan(*delay, "--duration", "2", *arguments, code=(0, 3)).results
                result = self.plimsoll("compare", base, other, code=code)
                text = " ".join((result.err if code == 2 else result.out).split())
                for phrase in words:
                    self.assertIn(phrase, text)

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
        result = self.finished(process, None, (0, 3), 180)
        comparison = json.loads((out / "compare.json").read_text())
        self.assertEqual(comparison["paired"]["complete_rounds"], 6, result)
        (pair,) = comparison["block_sizes"][0]["pairs"]
        for row in pair["rows"]:
            self.assertGreater(min(row["first"], row["second"]), 0, row)
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
        result = self.finished(process, out, (0, 3), 200)
        limit = result.report["limit"]
        # Two threads share a server that serves each read in so long.
        capacity = 1 / service_s / 2
        self.assertLess(limit["maximum"], 1.05 * capacity, result)
        self.assertLess(limit["limit"], capacity, "no server does more than it can")
        self.assertGreater(limit["maximum"], 0)
        if result.code == 0:
            self.assertGreater(limit["limit"], 0.5 * capacity)
        self.assertIn("reads/s", result.out)
        self.assert_nothing_left(fs.mountpoint)


if __name__ == "__main__":
    harness.main()
