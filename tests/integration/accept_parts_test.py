"""`plimsoll accept` with drills, restart I/O and disturbances: each part is done, kept, and derived again; nothing is left."""

import json

import harness

PLAN = """
hosts: [{first}, {second}]
workload: {{dir: {dir}, file_size: 256k, num_files: 2, rate: 50}}
accept: {{parts: [storage, ha, restart-time]}}
criteria: ["restart<60s"]
lease: 5s
ha: {{rounds: 2, faults: [switch], at: 200ms, lock_poll: 100ms, checkpoint: 100ms, one_kernel: true}}
restart_time: {{records: [50, 100, 200], rounds: 1}}
"""

DISTURBED = """
workload: {{dir: {dir}, file_size: 2m, num_files: 3, rate: 80}}
duration: 14s
warmup: 0s
criteria: [p99<1ns]
accept: {{parts: [disturb]}}
disturb: [{{name: nap, at: 5s, hold: 1s, do: {do}, undo: ["true"]}}]
"""


class AcceptParts(harness.PlimsollTest):

    agents_ahead = True

    def restart_log(self, seconds):
        log = self.base / "AMQERR01.LOG"
        entries = [("AMQ5051I", "The queue manager task 'LOGGER-IO' has started.", 0, "CommentInsert1(LOGGER-IO)"),
                   ("AMQ8024I", "IBM MQ channel initiator started.", seconds, "CommentInsert1()")]
        log.write_text("".join(
            f"2026-03-01 10:00:{second:02d} - Process(71.1) User(mqm) Program(amqzmuc0)\n"
            f"                    Host(mq1) Installation(Installation1)\n"
            f"                    VRMF(9.2.0.0) QMgr(QM1)\n"
            f"                    Time(2026-03-01T10:00:{second:02d}.000Z)\n"
            f"                    {insert}\n\n{number}: {text}\n\nEXPLANATION:\nNone.\nACTION:\nNone.\n"
            "----- amqzmuc0.c : 100 ------------------------------------------------------\n"
            for number, text, second, insert in entries))
        return log

    def test_drills_and_restart_io_are_parts_of_one_acceptance(self):
        first, second = self.agent("alpha"), self.agent("beta")
        plan = self.base / "accept.yaml"
        plan.write_text(PLAN.format(first=first.address, second=second.address, dir=self.dir))
        results = self.base / "accepted"
        # Agents on one kernel: what a drill shows of them is no PASS.
        result = self.plimsoll("accept", plan, "--restart-log", self.restart_log(42), "--out", results, "--full",
                               code=3)
        self.assertRegex(" ".join(result.out.split()), "ha, extents locked: INCONCLUSIVE: .*on one kernel")
        self.assertNotIn("FAIL", result.out)
        report = json.loads((results / "accept.json").read_text())
        runs = {(run["part"], run["run"]): run for run in report["runs"]}
        self.assertEqual(sorted(runs), [("ha", 1), ("ha", 2), ("restart_time", 1), ("storage", 1)])
        for key, run in runs.items():
            self.assertTrue(run["complete"], run)
            if key[0] == "ha":
                self.assertRegex(run["result"], "2 rounds, 2 takeovers, 0 acknowledged writes lost")
        restart = runs["restart_time", 1]
        self.assertEqual(restart["outcome"], "pass", restart)
        # Where the disk is busy with other work, times need not grow with so few records.
        self.assertRegex(restart["result"], "for 60,000 records|^measured; ")
        self.assertEqual(restart["criteria"][0]["value_text"], "42.000 s")
        for part in ("ha-1", "ha-2", "restart-time"):
            self.assertTrue((results / part / "report.html").exists(), part)
        self.assert_nothing_left()
        # Derived again from the journals of the parts, it is the same.
        before = (results / "accept.json").read_text()
        self.plimsoll("report", results, code=3)
        self.assertEqual((results / "accept.json").read_text(), before)
        self.plimsoll("verify", results)

    def test_a_real_restart_that_took_too_long_fails_it(self):
        plan = self.base / "accept.yaml"
        plan.write_text(f"""
workload: {{dir: {self.dir}, file_size: 256k, num_files: 2}}
accept: {{parts: [storage, restart-time]}}
criteria: ["restart<30s"]
restart_time: {{records: [50, 100, 200], rounds: 1, redo: coalesced}}
""")
        result = self.plimsoll("accept", plan, "--restart-log", self.restart_log(42), "--out", self.base / "accepted",
                               code=1)
        self.assertRegex(" ".join(result.out.split()), r"restart<30s FAIL: 42\.000 s")
        refused = self.plimsoll("accept", plan, "--out", self.base / "refused", code=2)
        self.assertIn("--restart-log", refused.err)
        # A start without an end may have taken any time.
        log = self.restart_log(10)
        log.write_text(log.read_text() + log.read_text().split("-----")[0].replace("10:00:00", "11:00:00") + "-----\n")
        refused = self.plimsoll("accept", plan, "--restart-log", log, "--out", self.base / "refused", code=2)
        self.assertIn("may have taken longer", refused.err)
        shown = self.plimsoll("accept", plan, "--restart-log", self.restart_log(10), "--dry-run")
        self.assertNotIn("1 step", shown.out)

    def test_a_profile_is_that_of_a_watch(self):
        self.run_plan()
        refused = self.plimsoll("accept", "--dir", self.dir, "--profile", self.base / "results-1", "--out",
                                self.base / "refused", code=2)
        self.assertIn("is not the result of `plimsoll watch --profile`", refused.err)

    def test_disturbances_are_a_part_judged_by_pauses_and_lost_writes(self):
        plan = self.base / "accept.yaml"
        # A disturbance that only takes a second: nothing waits for it but the run itself.
        plan.write_text(DISTURBED.format(dir=self.dir, do='[sleep, "1"]'))
        refused = self.plimsoll("accept", plan, "--out", self.base / "refused", code=2)
        self.assertIn("--allow-commands", refused.err)
        shown = self.plimsoll("accept", plan, "--dry-run")
        self.assertIn("disturb once, at most 2m 15s", shown.out)
        self.assertRegex(shown.out, "nap: .*sleep 1")
        self.assert_nothing_left()
        results = self.base / "accepted"
        result = self.plimsoll("accept", plan, "--allow-commands", "--out", results, "--full", code=0)
        self.assertIn("Not tested, since load and limit are left out: p99<1ns.", " ".join(result.out.split()))
        self.assertIn("MQ's own limit", " ".join(result.out.split()))
        (run,) = json.loads((results / "accept.json").read_text())["runs"]
        self.assertEqual((run["part"], run["outcome"], run["directory"]), ("disturb", "pass", "disturb"), run)
        self.assertRegex(run["result"], r"^0 of [1-9][\d,]* acknowledged writes lost; nap: longest pause \d+\.\d{3} s, ")
        self.assertEqual([criterion["criterion"] for criterion in run["criteria"]], ["lost==0", "max<20s"])
        self.assertEqual([outage["cause"] for outage in run["outages"]], ["nap"])
        self.assertGreater(run["acknowledged_writes"], 0)
        self.assertEqual(run["lost_writes"], 0)
        self.assertTrue((results / "disturb" / "report.html").exists())
        self.assert_nothing_left()
        before = (results / "accept.json").read_text()
        self.plimsoll("report", results, code=0)
        self.assertEqual((results / "accept.json").read_text(), before)
        self.plimsoll("verify", results)

    def test_a_disturbance_that_could_not_be_made_is_no_pass(self):
        plan = self.base / "accept.yaml"
        plan.write_text(DISTURBED.format(dir=self.dir, do='["false"]'))
        result = self.plimsoll("accept", plan, "--allow-commands", "--out", self.base / "accepted", code=3)
        self.assertRegex(" ".join(result.out.split()), "disturb: INCONCLUSIVE: .*nap")

    def test_commands_of_faults_need_permission(self):
        plan = self.base / "accept.yaml"
        plan.write_text(f"""
hosts: [node1, node2]
workload: {{dir: {self.dir}, rate: 50}}
accept: {{parts: [storage, ha]}}
ha: {{faults: [freeze], commands: [{{fault: freeze, do: ["true"], undo: ["true"]}}]}}
""")
        refused = self.plimsoll("accept", plan, "--out", self.base / "refused", code=2)
        self.assertIn("--allow-commands", refused.err)


if __name__ == "__main__":
    harness.main()
