"""What --interval and --histogram print agrees with the report of the same run."""

import os
import pathlib
import re

import harness
import schema

ROW = re.compile(r"^ *([\d.]+) +([\d,]+) \| +([\d,]+) +([\d.,]+) +([\d.,]+) +([\d.,]+) \| +(\S+) +(\S+) +(\S+?)~?$")
# Of the interval: median, p99, maximum.
P50, P99, MAX = 7, 8, 9
BAR = re.compile(r"^ +([\d.,]+)  +([\d.,]+|or more)  +([\d,]+)  +([\d.]+)(?:  (#+))?(?:  everything above, up to .*)?$")


def number(text):
    return float(text.replace(",", ""))


def interval_lines(text):
    """The lines of --interval among others."""
    kept = []
    for line in text.splitlines():
        if ROW.match(line) or line.startswith("** Warning **") or re.match(r"^ +s +writes \|", line):
            kept.append(line)
    return kept


def rows_by_step(text):
    """Matches of the rows, a list for each step."""
    steps = []
    for line in text.splitlines():
        if re.match(r"^Step \d+ of \d+ .* writes of all hosts; ", line):
            steps.append([])
        elif match := ROW.match(line):
            steps[-1].append(match)
    return steps


def histograms(text):
    """Counts of the rows of each histogram."""
    found = []
    for line in text.splitlines():
        if line.startswith("  Histogram of the cluster's "):
            found.append([])
        elif found and (match := BAR.match(line)):
            found[-1].append(int(match.group(3).replace(",", "")))
    return found


class Interval(harness.PlimsollTest):

    def assert_rows_add_up(self, text, report):
        steps = rows_by_step(text)
        self.assertEqual(len(steps), len(report["steps"]))
        for rows, step in zip(steps, report["steps"]):
            cluster = harness.cluster(step)
            latency = cluster["latency"]
            self.assertEqual(sum(int(row.group(2).replace(",", "")) for row in rows), latency["count"])
            total = 0
            for row in rows:
                total += int(row.group(2).replace(",", ""))
                self.assertEqual(int(row.group(3).replace(",", "")), total)
                self.assertLessEqual(number(row.group(P50)), number(row.group(P99)), row)
                # A percentile is the highest value of its bucket, which is 0.1 % wide.
                self.assertLessEqual(number(row.group(P99)), number(row.group(MAX)) + 0.00051, row)
            times = latency
            if "rate" in cluster:
                times = cluster["rate"]["response"]
                # Those of the report have the writes that were due and not issued, too, which no line has.
                if unserved := cluster["rate"]["unserved"]:
                    self.assertEqual(total, times["count"] - unserved)
                    (series,) = [each for each in step["response"]["series"] if each["kind"] == "cluster"]
                    self.assertAlmostEqual(number(rows[-1].group(4)), max(series["latency_max_ns"]) / 1e6, delta=0.00051)
                    continue
            self.assertAlmostEqual(max(number(row.group(MAX)) for row in rows), times["max_ns"] / 1e6, delta=0.00051)
            for group, figure in ((4, "max_ns"), (5, "min_ns"), (6, "avg_ns")):
                self.assertAlmostEqual(number(rows[-1].group(group)), times[figure] / 1e6, delta=0.00051)

    def test_the_lines_of_a_run_add_up_to_its_report_and_are_printed_again(self):
        agents = [self.agent(name) for name in ("alpha", "beta")]
        run = self.run_plan("--hosts", ",".join(agent.address for agent in agents), "--qm", "2", "--bsize", "4k,16k",
                            "--duration", "3", "--rate", "200", "--interval", "2")
        # A line a second would be those of the progress.
        self.assertNotRegex(run.err, r"(?m)^step 1/")
        self.assert_rows_add_up(run.err, run.report)
        self.assertEqual([[row.group(1) for row in rows] for rows in rows_by_step(run.err)], [["2", "3"], ["2", "3"]])
        self.assertEqual(interval_lines(run.out), [])

        again = self.plimsoll("report", run.results, "--interval", "2")
        self.assertEqual(interval_lines(again.out), interval_lines(run.err))
        # The report follows, as it was.
        self.assertRegex(again.out, r"\n\nVerdict [\s\S]*\n[A-Z]+[^\n]*   Results in \S+\n\Z")
        # Another length gives other lines of the same writes.
        finer = self.plimsoll("report", run.results, "--interval", "1s", "--print-only")
        self.assert_rows_add_up(finer.out, run.report)
        self.assertEqual([len(rows) for rows in rows_by_step(finer.out)], [3, 3])

    def test_the_sample_in_the_documentation_has_the_columns_of_the_program(self):
        run = self.run_plan("--duration", "1", "--rate", "100", "--interval", "1")
        sample = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "report.md").read_text()

        def heading(text):
            """The two lines above the rows, whatever the length of an interval."""
            first = re.search(r"(?m)^  every \d+ s *( \| step so far .*)\n(.*)$", text)
            return first and first.groups()

        self.assertIsNotNone(heading(run.err))
        self.assertEqual(heading(sample), heading(run.err))
        rows = [line for line in sample.splitlines() if ROW.match(line)]
        self.assertGreaterEqual(len(rows), 2)
        for row in rows:
            self.assertEqual([at.end() for at in re.finditer(r"\S+", row)],
                             [at.end() for at in re.finditer(r"in total|\S+", heading(sample)[1])])

    def test_an_interrupted_run_has_a_line_for_its_rest(self):
        process = self.start_run("--duration", "60", "--rate", "100", "--interval", "1")
        process.await_err(r"^ +1 +[1-9]")
        process.signal(2)
        process.finish()
        result = self.result_of(process, process.results, 3)
        self.assert_rows_add_up(result.err, result.report)
        self.assertEqual(interval_lines(self.plimsoll("report", result.results, "--interval", "1", "--print-only",
                                                      code=3).out), interval_lines(result.err))

    def test_the_rows_of_a_histogram_hold_every_write(self):
        run = self.run_plan("--qm", "2", "--bsize", "4k,16k", "--duration", "1", "--histogram")
        writes = [harness.cluster(step)["latency"]["count"] for step in run.report["steps"]]
        found = histograms(run.out)
        self.assertEqual([sum(rows) for rows in found], writes)
        self.assertTrue(all(len(rows) <= 40 for rows in found), found)
        self.assertNotIn("Histogram", (run.results / "report.txt").read_text())
        few = self.plimsoll("report", "--histogram=5", run.results)
        self.assertEqual([sum(rows) for rows in histograms(few.out)], writes)
        self.assertTrue(all(1 <= len(rows) <= 5 for rows in histograms(few.out)), few.out)

    def test_what_cannot_be_is_refused(self):
        run = self.run_plan()
        for argument, said in (("--interval=0", "whole seconds"), ("--interval=1.5", "whole seconds"),
                               ("--interval=soon", "--interval: "), ("--histogram=1", "number of rows"),
                               ("--histogram=many", "number of rows")):
            for command in (("report", run.results), ("run", "--dir", self.dir)):
                refused = self.plimsoll(*command, argument, code=2)
                self.assertIn(said, refused.err)
                self.assertEqual(len(refused.errors), 1, refused)
        self.plimsoll("report", run.results, "--json", "--histogram", code=2)
        self.plimsoll("report", run.results, "--json", "--interval", "1", code=2)
        schema.parse(self.plimsoll("report", run.results, "--json").out)


class Load(harness.PlimsollTest):

    def test_step_text_and_notes_name_a_bottleneck_if_and_only_if_the_load_figures_tell_one(self):
        run = self.run_plan("--duration", "3", "--rate", "50", "--qm", "2")
        (step,) = run.report["steps"]
        (load,) = step["load"]
        self.assertGreaterEqual(len(load["offset_ns"]), 2)
        self.assertGreater(load["agent_cpu_percent"], 0)
        for column in ("agent_cpu", "writer_cpu_wait"):
            self.assertEqual(len(load[column]), len(load["offset_ns"]))
        # The recorder's own waits are a reason of the verdict, too.
        ring = any("its recorder" in reason for reason in run.report["verdict"]["reasons"])
        slowed = load["writer_cpu_wait_percent"] > 5 or load["recorder_late_max_ns"] > 50_000_000 or ring
        self.assertEqual(load["bottleneck"] != "", slowed, load)
        self.assertEqual("Warning: " in run.out, slowed, run)
        self.assertEqual(any("load generator" in note for note in run.report["notes"]), slowed)


class LoadInMemory(harness.PlimsollTest):

    # Writers that never wait for a disk.
    in_memory = True

    def test_writers_that_share_one_cpu_with_a_load_are_named_as_a_bottleneck(self):
        cpu = min(os.sched_getaffinity(0))
        agent = self.agent("alpha", wrap=("taskset", "--cpu-list", str(cpu)))
        # Blocks so large that the recorder, which shares that CPU too, keeps up.
        run = self.run_plan("--hosts", agent.address, "--duration", "2", "--qm", "2", "--bsize", "256k", "--cpu-load", "4")
        (step,) = run.report["steps"]
        (load,) = step["load"]
        self.assertGreater(load["writer_cpu_wait_percent"], 5)
        self.assertRegex(load["bottleneck"], r"^its writers waited \d+\.\d % of their time for a CPU")
        # The sentence may be broken anywhere between two words.
        self.assertIn("Warning: alpha: the load generator may be CPU-bound: its writers waited",
                      " ".join(run.out.split()))
        self.assertTrue(any("load generator" in note for note in run.report["notes"]), run.report["notes"])


if __name__ == "__main__":
    harness.main()
