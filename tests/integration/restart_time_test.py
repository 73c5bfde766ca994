"""plimsoll restart-time on real files, and on storage of which the delay of each call is known."""

import json
import os
import pathlib
import signal
import sys

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faultfs"))

import faultfs  # noqa: E402

QUEUES = "*/queues/*"
LOGS = "*/active/*.LOG"


def sides(report):
    return {side["directory"]: side for side in report["restart_time"]["sides"]}


def redo(side, way):
    (one,) = [each for each in side["redo"] if each["way"] == way]
    return one


class Measuring(harness.PlimsollTest):

    def measure(self, *arguments, code=0):
        """The report of a measurement whose results lie in a directory of its own."""
        results = self.base / f"restart-{len(harness.paths(self.base, 'restart-*'))}"
        result = self.plimsoll("restart-time", "--out", results, *arguments, code=code)
        return result, (harness.report_of(results) if (results / "report.json").exists() else None)

    def directory(self, name):
        path = self.base / name
        path.mkdir(exist_ok=True)
        return path


class RestartTime(Measuring):

    def test_two_directories_take_turns_and_nothing_is_left(self):
        first, second = self.directory("san"), self.directory("nfs")
        result, report = self.measure("--vary", f"dir={first},{second}", "--records", "100,200,400", "--rounds", "2")
        self.assertEqual(report["verdict"]["outcome"], "done", result)
        self.assertIn("not MQ's restart time", result.out)
        self.assertIn("per-record", result.out)
        self.assertEqual(list(sides(report)), [str(first), str(second)])
        self.assertEqual(len({side["fs_type"] for side in sides(report).values()}), 1, "both are described")
        for side in sides(report).values():
            before, now = redo(side, "per_record"), redo(side, "coalesced")
            # 2.4 calls a record, and each point as many as its records ask for.
            self.assertEqual([point["queue_calls"] for point in before["points"]], [240, 480, 960])
            self.assertAlmostEqual(before["calls_per_record"], 2.4)
            self.assertLessEqual(now["calls_per_record"], before["calls_per_record"] / 10)
            for point in before["points"]:
                self.assertEqual(point["rounds"], 2)
                self.assertEqual(point["log_bytes"], -(-point["records"] * (750 + 2048) // 4096) * 4096)
        order = [(one["round"], one["side"]) for one in report["restart_time"]["measurements"]]
        self.assertEqual(order[:2], [(1, 0), (1, 1)])
        self.assertEqual([side for number, side in order if number == 2][:2], [1, 0])
        for directory in (first, second):
            self.assert_nothing_left(directory)

    def test_the_report_is_made_again_from_its_journal(self):
        where = self.directory("data")
        results = self.base / "results"
        self.plimsoll("restart-time", "--dir", where, "--records", "50,100,200", "--rounds", "1", "--out", results)
        before = (results / "report.json").read_text()
        self.plimsoll("report", results)
        self.assertEqual((results / "report.json").read_text(), before)
        self.plimsoll("verify", results)

    def test_queues_are_loaded_and_messages_backed_out(self):
        _, report = self.measure("--dir", self.directory("data"), "--records", "50", "--rounds", "1", "--redo",
                                 "coalesced", "--depth", "0,10k", "--load", "parallel,serial", "--uncommitted",
                                 "0,200", "--transactions", "10", "--queues", "4")
        (side,) = sides(report).values()
        for load in side["load"]:
            self.assertEqual(load["depth"], 10_000)
            # 10,000 messages of 128 bytes on each of 4 queues, in whole pages.
            self.assertEqual(load["bytes"], 4 * 313 * 4096)
        self.assertEqual({load["way"] for load in side["load"]}, {"parallel", "serial"})
        (undo,) = side["undo"]
        self.assertEqual((undo["queue_calls"], undo["log_writes"]), (400, 10))

    def test_through_the_page_cache_as_well(self):
        _, report = self.measure("--dir", self.directory("data"), "--records", "50,100,150", "--rounds", "1",
                                 "--queue-io", "buffered")
        self.assertEqual(report["verdict"]["outcome"], "done", report)

    def test_wrong_input_is_refused_by_name(self):
        for arguments, text in ((("--vary", "rate=1,2", "--dir", self.base), "is not dir=A,B"),
                                (("--dir", self.base, "--records", "0"), "--records"),
                                (("--dir", self.base / "missing"), "missing"),
                                (("--dir", self.base, "--records", "5", "--log-used", "5"), "are both given"),
                                (("--dir", self.base, "--records", "10m", "--message-size", "100m"), "--records")):
            result = self.plimsoll("restart-time", *arguments, code=2)
            self.assertIn(text, result.err)
            self.assertEqual(result.out, "")

    def test_a_dry_run_shows_bytes_and_makes_nothing(self):
        where = self.directory("data")
        result = self.plimsoll("restart-time", "--dir", where, "--dry-run")
        self.assertIn("Nothing was touched", result.out)
        self.assertEqual(os.listdir(where), [])

    def test_an_agent_drops_caches_only_where_it_was_started_so(self):
        agent = self.agent("alpha")
        result = self.plimsoll("restart-time", "--hosts", agent.address, "--dir", self.dir, "--records", "50",
                               "--drop-caches", code=2)
        self.assertIn("--allow-drop-caches", result.err)
        self.assert_nothing_left(self.dir)

    def test_interrupted_it_reports_what_there_is_and_removes_its_files(self):
        where = self.directory("data")
        results = self.base / "results"
        process = self.start_plimsoll("restart-time", "--dir", where, "--records", "200", "--rounds", "1000", "--out",
                                      results)
        process.await_err("round 3 of")
        process.signal(signal.SIGINT)
        process.finish()
        result = self.result_of(process, results, 3)
        self.assertEqual(result.report["verdict"]["outcome"], "inconclusive", result)
        self.assert_nothing_left(where)


class KnownDelay(Measuring):
    """On storage of which each call to a queue file takes a known time longer."""

    @classmethod
    def setUpClass(cls):
        faultfs.own_mounts()

    def setUp(self):
        super().setUp()
        backing, self.mounted = self.directory("backing"), self.directory("mounted")
        self.fs = faultfs.FaultFs(self, backing, self.mounted)

    def test_calls_and_slope_are_those_that_were_configured(self):
        delay_ms = 10
        rules = [self.fs.fault(f"{operation} {QUEUES} delay_ms={delay_ms}") for operation in ("read", "write")]
        results = self.base / "results"
        # Beside other work the calls would wait for a CPU as well, each for another time.
        process = self.start_plimsoll("restart-time", "--dir", self.mounted, "--records", "25,50,100", "--rounds",
                                      "2", "--redo", "per-record", "--out", results, wrap=harness.ahead())
        process.await_err("round 1 of")
        filled = sum(rule.hits for rule in rules)
        process.finish()
        report = self.result_of(process, results).report
        ordered = 2 * (60 + 120 + 240)
        # Filling had ended when the first round began, but for what the rules had not counted yet.
        self.assertGreaterEqual(sum(rule.hits for rule in rules) - filled, ordered - 60)
        (side,) = sides(report).values()
        one = redo(side, "per_record")
        self.assertEqual([point["queue_calls"] for point in one["points"]], [60, 120, 240])
        self.assertGreater(one["r_squared"], 0.99, one)
        # Each record has 2.4 calls of at least so long.
        self.assertGreaterEqual(one["slope_us"] + one["slope_error_us"], 2.4 * delay_ms * 1000, one)
        for point in one["points"]:
            self.assertGreaterEqual(point["min_seconds"], point["queue_calls"] * delay_ms / 1000, point)

    def test_merged_calls_are_a_tenth_and_gain_as_much(self):
        for operation in ("read", "write"):
            self.fs.fault(f"{operation} {QUEUES} delay_ms=4")
        _, report = self.measure("--dir", self.mounted, "--records", "50,100,200", "--rounds", "1")
        (side,) = sides(report).values()
        now, before = redo(side, "coalesced"), redo(side, "per_record")
        self.assertLessEqual(now["calls_per_record"], before["calls_per_record"] / 10)
        self.assertLess(now["points"][-1]["median_seconds"], before["points"][-1]["median_seconds"] / 2)

    def test_a_log_page_that_the_storage_lost_is_named(self):
        self.fs.fault(f"write {LOGS} after=0 count=1 drop")
        result, report = self.measure("--dir", self.mounted, "--records", "500", "--rounds", "1", "--redo",
                                      "coalesced", code=3)
        self.assertEqual(report["verdict"]["outcome"], "inconclusive", result)
        self.assertRegex(" ".join(report["verdict"]["reasons"]), r"S0000000\.LOG.*page ")

    def test_an_error_of_the_storage_names_the_file_and_the_call(self):
        self.fs.fault(f"read {QUEUES} after=20 error=EIO")
        result, report = self.measure("--dir", self.mounted, "--records", "500", "--rounds", "1", "--redo",
                                      "per-record", code=3)
        self.assertRegex(" ".join(report["verdict"]["reasons"]), r"queues/.*Input/output error")
        self.fs.clear()
        self.assert_nothing_left(self.mounted)

    def test_where_the_space_ends_nothing_is_left(self):
        self.fs.fault(f"write {QUEUES} error=ENOSPC")
        result, _ = self.measure("--dir", self.mounted, "--records", "500", code=2)
        self.assertIn("No space left", result.err)
        self.fs.clear()
        self.assert_nothing_left(self.mounted)

    def test_killed_its_agent_removes_the_files(self):
        self.fs.fault(f"read {QUEUES} delay_ms=20")
        process = self.start_plimsoll("restart-time", "--dir", self.mounted, "--records", "2000", "--redo",
                                      "per-record", "--lease", "1s", "--out", self.base / "results")
        process.await_err("round 1 of")
        process.signal(signal.SIGKILL)
        self.await_nothing_left(self.mounted)


class FromLog(harness.PlimsollTest):

    def entry(self, number, text, time, inserts=""):
        return (f"{time[:10]} {time[11:19]} - Process(71.1) User(mqm) Program(amqzmuc0)\n"
                f"                    Host(mq1) Installation(Installation1)\n"
                f"                    VRMF(9.2.0.0) QMgr(QM1)\n"
                f"                    Time({time})\n{inserts}\n"
                f"{number}: {text}\n\nEXPLANATION:\nNone.\nACTION:\nNone.\n"
                "----- amqzmuc0.c : 100 ------------------------------------------------------\n")

    def test_restarts_are_read_from_an_error_log_and_shown_beside_a_measurement(self):
        log = self.base / "AMQERR01.LOG"
        log.write_text(
            self.entry("AMQ5051I", "The queue manager task 'LOGGER-IO' has started.", "2026-03-01T10:00:00.000Z",
                       "                    CommentInsert1(LOGGER-IO)\n") +
            self.entry("AMQ7229I", "1500 log records accessed on queue manager 'QM1' during the log replay phase.",
                       "2026-03-01T10:00:02.000Z", "                    ArithInsert1(1500)\n") +
            self.entry("AMQ8024I", "IBM MQ channel initiator started.", "2026-03-01T10:00:04.500Z"))
        result = self.plimsoll("restart-time", "from-log", log)
        self.assertRegex(result.out, r"QM1 .* 4\.5\d* .*1,500")
        listed = json.loads(self.plimsoll("restart-time", "from-log", "--json", log).out)
        self.assertIn("QM1", json.dumps(listed))
        where = self.base / "data"
        where.mkdir(exist_ok=True)
        shown = self.plimsoll("restart-time", "--dir", where, "--records", "50,100,200", "--rounds", "1",
                              "--restart-log", log, "--out", self.base / "results")
        self.assertIn("Restarts of real queue managers", shown.out)
        self.assertRegex(shown.out, r"QM1 +4\.500 +1,500 +3\.000")

    def test_a_file_that_is_no_error_log_is_refused(self):
        other = self.base / "other.txt"
        other.write_text("nothing of MQ\n")
        result = self.plimsoll("restart-time", "from-log", other, code=2)
        self.assertIn("other.txt", result.err)


if __name__ == "__main__":
    harness.main()
