"""`plimsoll accept`: every part done and kept, a part that fails, storage that no log may lie on, and cut short."""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faultfs"))

import faultfs  # noqa: E402
import harness  # noqa: E402
import schema  # noqa: E402

# A search that ends soon.
SEARCH = ("--search-step", "300ms", "--hold", "300ms", "--budget", "12s", "--tolerance", "30%")
# A small load, whose files are kept where no disk makes it unsteady; a busy machine may do so all the same.
LOAD = ("--rate", "20", "--arrival", "even", "--duration", "5s", "--warmup", "200ms", "--require", "p50<5s")


# Exit code of the report of a part, and of an acceptance.
CODES = {"pass": 0, "fail": 1, "inconclusive": 3}


def flip(part):
    journal = bytearray((part / "journal").read_bytes())
    journal[len(journal) // 2] ^= 1
    (part / "journal").write_bytes(journal)


def setUpModule():
    faultfs.own_mounts()


class AcceptTest(harness.PlimsollTest):
    in_memory = True

    def setUp(self):
        super().setUp()
        self.out = self.base / "accepted"

    def start_accept(self, *arguments):
        return self.start_plimsoll("accept", "--file-size", "64k", "--num-files", "2", "--out", self.out, *arguments)

    def accept(self, *arguments, code=0):
        process = self.start_accept(*arguments)
        process.finish(280)
        return self.result_of(process, None, code)

    def record(self):
        return schema.parse((self.out / "accept.json").read_text(), "accept")

    def runs(self):
        return {(run["part"], run["run"]): run for run in self.record()["runs"]}

    def report_of(self, part, number):
        """What `plimsoll report` prints of a run that was measured."""
        process = self.start_plimsoll("report", self.out / f"{part}-{number}", "--json")
        code = process.finish()
        self.assertIn(code, CODES.values())
        return self.result_of(process, None, code)

    def made_again(self, code):
        """The directory gives the same outputs again."""
        kept = {name: (self.out / name).read_bytes() for name in ("accept.json", "accept.txt", "accept.html")}
        for name in ("accept.txt", "accept.html"):
            (self.out / name).unlink()
        result = self.plimsoll("report", self.out, code=code)
        for name, content in kept.items():
            self.assertEqual((self.out / name).read_bytes(), content, name)
        return result


class Accept(AcceptTest):

    def test_every_part_is_done_and_its_results_are_kept(self):
        fs = faultfs.mounted(self)
        agents = ",".join(self.agent(name, root=fs.mountpoint).address for name in ("alpha", "beta"))
        fs.fault("write *.LOG delay_ms=2")
        junit = self.base / "junit.xml"
        # Both agents have one kernel: what happens between hosts is not tested, whatever else passes.
        process = self.start_accept("--hosts", agents, "--dir", fs.mountpoint, *LOAD, *SEARCH, "--runs", "2", "--junit", junit)
        code = process.finish(280)
        result = self.result_of(process, None, code)
        runs = self.runs()
        failed = sum(run["outcome"] == "fail" for run in runs.values())
        self.assertEqual(code, 1 if failed else 3, result)
        self.assertEqual(list(runs), [("storage", 1), ("fsck", 1), ("fsck", 2), ("load", 1), ("load", 2), ("limit", 1),
                                      ("limit", 2)])
        for name, run in runs.items():
            self.assertTrue(run["began"] and run["complete"], (name, run, result))
            self.assertTrue((self.out / run["directory"]).is_dir(), run)
        self.assertEqual(runs["storage", 1]["outcome"], "pass", result)
        for number in (1, 2):
            self.assertEqual(runs["fsck", number]["outcome"], "inconclusive")
            self.assertIn("share one kernel", runs["fsck", number]["reasons"][0])
            self.assertTrue(json.loads((self.out / f"fsck-{number}" / "fsck.json").read_text())["checks"])
            # On a busy machine a load is not steady, or undecided; its report is there all the same.
            for part in ("load", "limit"):
                if runs[part, number]["outcome"] != "pass":
                    self.assertTrue(runs[part, number]["reasons"], result)
                found = json.loads(self.report_of(part, number).out)
                self.assertEqual("limit" in found, part == "limit")
                # A limit below the load passes as a limit alone.
                if part == "load":
                    self.assertEqual(found["verdict"]["outcome"], runs[part, number]["outcome"])
        figures = {(figure["part"], figure["name"]): figure for figure in self.record()["figures"]}
        self.assertEqual(len(figures["load", "IO/s"]["values"]), 2)
        self.assertIsNotNone(figures["load", "IO/s"]["spread_percent"])
        self.assertTrue(result.out.startswith(f"Verdict   {'FAIL' if failed else 'INCONCLUSIVE'}\n"), result)
        self.assertRegex(result.err, r"plimsoll: storage check; fsck 2 times, about 10s each; load 2 times, 6s each; limit 2 times, at most 12s each\n")
        self.assertRegex(result.err, r"plimsoll: about 55s, and the time to write 1 MiB of extents\n")
        suite = xml.etree.ElementTree.parse(junit).getroot()
        cases = {(case.get("classname"), case.get("name")): case for case in suite.iter("testcase")}
        parts = [case for (name, _), case in cases.items() if name.count(".") <= 1]
        self.assertEqual((len(parts), sum(case.find("failure") is not None for case in parts)), (8, failed))
        self.assertGreaterEqual(int(suite.get("errors")), 2)
        for number in (1, 2):
            self.assertIn((f"accept.load.run {number}.step 1", "rate_achieved>=99%"), cases)
        self.assertTrue((self.out / "accept.html").read_text().startswith("<!"))
        self.made_again(code)
        self.assertIn("<code>", self.plimsoll("report", self.out, "--print-only", "--summary", "md", code=code).out)
        # It is no result of one run, and its plan no plan of a run.
        self.assertIn("name one of them, such as load-1", self.plimsoll("compare", self.out, self.out, code=2).err)
        self.assertIn("run it with `plimsoll accept`", self.plimsoll("run", self.out / "plan.yaml", code=2).err)
        self.assert_nothing_left(fs.mountpoint)

    def test_storage_that_passes_everything_is_accepted(self):
        # Its fifths are long enough to be alike on a busy machine, too, and a late write or two do not matter.
        result = self.accept("--dir", self.dir, "--rate", "20", "--arrival", "even", "--duration", "10s", "--require", "p50<5s",
                             "--require", "rate_achieved>=50%", "--parts", "load", "--runs", "2")
        self.assertEqual(self.record()["outcome"], "pass")
        self.assertIn("The plan leaves out storage, fsck, limit.", " ".join(result.out.split()))
        self.assertEqual([run["reasons"] for run in self.record()["runs"]], [[], []])
        self.assertRegex(result.err, r"plimsoll: part 1 of 2: load, run 1, about 2\d+s left\n")
        self.assertRegex(result.err, r"plimsoll: part 2 of 2: load, run 2, about 1\ds left\n")
        self.made_again(0)
        # Whoever it is that reports it: what was accepted is what is there.
        self.spoiled("load-2", "load-2 is missing", lambda part: shutil.rmtree(part))
        self.spoiled("load-1", r"load-1/journal was changed or replaced: it is of run \w{6}, not of run \w{6}",
                     lambda part: shutil.copy(self.out / "load-2" / "journal", part / "journal"))
        self.spoiled("load-1", r"load-1/journal was changed or replaced: its SHA-256 is not the recorded one", flip)
        self.spoiled("accept.json", "accept.json was changed after the acceptance wrote it",
                     lambda record: record.write_text(record.read_text().replace('"p50<5s"', '"p50<1s"')))

    def spoiled(self, name, told, change):
        """What `change` makes of the part is INCONCLUSIVE in every output, until it is undone."""
        kept = self.base / "kept"
        shutil.copytree(self.out, kept)
        change(self.out / name)
        junit = self.base / "junit.xml"
        result = self.plimsoll("report", self.out, "--junit", junit, code=3)
        self.assertRegex(" ".join(result.out.split()), "Verdict INCONCLUSIVE - .*" + told)
        self.assertRegex(junit.read_text(), told)
        self.assertNotIn('errors="0"', junit.read_text())
        self.assertEqual(self.record()["outcome"], "inconclusive")
        self.assertRegex((self.out / "accept.html").read_text(), told)
        self.assertRegex(self.plimsoll("report", self.out, "--summary", "md", code=3).out, "INCONCLUSIVE")
        shutil.rmtree(self.out)
        shutil.move(kept, self.out)
        self.assertIn("Verdict   PASS", self.plimsoll("report", self.out, code=0).out)

    def test_one_host_is_accepted_by_the_line_of_the_readme(self):
        readme = (pathlib.Path(__file__).parents[2] / "README.md").read_text()
        (line,) = re.findall(r"(?m)^plimsoll accept (--dir \S+ .*--parts \S+)", readme)
        options = shlex.split(line)
        options[options.index("--dir") + 1] = faultfs.mounted(self).mountpoint
        options[options.index("--budget") + 1] = "30s"
        result = self.accept(*options, "--duration", "5s", "--search-step", "1s", "--hold", "2s", code=(0, 1, 3))
        runs = self.record()["runs"]
        self.assertEqual([run["part"] for run in runs], ["storage", "load", "limit"])
        for run in runs:
            self.assertTrue(run["began"] and run["complete"], result)

    def test_a_closed_loop_that_is_short_of_cpu_is_not_accepted(self):
        agent = self.agent("alpha", wrap=("taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))))
        process = self.start_accept("--hosts", agent.address, "--dir", self.dir, "--qm", "2", "--bsize", "32k", "--cpu-load", "4",
                                    "--duration", "5s", "--warmup", "200ms", "--require", "p50<5s", "--require", "max<60s", "--parts", "load", "--runs", "1")
        code = process.finish()
        result = self.result_of(process, None, code)
        (run,) = self.record()["runs"]
        # What shares a CPU may not be steady, too.
        self.assertIn(run["outcome"], ("inconclusive", "fail"), result)
        self.assertRegex(" ".join(run["reasons"]), r"the load generator on alpha may be CPU-bound \(step 1\): its writers waited")
        self.made_again(code)

    def test_a_part_that_fails_does_not_keep_later_parts_from_being_done(self):
        result = self.accept("--dir", self.dir, "--rate", "20", "--arrival", "even", "--duration", "5s", "--warmup", "0", "--require",
                             harness.FAILS, "--require", "avg<60s", *SEARCH, "--parts", "load,limit", "--runs", "1", code=1)
        runs = self.runs()
        self.assertEqual(runs["load", 1]["outcome"], "fail")
        self.assertIn(f"{harness.FAILS} FAIL", runs["load", 1]["reasons"][0])
        self.assertTrue(runs["limit", 1]["began"], result)
        self.assertTrue(result.out.startswith("Verdict   FAIL\n"), result)

    def test_storage_that_no_log_may_lie_on_ends_it(self):
        with tempfile.TemporaryDirectory(prefix="plimsoll-test-", dir="/dev/shm") as memory:
            if "tmpfs" not in self.plimsoll("storage", memory).out:
                raise unittest.SkipTest("/dev/shm is no tmpfs")
            result = self.accept("--dir", memory, *LOAD, "--runs", "1", code=1)
            self.assertEqual(os.listdir(memory), [], "nothing was written")
        runs = self.runs()
        self.assertEqual(runs["storage", 1]["outcome"], "fail")
        self.assertIn("keeps data in memory", runs["storage", 1]["reasons"][0])
        self.assertEqual([run["began"] for run in runs.values()], [True, False, False, False])
        self.assertIn("Did not run: fsck, run 1; load, run 1; limit, run 1: the storage check failed", " ".join(result.out.split()))
        self.made_again(1)

    def test_interrupted_it_keeps_what_it_measured_and_names_what_is_missing(self):
        process = self.start_accept("--dir", self.dir, *LOAD, "--parts", "load,limit", "--runs", "2")
        process.await_err(r"part 2 of 4: load, run 2")
        harness.wait_until(lambda: (self.out / "load-2" / "journal").exists(), "the second load")
        process.signal(signal.SIGINT)
        code = process.finish()
        result = self.result_of(process, None, code)
        runs = self.runs()
        self.assertEqual(code, CODES[self.record()["outcome"]])
        self.assertNotEqual(code, 0, result)
        self.assertTrue(runs["load", 1]["complete"], result)
        self.assertFalse(runs["load", 2]["complete"])
        self.assertEqual(self.record()["cut_short"], "interrupted")
        self.assertIn("Did not run: limit, run 1; limit, run 2: interrupted", " ".join(result.out.split()))
        self.report_of("load", 1)
        self.made_again(code)
        self.assert_nothing_left()

    def test_interrupted_while_files_are_removed_the_run_counts_and_nothing_else_begins(self):
        fs = faultfs.mounted(self)
        removing = fs.fault("unlink *.LOG hang")
        process = self.start_accept("--dir", fs.mountpoint, *LOAD, "--require", harness.FAILS, "--parts", "load", "--runs", "2")
        removing.await_waiting()
        process.signal(signal.SIGINT)
        harness.wait_until(lambda: not harness.has_pending(process.pid, signal.SIGINT), "the interrupt is taken")
        removing.release()
        process.finish()
        result = self.result_of(process, None, code=1)
        first, second = self.record()["runs"]
        self.assertEqual((first["complete"], first["outcome"]), (True, "fail"), result)
        self.assertFalse(second["began"], result)
        self.assertIn("Did not run: load, run 2: interrupted", " ".join(result.out.split()))
        self.made_again(1)
        self.assert_nothing_left(fs.mountpoint)

    def test_interrupted_in_the_checks_it_ends_there(self):
        process = self.start_accept("--dir", self.dir, *LOAD, "--parts", "fsck,load", "--runs", "1")
        process.await_err(r"(?m)^checking ")
        process.signal(signal.SIGINT)
        process.finish()
        result = self.result_of(process, None, code=3)
        runs = self.runs()
        self.assertFalse(runs["fsck", 1]["complete"], result)
        self.assertFalse(runs["load", 1]["began"], result)
        self.assert_nothing_left()

    def test_a_lost_host_leaves_no_pass_and_what_was_measured(self):
        agent = self.agent("alpha")
        process = self.start_accept("--hosts", agent.address, "--dir", self.dir, *LOAD, "--parts", "load", "--runs", "3",
                                    "--lease", "3s")
        process.await_err(r"part 2 of 3: load, run 2")
        process.await_err(r"(?s)run 2.*^step 1/.*  [1-9][\d,.]* IO/s")
        os.kill(agent.agent_pid, signal.SIGKILL)
        process.finish()
        self.result_of(process, None, CODES[self.record()["outcome"]])
        runs = self.runs()
        self.assertEqual([run["complete"] for run in runs.values()], [True, False, False])
        self.assertEqual([run["outcome"] for run in runs.values()][1:], ["inconclusive", "inconclusive"])
        self.assertIn("alpha was lost", " ".join(runs["load", 2]["reasons"]))
        self.assertIn("connection refused", " ".join(runs["load", 3]["reasons"]))

    def test_every_host_that_a_part_does_not_reach_is_named(self):
        agents = [self.agent(name) for name in ("alpha", "beta")]
        process = self.start_accept("--hosts", ",".join(agent.address for agent in agents), "--dir", self.dir, *LOAD, "--parts",
                                    "load", "--runs", "2", "--lease", "3s")
        process.await_err(r"(?s)run 1.*^step 1/.*  [1-9][\d,.]* IO/s")
        for agent in agents:
            os.kill(agent.agent_pid, signal.SIGKILL)
        process.finish()
        result = self.result_of(process, None, code=3)
        (reason,) = self.runs()["load", 2]["reasons"]
        for agent in agents:
            self.assertIn(f"{agent.address}: connection refused", reason)
            self.assertRegex(result.err, rf"(?m)^plimsoll: {agent.address}: connection refused")

    def test_an_agent_that_does_not_allow_a_later_part_is_named_beforehand(self):
        agent = self.agent("alpha", more=["--max-duration", "30s"])
        told = (r"(?m)^plimsoll: alpha \(.*\): the agent's --max-duration is 30s, the plan has a search that takes at most 40s: "
                r"lower --budget, or start the agent with a larger --max-duration$")
        for arguments in (("--dry-run",), ("--parts", "storage,load,limit"), ("--parts", "load,limit")):
            with self.subTest(arguments):
                result = self.accept("--hosts", agent.address, "--dir", self.dir, *LOAD, "--search-step", "300ms", "--hold", "300ms",
                                     "--budget", "40s", *arguments, code=2)
                self.assertRegex(result.err, told)
                self.assertFalse(self.out.exists())
        self.assertNotIn("session of", agent.err)
        self.assertIn("Nothing was touched", self.accept("--hosts", agent.address, "--dir", self.dir, *LOAD, "--budget", "40s",
                                                         "--parts", "load", "--dry-run").out)

    def test_a_killed_one_shows_what_there_is(self):
        # Long enough to be killed in the midst by a test that waits for a CPU.
        load = ("10s" if word == "5s" else word for word in LOAD)
        process = self.start_accept("--dir", self.dir, *load, "--parts", "load", "--runs", "2")
        process.await_err(r"part 2 of 2: load, run 2")
        process.await_err(r"(?s)run 2.*^step 1/.*  [1-9][\d,.]* IO/s")
        process.end()
        self.assertFalse(self.record()["ended"])
        code = CODES[self.record()["runs"][0]["outcome"]] or 3
        result = self.plimsoll("report", self.out, code=code)
        found = " ".join(result.out.split())
        self.assertIn("the journal ends in step 1", found)
        self.assertEqual([run["complete"] for run in self.record()["runs"]], [True, False])
        self.await_nothing_left()

    def test_wrong_input_and_agents_that_are_not_there_leave_nothing(self):
        for arguments, code, told in (
            (("--dir", self.dir), 2, "--require (criteria) is missing"),
            (("--dir", self.dir, "--require", "p99<1s", "--duration", "1s"), 2, "--until-steady"),
            (("--dir", self.dir, "--require", "p99<1s", "--parts", "load,loda"), 2, "--parts: 'loda'"),
            (("--dir", "/nowhere", "--require", "p99<1s"), 2, "/nowhere does not exist"),
            (("--dir", self.dir, "--require", "p99<10ms"), 2, "such as max<500ms or stalls==0, or set the rate"),
            (("--dir", self.dir, "--require", "p99<10ms", "--dry-run"), 2, "such as max<500ms or stalls==0, or set the rate"),
            (("--dir", self.dir, "--require", "max<1s", "--hosts", "127.0.0.1:1"), 4, "127.0.0.1:1: connection refused"),
            (("--dir", self.dir, "--require", "max<1s", "--hosts", "127.0.0.1:1", "--parts", "load"), 4, "connection refused"),
        ):
            with self.subTest(arguments):
                result = self.accept(*arguments, code=code)
                self.assertIn(told, result.err)
                self.assertFalse(self.out.exists(), result)

    def test_a_dry_run_says_how_long_it_takes_and_touches_nothing(self):
        result = self.accept("--dir", self.dir, *LOAD, "--dry-run")
        self.assertIn("\nabout 30m 46s, and the time to write 768 KiB of extents\n", result.out)
        self.assertIn("one host alone has nothing for fsck to test", result.out)
        self.assertFalse(self.out.exists())
        self.assert_nothing_left()


class Examples(harness.PlimsollTest):

    def test_the_help_offers_what_an_acceptance_takes(self):
        told = self.plimsoll("accept", "--help").out
        self.assertNotIn("--keep-files", told)
        self.assertRegex(told, r"Exit codes: 0 [^;]*; 1 [^;]*; 2 [^;]*; 3 [^;]*;\s+4 ")
        self.plimsoll("accept", "--dir", self.dir, "--require", "p99<1s", "--keep-files", code=2)

    def test_the_examples_are_plans(self):
        for arguments in (("--accept",), ("--ready", "mi12"), ("--ready", "nfs"), ("--ready", "san")):
            with self.subTest(arguments):
                plan = self.base / "plan.yaml"
                plan.write_text(self.plimsoll("plan", "example", *arguments).out)
                self.assertIn(" is valid: ", self.plimsoll("plan", "check", plan).out)
        self.plimsoll("plan", "example", "--ready", "tape", code=2)
        self.plimsoll("plan", "example", "--accept", "--ready", "nfs", code=2)
        self.plimsoll("plan", "example", "--placement", "--ready", "nfs", code=2)


class UntilSteady(harness.PlimsollTest):

    def test_rounds_end_when_the_last_five_are_steady(self):
        fs = faultfs.mounted(self)
        # Most of a write's time is the file system's own, whatever else the machine does; and there are rounds enough.
        fs.fault("write *.LOG delay_ms=50")
        result = self.run_plan("--until-steady=60s", "--duration", "1s", "--bsize", "4k,8k", dir=fs.mountpoint,
                               wrap=harness.ahead())
        steps = [step["block_size_bytes"] for step in result.report["steps"]]
        self.assertEqual(steps, [4096, 8192] * (len(steps) // 2), "each round measures every step")
        for size, name in ((4096, "4 KiB"), (8192, "8 KiB")):
            self.assertGreaterEqual(steps.count(size), 5, result)
            self.assertIn(f"{name}: steady after {steps.count(size)} rounds of 1s", " ".join(result.report["notes"]))
        self.assertEqual(result.report["run"]["state"], "complete")
        self.assertIn("round 5 of at most 60, 4 KiB", result.err)
        again = self.plimsoll("report", result.results, "--json", code=result.code)
        self.assertEqual(json.loads(again.out), result.report)

    def test_what_is_not_steady_within_the_limit_is_inconclusive(self):
        fs = faultfs.mounted(self)
        # After so many writes each takes much longer: few enough to be over before the last round, however slow it is.
        fs.fault("write *.LOG after=150 delay_ms=50")
        result = self.run_plan("--until-steady=5s", "--duration", "1s", "--require", "p50<10s", code=3, dir=fs.mountpoint)
        self.assertEqual(len(result.report["steps"]), 5)
        self.assertRegex(" ".join(result.report["verdict"]["reasons"]),
                         r"Not steady at 4 KiB after 5 rounds of 1s, the limit of --until-steady: IO/s of the last 5 have a range of ")

    def test_without_a_value_it_takes_no_argument_for_one(self):
        plan = self.base / "plan.yaml"
        plan.write_text(f"workload: {{dir: {self.dir}}}\nduration: 2s\n")
        result = self.plimsoll("run", "--until-steady", plan, "--dry-run")
        self.assertIn("in at least 5 and at most 300 rounds until it is steady", result.out)
        refused = self.plimsoll("run", "--until-steady=9s", plan, code=2)
        self.assertIn("is too short for 5 rounds of 2s: use 10s or more", refused.err)


if __name__ == "__main__":
    harness.main()
