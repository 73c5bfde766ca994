"""From qm.ini and what amqsrua printed to a plan that runs."""

import re
import signal

import yaml

import harness

INI = """#* Module Name: qm.ini *#
ExitPath:
   ExitsDefaultPath=/var/mqm/exits
Log:
   LogPrimaryFiles=3
   LogSecondaryFiles=2
   LogFilePages=64
   LogType=CIRCULAR
   LogBufferPages=0
   LogPath={path}/
   LogWriteIntegrity=TripleWrite
Service:
   Name=AuthorizationService
"""

# Two publications; the second one is the busier, and says its rates in either case.
AMQSRUA = """Publication received PutDate:20171004 PutTime:13560170 Interval:10.001 seconds
Log - physical bytes written 409600 40956/sec
Log - write latency 306 uSec
Log - write size 4099

Publication received PutDate:20171004 PutTime:13570170 Interval:1 minutes,0.000 seconds
log - Physical bytes written 60000000 1000000/sec
Log - Write Latency 1234 uSec
Log - Write size 20000

"""


class FromMq(harness.PlimsollTest):

    def file(self, name, text):
        path = self.base / name
        path.write_text(text)
        return path

    def ini(self, name="qm.ini"):
        return self.file(name, INI.format(path=self.dir))

    def test_the_plan_runs_and_the_report_has_mqs_own_latency_beside_ours(self):
        result = self.plimsoll("plan", "from-mq", "--qm-ini", self.ini(), "--amqsrua", self.file("log.txt", AMQSRUA))
        self.assertEqual(result.err, "")
        self.assertIn("log.txt:6, put 2017-10-04 13:57:01.70 GMT, 60.000 s long", result.out)
        self.assertEqual(yaml.safe_load(result.out)["workload"],
                         {"dir": str(self.dir), "qm": 1, "file_size": "256k", "num_files": 3, "rate": 50.0, "arrival": "poisson"})
        self.assertEqual(yaml.safe_load(result.out)["block_size"], "20k")
        plan = self.file("plan.yaml", result.out)
        self.assertIn(" is valid: this machine, 1 queue manager, 1 step", self.plimsoll("plan", "check", plan).out)
        dry = self.plimsoll("run", plan, "--dry-run").out
        self.assertRegex(dry, rf"(?m){self.dir} +1 +3 +768 KiB$")
        out = self.base / "out"
        process = self.start_plimsoll("run", plan, "--duration", "1", "--warmup", "0", "--out", out)
        process.finish()
        run = self.result_of(process, out)
        self.assertEqual(run.report["steps"][0]["block_size_bytes"], 20480)
        self.assertIn("MQ's mean write latency was 1,234 us", " ".join((out / "report.txt").read_text().split()))
        self.assert_nothing_left()

    def test_another_interval_than_the_peak_is_played(self):
        log = self.file("log.txt", AMQSRUA)
        from_mq = ("plan", "from-mq", "--qm-ini", self.ini(), "--amqsrua", log)
        for interval in ("median", "1"):
            made = self.plimsoll(*from_mq, "--interval", interval)
            self.assertIn(f"# - {log}:1, put 2017-10-04 13:56:01.70 GMT, 10.001 s long", made.out)
            self.assertEqual(yaml.safe_load(made.out)["block_size"], "4k")
        self.assertIn("such as --interval 6", self.plimsoll(*from_mq, "--interval", "2", code=2).err)
        self.assertIn("--interval: 'p101' is not an interval", self.plimsoll(*from_mq, "--interval", "p101", code=2).err)
        self.assertIn("both given", self.plimsoll(*from_mq, "--interval", "p95", "--sweep", code=2).err)

    def test_a_sweep_measures_mqs_write_sizes_and_its_report_has_mqs_intervals_over_them(self):
        plan = self.base / "plan.yaml"
        made = self.plimsoll("plan", "from-mq", "--qm-ini", self.ini(), "--amqsrua", self.file("log.txt", AMQSRUA), "--sweep", "--out", plan)
        self.assertTrue(made.out.endswith("4 block sizes, 2 points of MQ's\n"), made)
        self.assertEqual(yaml.safe_load(plan.read_text())["block_size"], ["4k", "8k", "16k", "32k"])
        self.assertIn("--rate (workload.rate) limits the writes", self.plimsoll("plan", "check", plan, "--rate", "5", code=2).err)
        out = self.base / "out"
        process = self.start_plimsoll("run", plan, "--duration", "1", "--warmup", "0", "--out", out)
        process.finish()
        run = self.result_of(process, out)
        log = run.report["mq_log"]
        self.assertEqual([size["block_size_bytes"] for size in log["sizes"]], [4096, 8192, 16384, 32768])
        for size, step in zip(log["sizes"], run.report["steps"]):
            [cluster] = [scope for scope in step["scopes"] if scope["kind"] == "cluster"]
            self.assertAlmostEqual(size["mb_per_second"], cluster["mb_per_second"])
        self.assertEqual(log["write_size_bytes"], [4099, 20000])
        [small, large] = log["storage_mb_per_second"]
        bandwidths = [size["mb_per_second"] for size in log["sizes"]]
        self.assertTrue(min(bandwidths[:2]) <= small <= max(bandwidths[:2]), log)
        self.assertTrue(min(bandwidths[2:]) <= large <= max(bandwidths[2:]), log)
        for mb, storage, percent in zip(log["mb_per_second"], log["storage_mb_per_second"], log["percent"]):
            self.assertAlmostEqual(percent, mb / storage * 100)
        self.assertEqual([one["name"] for one in log["intervals"]], ["peak", "p95", "median"])
        for text in ((out / "report.txt").read_text(), self.plimsoll("report", out).out, self.plimsoll("report", out, "--summary", "md").out):
            self.assertIn("MQ's log against the storage, MB/s of one queue manager", text)
        self.assert_nothing_left()

    def test_what_a_plan_cannot_say_is_said_on_standard_error_and_in_the_plan(self):
        other = self.file("other.ini", INI.format(path="/log/other").replace("LogFilePages=64", "LogFilePages=4096"))
        plan = self.base / "plan.yaml"
        result = self.plimsoll("plan", "from-mq", "--qm-ini", self.ini(), "--qm-ini", other, "--out", plan)
        self.assertEqual(result.out, f"{plan}: 2 queue managers, 3 extents of 16 MiB each\n")
        self.assertEqual(len(result.errors), 2, result)
        for line in result.errors:
            self.assertTrue(line.startswith("note: "), result)
            self.assertIn(f"# - {line.removeprefix('note: ')}\n", plan.read_text())
        self.plimsoll("plan", "check", plan)

    def test_each_queue_manager_writes_below_its_own_log_path(self):
        paths = [self.dir / "QM1", self.dir / "QM2"]
        arguments = []
        for path in paths:
            path.mkdir()
            arguments += ["--qm-ini", self.file(f"{path.name}.ini", INI.format(path=path))]
        plan = self.base / "plan.yaml"
        self.plimsoll("plan", "from-mq", *arguments, "--out", plan)
        workload = yaml.safe_load(plan.read_text())["workload"]
        self.assertEqual(workload, {"qm_dirs": [str(path) for path in paths], "qm": 2, "file_size": "256k", "num_files": 3})
        self.assertIn(f"# {self.base}/QM2.ini:10\n    - {paths[1]}\n", plan.read_text())
        out = self.base / "out"
        process = self.start_plimsoll("run", plan, "--duration", "30s", "--warmup", "0", "--out", out)
        self.await_running(process)
        for number, path in enumerate(paths, 1):
            found = harness.paths(path, "plimsoll-*/*/qm*")
            self.assertEqual([each.name for each in found], [f"qm{number}"], path)
        process.signal(signal.SIGINT)
        process.finish()
        for path in paths:
            self.assert_nothing_left(path)

    def test_every_error_of_every_file_is_a_line_with_its_place(self):
        ini = self.file("bad.ini", "Log:\n   LogPrimaryFiles=1\n   LogFilePage=64\n")
        log = self.file("cpu.txt", AMQSRUA + "User CPU time percentage 0.01%\n")
        result = self.plimsoll("plan", "from-mq", "--qm-ini", ini, "--qm-ini", "none.ini", "--amqsrua", log, code=2)
        self.assertEqual(result.out, "")
        self.assertEqual(len(result.errors), 4, result)
        for line, begin in zip(result.errors, (f"{ini}:2: LogPrimaryFiles", f"{ini}:3: 'LogFilePage'", "--qm-ini: open none.ini:",
                                               f"{log}:11: 'User CPU time percentage'")):
            self.assertTrue(line.startswith(f"plimsoll: {begin}"), line)

    def test_a_fragment_without_a_directory_runs_in_the_one_that_the_run_names(self):
        fragment = self.file("fragment.ini", "> Log:   # from the ConfigMap\n>    LogFilePages=64 ; 256 KiB\n>    LogPrimaryFiles=3\n")
        plan = self.base / "plan.yaml"
        result = self.plimsoll("plan", "from-mq", "--qm-ini", fragment, "--amqsrua", self.file("log.txt", AMQSRUA), "--out", plan)
        self.assertEqual(len(result.errors), 2, result)
        self.assertRegex(result.err, r"note: \S+fragment.ini: lines 1, 2: what stands behind a value or a heading was taken as a remark")
        self.assertRegex(result.err, r"note: \S+fragment.ini: the Log stanza has no LogPath, .*: the plan has no directory; pass --dir")
        self.assertNotIn("dir", yaml.safe_load(plan.read_text())["workload"])
        self.assertIn("--dir", self.plimsoll("plan", "check", plan, code=2).err)
        out = self.base / "out"
        process = self.start_plimsoll("run", plan, "--dir", self.dir, "--duration", "1", "--warmup", "0", "--out", out)
        process.finish()
        workload = self.result_of(process, out).report["hosts"][0]["workload"]
        self.assertEqual((workload["dir"], workload["file_size_bytes"], workload["num_files"]), (str(self.dir), 262144, 3))
        self.assert_nothing_left()

    def test_directories_on_the_command_line_replace_each_log_path(self):
        windows = self.file("win.ini", "Log:\r\n   LogPath=C:\\MQ\\log\\QM1\\\r\n   LogFilePages=64\r\n")
        two = ("plan", "from-mq", "--qm-ini", windows, "--qm-ini", windows)
        made = self.plimsoll(*two, "--dir", self.dir)
        self.assertNotIn("LogPath", made.err)
        workload = yaml.safe_load(made.out)["workload"]
        self.assertEqual((workload["dir"], workload["qm"]), (str(self.dir), 2))
        made = self.plimsoll(*two, "--qm-dirs", f"{self.dir}/a,{self.dir}/b")
        self.assertEqual(yaml.safe_load(made.out)["workload"]["qm_dirs"], [f"{self.dir}/a", f"{self.dir}/b"])
        for arguments, error in ((("--qm-dirs", "/a"), "--qm-dirs lists 1 directory for 2 --qm-ini"),
                                 (("--dir", "/a", "--qm-dirs", "/a,/b"), "--dir and --qm-dirs are both given"),
                                 (("--dir", "a"), "is not absolute")):
            wrong = self.plimsoll(*two, *arguments, code=2)
            self.assertEqual(len(wrong.errors), 1, wrong)
            self.assertIn(error, wrong.err)

    def test_the_files_are_asked_for(self):
        self.assertRegex(self.plimsoll("plan", "from-mq", code=2).err, r"^plimsoll: .*--qm-ini.*\n$")
        self.assertRegex(self.plimsoll("plan", "from-mq", "--qm-ini", self.dir, code=2).err,
                         rf"^plimsoll: --qm-ini: {re.escape(str(self.dir))} is a directory; name a file in it\n$")


if __name__ == "__main__":
    harness.main()
