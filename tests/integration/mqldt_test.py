"""`plimsoll mqldt`: its output is mqldt's, line by line, with the run's own figures.

The forms of output and CSV lie in tests/golden/mqldt_*; after a wanted change: PLIMSOLL_UPDATE_GOLDEN=1.
"""

import csv
import io
import json
import os
import pathlib
import re
import subprocess

import harness

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"


def without_digits(text):
    """Each figure as #, flush right in its 15 columns as it was; options and the ends of lines as they are."""
    text = re.sub(r"^((?!.*[(]--).{30,67} : )( *[\d,]+)", lambda line: line.group(1) + f"{'#':>{len(line.group(2))}}", text,
                  flags=re.M)
    text = re.sub(r"\(#[\d,]+\)", "(##)", text)
    # A row of a table begins with its block size.
    return re.sub(r"^(\d+)((?:,\d+){10})$", lambda row: row.group(1) + ",#" * 10, text, flags=re.M)


def figures_of(block):
    """The numbers of a block, in its order; the numbers of writes left out."""
    return [int(match.group(1).replace(",", "")) for match in re.finditer(r" : +([\d,]+)", block)]


def expected_figures(step, single):
    """What the report has for a block of mqldt's."""
    cluster = harness.cluster(step)
    latency = cluster["latency"]
    seconds = [scope["bandwidth"] for scope in (harness.scopes(step, "qm") if single else [cluster])]
    return [
        cluster["writes"], round(cluster["iops"]), cluster["bytes"],
        max(each["max_bytes_per_second"] for each in seconds), min(each["min_bytes_per_second"] for each in seconds),
        round(cluster["bandwidth"]["avg_bytes_per_second"]), latency["max_ns"],
        round(step["block_size_bytes"] * 1e9 / latency["max_ns"]), latency["min_ns"],
        round(step["block_size_bytes"] * 1e9 / latency["min_ns"]), round(latency["avg_ns"])
    ]


class Mqldt(harness.PlimsollTest):

    def mqldt(self, *arguments, code=0, program=("plimsoll", "mqldt"), environment=None):
        process = self.start(harness.Process, [harness.binary(program[0]), *program[1:], *map(str, arguments)],
                             env={**self.environment, **(environment or {})})
        return self.result_of(process, None, code)

    def report_of(self, result):
        (path,) = re.findall(r"the report and its page are in (\S+)$", result.err, re.M)
        return json.loads((self.base / path / "report.json").read_text())

    def assert_golden(self, name, text):
        """The text is that of tests/golden/`name`, but for figures, the date and the directory of this test."""
        text = without_digits(text.replace(str(self.base), "BASE"))
        text = re.sub(r"^\w{3} \w{3} [ \d]\d [\d:]{8} \S+ \d{4}$", "DATE", text, flags=re.M)
        if "PLIMSOLL_UPDATE_GOLDEN" in os.environ:
            (GOLDEN / name).write_text(text)
        self.assertEqual(text, (GOLDEN / name).read_text())

    def assert_blocks(self, result, single=False):
        """The blocks of the output, after their "1/1" lines, have the report's figures."""
        report = self.report_of(result)
        blocks = re.split(r"^\d+/\d+\n", result.out, flags=re.M)[1:]
        self.assertEqual(len(blocks), len(report["steps"]), result)
        for block, step in zip(blocks, report["steps"]):
            for shown, expected in zip(figures_of(block), expected_figures(step, single), strict=True):
                self.assertLessEqual(abs(shown - expected), 1, (block, step))
            slowest, fastest = re.findall(r"\(#([\d,]+)\)", block)
            cluster = harness.cluster(step)
            self.assertEqual(int(slowest), cluster["slowest"]["number"])
            self.assertEqual(int(fastest), cluster["fastest_number"])
        return report

    def assert_csv(self, rows, report, single=False):
        for row, step in zip(rows, report["steps"], strict=True):
            expected = expected_figures(step, single)
            # The CSV has no IOPS, and the three latencies before the two bandwidths that follow from them.
            order = [expected[index] for index in (0, 2, 3, 4, 5, 6, 8, 10, 7, 9)]
            self.assertEqual(int(row[0]), step["block_size_bytes"])
            for shown, value in zip(row[1:], order, strict=True):
                self.assertLessEqual(abs(int(shown) - value), 1, (row, order))

    def test_two_block_sizes_print_what_mqldt_prints(self):
        result = self.mqldt(f"--dir={self.dir}", "--filePrefix=mqtestfile", "--bsize=4K,8k", "--fileSize=1048576",
                            "--numFiles=3", "--duration=1", "--csvFile=san_log.csv")
        self.assert_golden("mqldt_block_sizes.txt", result.out)
        self.assertRegex(result.err, r"Executing test for write blocksize 4096 bytes \(4KB\)\. Seconds elapsed -> 1/1 \x08{4}"
                         r"Executing test for write blocksize 8192 bytes \(8KB\)\. Seconds elapsed -> 1/1 ")
        report = self.assert_blocks(result)
        table = (self.base / "san_log.csv").read_text()
        self.assert_golden("mqldt_block_sizes.csv", table)
        self.assert_csv([row.split(",") for row in table.splitlines()[1:]], report)
        self.assert_nothing_left()

    def test_the_trace_agrees_with_the_numbers_of_the_fastest_and_slowest_write(self):
        result = self.mqldt("-d", self.dir, "-b", "4K", "-t", "1", "-s", "262144", "-n", "2")
        cluster = harness.cluster(self.assert_blocks(result)["steps"][0])
        (path,) = re.findall(r"its page are in (\S+)$", result.err, re.M)
        exported = self.plimsoll("export", "--format", "csv", self.base / path).out
        writes = list(csv.DictReader(io.StringIO(exported)))
        self.assertGreater(len(writes), 1)
        latencies = [int(write["latency_ns"]) for write in writes]
        self.assertEqual(latencies.index(min(latencies)) + 1, cluster["fastest_number"])
        self.assertEqual(latencies.index(max(latencies)) + 1, cluster["slowest"]["number"])

    def test_short_options_delay_alignment_and_background_threads(self):
        result = self.mqldt("-d", ".", "-f", "log", "-b", "4K", "-s", "262144", "-n", "2", "-t", "1", "-z", "5000", "-a",
                            "0", "-p", "1")
        self.assert_golden("mqldt_all_options.txt", result.out)
        report = self.assert_blocks(result)
        # 5 ms of pause after each write.
        self.assertLessEqual(harness.cluster(report["steps"][0])["writes"], 200)

    def test_queue_managers_write_in_numbered_directories_which_are_made(self):
        (self.dir / "qm1").mkdir()
        out = self.base / "qm.csv"
        arguments = (f"--dir={self.dir}/qm", "--fileSize=262144", "--numFiles=2", "--duration=1", "--csvFile", out)
        first = self.mqldt("--bsize=4K", "--qm=3", *arguments)
        self.assert_golden("mqldt_queue_managers.txt", first.out)
        report = self.assert_blocks(first, single=True)
        self.assertEqual([host["label"] for host in report["hosts"]], ["qm1", "qm2", "qm3"])
        self.assertEqual([host["workload"]["dir"] for host in report["hosts"]], [f"{self.dir}/qm{number}" for number in (1, 2, 3)])
        self.assertEqual(sorted(path.name for path in self.dir.rglob("*")), ["qm1", "qm2", "qm3"])
        # Another run adds to the table, as with mqldt; two block sizes are measured, which mqldt refuses.
        second = self.mqldt("--bsize=4K,8K", "-q", "2", *arguments)
        other = self.assert_blocks(second, single=True)
        self.assert_golden("mqldt_queue_managers.csv", out.read_text())
        lines = out.read_text().splitlines()
        self.assert_csv([lines[2].split(",")], report, single=True)
        self.assert_csv([line.split(",") for line in lines[5:]], other, single=True)

    def test_digits_are_grouped_as_the_locale_does_it(self):
        plain = self.mqldt("-d", self.dir, "-b", "64K", "-t", "1", "-s", "262144", "-n", "2")
        self.assertNotIn(",", plain.out)
        made = subprocess.run(["localedef", "-i", "en_US", "-f", "UTF-8", self.base / "en_US.UTF-8"], capture_output=True)
        if made.returncode != 0:
            self.skipTest(f"no locale that groups digits: {made.stderr.decode().strip()}")
        grouped = self.mqldt("-d", self.dir, "-b", "64K", "-t", "1", "-s", "262144", "-n", "2",
                             environment={"LC_ALL": "en_US.UTF-8", "LOCPATH": str(self.base)})
        self.assertRegex(grouped.out, r"Total bytes written to files +: +\d{1,3}(,\d{3})+\n")

    def test_a_link_of_that_name_is_mqldt(self):
        result = self.mqldt("-d", self.dir, "-b", "4K", "-t", "1", "-s", "262144", "-n", "2", program=("mqldt",))
        self.assert_blocks(result)

    def test_the_variables_of_the_container_sweep_over_queue_managers(self):
        place = self.base / "volume"
        result = self.mqldt(environment={"MQLDT_DIRECTORY": str(place), "MQLDT_QM": "2", "MQLDT_DURATION": "1",
                                         "MQLDT_FILESIZE": "262144", "MQLDT_NUMFILES": "2", "MQLDT_BLOCKSIZE": "4K"})
        self.assert_golden("mqldt_container.txt", result.out)
        table = (self.base / "mqldt.csv").read_text()
        self.assertTrue(result.out.endswith(f"{'-' * 28}\nCSV Results {'-' * 16}\n{'-' * 28}\n{table}"), result.out)
        self.assertEqual(sorted(path.name for path in place.rglob("*")), ["mqldt", "mqldt1", "mqldt2"])

    def test_a_pipe_takes_the_table_of_the_container_and_is_not_read(self):
        pipe = self.base / "pipe"
        os.mkfifo(pipe)
        result = self.mqldt(code=2, environment={"MQLDT_CSVFILE": str(pipe), "MQLDT_DIRECTORY": str(self.base / "none")})
        self.assertEqual(len(result.errors), 1, result)

    def test_wrong_input_is_one_line_that_names_it(self):
        for arguments, error in (
            ((), r"--bsize is missing: --bsize=16K, or several as --bsize=16K,32K"),
            (("--bsize=16",), r"--bsize: '16' is not a block size from 1K to 65536K: write 16K, or several as 16K,32K"),
            (("-b", "4K", "-d", self.base / "none"), rf".*{re.escape(str(self.base))}/none.*"),
            (("-b", "4K", "-t", "0"), r"--duration: .*"),
            (("-b", "4K", "-n", "600"), r"--numFiles: .*511.*"),
            (("-b", "4K", "-q", "11"), r"--qm: .*10.*"),
            (("-b", "4K", "-a", "65536"), r"--alignment: .*4096.*"),
            (("-b", "4K", "-d", self.dir, "-s", "100"), r".*100.*"),
            (("-b", "4K", "-d", self.dir, "-c", self.base / "none" / "x.csv"), r".*--csvFile.*"),
        ):
            with self.subTest(arguments=arguments):
                result = self.mqldt(*arguments, code=2)
                self.assertRegex(result.errors[0], f"^plimsoll: {error}$")
                self.assertEqual(len(result.errors), 1, result)
        bad = self.mqldt(code=2, environment={"MQLDT_QM": "many"})
        self.assertEqual(bad.errors, ["plimsoll: MQLDT_QM: 'many' is not a whole number from 1 to 10"])

    def test_a_size_of_any_number_of_bytes_is_rounded_down_with_a_remark(self):
        result = self.mqldt("-d", self.dir, "-b", "4K", "--fileSize=671088", "--numFiles=2", "--duration=1")
        self.assertIn("plimsoll: --fileSize 671088 is not a multiple of 4096: the files have 667648 bytes\n", result.err)
        self.assertEqual(self.report_of(result)["hosts"][0]["workload"]["file_size_bytes"], 667648)

    def test_every_error_about_the_plan_is_in_mqldts_own_words_and_its_way_out_is_accepted(self):
        known = set(re.findall(r"--[A-Za-z]+", self.plimsoll("mqldt", "--help").out))
        small = ("-d", self.dir, "-s", "8192", "-n", "2")
        # Of each field of the plan that an option of mqldt's sets what is below its least and above its largest value, what is not one,
        # and what the options rule out together.
        for arguments, error in (
            ((*small, "-b", "4K", "-s", "100"), "--fileSize: '100' is not a whole number of bytes from 4096 to 1099511627776"),
            ((*small, "-b", "4K", "-s", "0"), "--fileSize: '0' is"),
            ((*small, "-b", "4K", "-s", "-5"), "--fileSize: '-5' is"),
            ((*small, "-b", "4K", "-s", "9999999999999"), "--fileSize: '9999999999999' is"),
            ((*small, "-b", "4K", "-s", "99999999999999999999"), "--fileSize: '99999999999999999999' is"),
            ((*small, "-b", "4K", "-s", "32k"), "--fileSize: '32k' is not a whole number of bytes from 4096 to 1099511627776: write 32768"),
            ((*small, "-b", "16K"), "--fileSize 8192 is less than the largest block size, 16K: use --fileSize 16384 or more"),
            ((*small, "-b", "6K", "-s", "8191"), "--fileSize 8191, rounded down to 4096, is less than the largest block size, 6K: use"),
            ((*small, "-b", "0K"), "--bsize: '0K' is not a block size from 1K to 65536K"),
            ((*small, "-b", "65537K"), "--bsize: '65537K' is"),
            ((*small, "-b", "4K,,8K"), "--bsize: '' is"),
            ((*small, "-b", ",".join(["4K"] * 10_001)), "--bsize: 10001 block sizes; a run has at most 10000"),
            ((*small, "-b", "4K,8K", "-t", "31536000", "-b", ",".join(["4K"] * 11)), "--duration 31536000 for each of 11 block sizes"),
            ((*small, "-b", "4K", "-t", "0"), "--duration: '0' is"),
            ((*small, "-b", "4K", "-t", "31536001"), "--duration: '31536001' is"),
            ((*small, "-b", "4K", "-n", "0"), "--numFiles: '0' is"),
            ((*small, "-b", "4K", "-n", "512"), "--numFiles: '512' is"),
            ((*small, "-b", "4K", "-z", "3600000001"), "--delay: '3600000001' is not a whole number of microseconds from 0 to 3600000000"),
            ((*small, "-b", "4K", "-z", "-1"), "--delay: '-1' is"),
            ((*small, "-b", "4K", "-z", "5ms"), "--delay: '5ms' is"),
            ((*small, "-b", "4K", "-p", "1025"), "--backgroundThreads: '1025' is"),
            ((*small, "-b", "4K", "-f", "a/b"), "--filePrefix 'a/b' is not a plain name"),
            ((*small, "-b", "4K", "-f", "-x"), "--filePrefix"),
            ((*small, "-b", "4K", "-f", "x" * 65), "--filePrefix"),
            ((*small, "-b", "4K", "-q", "0"), "--qm: '0' is"),
            ((*small, "-b", "4K", "-s", str(1 << 40), "-n", "511"), "qm1: the storage below"),
        ):
            with self.subTest(arguments=[str(argument)[:20] for argument in arguments]):
                arguments = self.last_of_each(arguments)
                process = self.start(harness.Process, [harness.binary("plimsoll"), "mqldt", *map(str, arguments)], env=self.environment)
                self.assertIn(process.finish(), (2, 3, 4), process.err)
                told = "\n".join(line for line in process.err.splitlines() if line.startswith("plimsoll: "))
                self.assertTrue(told.startswith(f"plimsoll: {error}"), told)
                self.assertLessEqual(set(re.findall(r"--[A-Za-z][A-Za-z-]*", told)), known, told)
                self.assertNotRegex(told, r"workload\.|block_size|placement")
                for value in re.findall(r"(?:use --fileSize|write) (\d+)\b", told):
                    self.mqldt(*self.last_of_each((*arguments, "-s", value, "-t", "1")))

    @staticmethod
    def last_of_each(arguments):
        """Of an option that is there twice the last one."""
        values = dict(zip(arguments[::2], arguments[1::2], strict=True))
        return [word for pair in values.items() for word in pair]

    def test_errors_name_the_variables_of_the_container_where_these_were_given(self):
        for variables, error in (
            ({"MQLDT_FILESIZE": "5000", "MQLDT_QM": "2", "MQLDT_BLOCKSIZE": "8K"},
             "MQLDT_FILESIZE 5000, rounded down to 4096, is less than the largest block size, 8K: use MQLDT_FILESIZE 8192 or more"),
            ({"MQLDT_FILESIZE": "8192"}, "MQLDT_FILESIZE 8192 is less than the largest block size, 1024K: use MQLDT_FILESIZE 1048576 or more"),
            ({"MQLDT_FILESIZE": "100"}, "MQLDT_FILESIZE: '100' is not a whole number from 4096 to 1099511627776"),
        ):
            result = self.mqldt(code=2, environment={"MQLDT_DIRECTORY": str(self.dir), **variables})
            self.assertEqual(result.errors, [f"plimsoll: {error}"])


if __name__ == "__main__":
    harness.main()
