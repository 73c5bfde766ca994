"""What a pipeline sees: JUnit XML, the Markdown summary, and the examples of docs/ci.md."""

import html
import pathlib
import re
import shlex
import xml.etree.ElementTree

import yaml

import harness

CI_PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "ci.md"
OUTCOMES = ("failure", "error", "skipped")


class JUnit(harness.PlimsollTest):

    in_memory = True
    runs_ahead = True

    def suite(self, path):
        """The suite of the file, checked against what GitLab and Jenkins read of one."""
        suite = xml.etree.ElementTree.parse(path).getroot()
        self.assertEqual(suite.tag, "testsuite")
        self.assertLessEqual(set(suite.attrib), {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"})
        self.assertRegex(suite.get("timestamp", "2026-11-20T19:20:11"), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$")
        self.assertGreaterEqual(float(suite.get("time")), 0)
        self.assertEqual([child.tag for child in suite][0], "properties")
        for one in suite.find("properties"):
            self.assertEqual((one.tag, set(one.attrib)), ("property", {"name", "value"}))
        cases = [child for child in suite if child.tag != "properties"]
        found = dict.fromkeys(OUTCOMES, 0)
        for case in cases:
            self.assertEqual((case.tag, set(case.attrib)), ("testcase", {"classname", "name", "time"}))
            self.assertTrue(case.get("classname") and case.get("name"))
            self.assertGreaterEqual(float(case.get("time")), 0)
            outcomes = [child for child in case if child.tag != "system-out"]
            self.assertLessEqual(len(outcomes), 1)
            for outcome in outcomes:
                self.assertIn(outcome.tag, OUTCOMES)
                self.assertTrue(outcome.get("message"))
                found[outcome.tag] += 1
        self.assertEqual([int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")],
                         [len(cases), found["failure"], found["error"], found["skipped"]])
        self.assertEqual(len({(case.get("classname"), case.get("name")) for case in cases}), len(cases))
        return suite

    def counts(self, path):
        suite = self.suite(path)
        return tuple(int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped"))

    def assert_counts(self, path, expected):
        self.assertEqual(self.counts(path), expected, path.read_text())

    def test_each_criterion_and_step_is_a_case_and_report_makes_the_same(self):
        junit = self.base / "junit.xml"
        result = self.run_plan("--bsize", "4k,8k", "--require", "avg<30s", "--require", "iops>=1", "--junit", junit)
        self.assert_counts(junit, (5, 0, 0, 0))
        names = {(case.get("classname"), case.get("name")) for case in self.suite(junit).iter("testcase")}
        self.assertEqual(names, {("run.step 1 (4 KiB)", "avg<30s"), ("run.step 2 (8 KiB)", "avg<30s"),
                                 ("run.step 1 (4 KiB)", "iops>=1"), ("run.step 2 (8 KiB)", "iops>=1"), ("run", "conclusive")})
        again = self.base / "again.xml"
        self.plimsoll("report", result.results, "--junit", again)
        self.assertEqual(again.read_text(), junit.read_text())

    def test_failed_inconclusive_and_absent_criteria_are_not_green(self):
        junit = self.base / "junit.xml"
        self.run_plan("--require", harness.FAILS, "--junit", junit, code=1)
        self.assert_counts(junit, (2, 1, 0, 0))
        # No more than 100,000 writes, of which each takes time besides.
        self.run_plan("--require", "p99.99<10s", "--delay", "10us", "--duration", "1s", "--junit", junit, code=3)
        self.assert_counts(junit, (2, 0, 1, 0))
        self.run_plan("--junit", junit)
        self.assert_counts(junit, (1, 0, 1, 0))
        self.assertIn("no criteria", junit.read_text())

    def test_a_run_that_has_no_report_does_not_leave_the_verdict_of_an_earlier_one(self):
        junit = self.base / "junit.xml"
        self.run_plan("--require", "avg<30s", "--junit", junit)
        self.assert_counts(junit, (2, 0, 0, 0))
        self.run_plan("--hosts", f"unix:{self.base}/none.sock", "--require", "avg<30s", "--junit", junit, code=4)
        self.assert_counts(junit, (1, 0, 1, 0))
        self.run_plan("--require", "avg<30s", "--junit", junit)
        # Killed while it runs.
        process = self.start_run("--duration", "1m", "--require", "avg<30s", "--junit", junit)
        self.await_running(process)
        process.end()
        self.assert_counts(junit, (1, 0, 1, 0))
        # The report of what it measured says that it was cut off.
        self.plimsoll("report", process.results, "--junit", junit, code=3)
        self.assertGreaterEqual(self.counts(junit)[2], 1)
        self.await_nothing_left()

    def test_hostile_names_stay_text(self):
        junit = self.base / "junit.xml"
        name = "</testcase>\"'&<b>]]>"
        self.run_plan("--name", name, "--require", harness.FAILS, "--junit", junit, code=1)
        self.assertEqual(self.suite(junit).get("name"), f"plimsoll: {name}")

    def test_a_file_that_cannot_be_written_is_found_out_before_the_run(self):
        for path in (self.base / "none" / "junit.xml", self.dir):
            result = self.run_plan("--junit", path, code=2)
            self.assertEqual(len(result.errors), 1, result)
            self.assertIn(str(path), result.err)
        self.plimsoll("run", "--dir", self.dir, "--dry-run", "--junit", self.base / "j", code=2)
        self.assertFalse((self.base / "j").exists())


class Summary(harness.PlimsollTest):

    in_memory = True
    runs_ahead = True

    def test_the_summary_is_all_that_is_printed_and_report_makes_the_same(self):
        result = self.run_plan("--bsize", "4k,8k", "--require", harness.FAILS, "--summary", "md", code=1)
        self.assertTrue(result.out.startswith("### Plimsoll: FAIL\n\n"), result)
        self.assertEqual(len(re.findall(r"(?m)^\| <code>writes&#64;qm&#60;=1</code> \| FAIL \| <code>\S+/qm1</code> \| [12] \| [48] KiB \| ",
                                        result.out)), 2, result)
        self.assertIn(f"\nResults: <code>{result.results}</code>, run <code>{result.report['run']['id']}</code>\n",
                      html.unescape(result.out))
        self.assertLess(len(result.out.splitlines()), 60)
        self.assertEqual(self.plimsoll("report", result.results, "--summary", "md", code=1).out, result.out)
        rows = [line for line in result.out.splitlines() if line.startswith("|")]
        self.assertEqual({line.count("|") for line in rows}, {7, 10})
        # The files of the report are as ever.
        self.assertTrue((result.results / "report.txt").read_text().startswith("Verdict"))

    def test_one_form_at_a_time(self):
        for other in ("--json", "--full", "--histogram"):
            self.plimsoll("report", self.dir, "--summary", "md", other, code=2)
        self.plimsoll("report", self.dir, "--summary", "pdf", code=2)


class Page(harness.PlimsollTest):
    """The examples of docs/ci.md hold what they say."""

    def blocks(self, language):
        return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", CI_PAGE.read_text())

    def commands(self):
        """Every command line of plimsoll in an example."""
        lines = "\n".join(self.blocks("")).splitlines()
        for text in self.blocks("yaml"):
            for job in yaml.safe_load(text).values():
                lines += job["script"] + job.get("after_script", [])
        for text in self.blocks("groovy"):
            lines += re.findall(r"sh '(.*)'", text)
        return [shlex.split(line.split(" > ")[0]) for line in lines if line.startswith("plimsoll ")]

    def test_gitlabs_example_is_a_job(self):
        (text,) = self.blocks("yaml")
        (job,) = yaml.safe_load(text).values()
        self.assertEqual(job["artifacts"]["when"], "always")
        (written,) = re.findall(r"--junit (\S+)", " ".join(job["script"]))
        self.assertEqual(job["artifacts"]["reports"]["junit"], written)

    def test_jenkins_example_is_whole_and_reads_the_file_that_is_written(self):
        (text,) = self.blocks("groovy")
        for opening, closing in ("{}", "()"):
            self.assertEqual(text.count(opening), text.count(closing))
        self.assertEqual(text.count("'") % 2, 0)
        self.assertEqual(re.findall(r"--junit (\S+)", text), re.findall(r"junit '(\S+)'", text))

    def test_every_command_and_option_exists(self):
        commands = self.commands()
        self.assertEqual({command[1] for command in commands}, {"run", "report", "fsck", "compare", "accept"})
        self.assertGreaterEqual(len(commands), 7)
        for command in commands:
            known = set(re.findall(r"--[a-z-]+", self.plimsoll(command[1], "--help").out))
            used = {word.split("=")[0] for word in command if word.startswith("--")}
            self.assertLessEqual(used, known, command)


if __name__ == "__main__":
    harness.main()
