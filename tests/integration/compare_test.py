"""`plimsoll compare`: two real runs, from their directories and from their report.json."""

import csv
import io
import json
import os
import shutil

import harness
import jsonschema

SCHEMA = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "compare.schema.json")
FIGURES = ["iops", "mb_per_second", "avg", "p50", "p99", "p99_9", "max"]


def parse(text):
    """A comparison, checked against its schema."""
    with open(SCHEMA, encoding="utf-8") as file:
        jsonschema.validate(comparison := json.loads(text), json.load(file))
    return comparison


class Compare(harness.PlimsollTest):
    in_memory = True
    long_json = None

    def run_plan(self, *arguments, **more):
        # Memory is faster than a busy machine can record.
        return super().run_plan(*(() if "--rate" in arguments else ("--delay", "200us")), *arguments, **more)

    def short_run(self, *arguments):
        return self.run_plan("--bsize", "4k,16k", *arguments)

    def long_report(self):
        """The report of a run of 12 s, to be changed: one run for all tests."""
        if Compare.long_json is None:
            report = self.run_plan("--bsize", "4k", "--duration", "12").report
            # Whatever this machine made of the run: it is not what is tested.
            report["verdict"].update(outcome="done", reasons=[])
            for load in report["steps"][0]["load"]:
                load["bottleneck"] = ""
            Compare.long_json = json.dumps(report)
        return json.loads(Compare.long_json)

    def compare(self, *arguments, code=0):
        return self.plimsoll("compare", *arguments, code=code)

    def test_two_runs_are_compared_figure_by_figure(self):
        # Both at the same time, each on a directory of its own.
        runs = []
        for name in ("first", "second"):
            (self.dir / name).mkdir()
            runs.append(self.start_run("--delay", "200us", "--bsize", "4k,16k", "--duration", "11", dir=self.dir / name,
                                       wrap=harness.ahead()))
        first, second = (self.result_of(run, run.results) for run in runs)
        out = self.base / "tables.csv"
        result = self.compare(first.results, second.results, "--json", "--csv", out)
        comparison = parse(result.out)
        self.assertEqual([side["label"] for side in comparison["sides"]], ["A", "B"])
        # On a busy machine each side may have a warning of its own at each block size, which its report has to name.
        short_of_cpu = [[any(load["bottleneck"] for load in step["load"]) for step in run.report["steps"]]
                        for run in (first, second)]
        self.assertEqual([warning.partition(":")[0] for warning in comparison["warnings"]],
                         [label for label, steps in zip("AB", short_of_cpu) for bound in steps if bound], comparison["warnings"])
        for index, block_size in enumerate(comparison["block_sizes"]):
            inconclusive = short_of_cpu[0][index] or short_of_cpu[1][index]
            self.assertEqual(block_size["block_size_bytes"], [4096, 16384][index])
            (pair,) = block_size["pairs"]
            self.assertEqual([row["figure"] for row in pair["rows"]], FIGURES)
            for side, run in enumerate((first, second)):
                # The figures are those of the reports themselves.
                cluster = harness.cluster(run.report["steps"][index])
                for row in pair["rows"]:
                    of_report = cluster.get(row["figure"], cluster["latency"].get(row["figure"] + "_ns"))
                    self.assertAlmostEqual(row[("first", "second")[side]], of_report, delta=1e-9 * of_report)
                self.assertEqual(block_size["sides"][side]["runs"][0]["seconds"], 11)
            for row in pair["rows"]:
                self.assertAlmostEqual(row["ratio"], row["second"] / row["first"])
                self.assertIn(row["figure"], FIGURES)
                if row["figure"] in ("iops", "avg"):
                    self.assertLessEqual(row["low"], row["ratio"])
                    self.assertGreaterEqual(row["high"], row["ratio"])
                    self.assertTrue(0 < row["p"] <= row["adjusted_p"] <= 1)
                if row["figure"] == "max":
                    self.assertEqual((row["finding"], row["reason"]), ("not_tested", "a single write"))
                else:
                    self.assertIn("p", row)
                    self.assertEqual(row["finding"] == "inconclusive", inconclusive)
                    self.assertEqual(row["reason"] != "", inconclusive, row)

        # Another way to the same: report.json, and the text and the table beside the JSON.
        jsons = [run.results / "report.json" for run in (first, second)]
        again = parse(self.compare(*jsons, "--json").out)
        for side in again["sides"] + comparison["sides"]:
            for run in side["runs"]:
                del run["source"]
        self.assertEqual(again, comparison)
        rows = list(csv.DictReader(io.StringIO(out.read_text())))
        self.assertEqual([row["figure"] for row in rows], 2 * FIGURES)
        self.assertEqual(float(rows[0]["ratio"]), comparison["block_sizes"][0]["pairs"][0]["rows"][0]["ratio"])
        text = self.compare(first.results, second.results).out
        self.assertIn("repeatability was not tested", " ".join(text.split()))
        self.assertTrue(all(len(line) <= 100 for line in text.splitlines()), text)
        self.assertEqual(self.compare(first.results, second.results).out, text, "the same input, the same answer")

        # With itself, and with the journal gone.
        copy = self.base / "copy"
        copy.mkdir()
        shutil.copy(first.results / "report.json", copy)
        itself = parse(self.compare(first.results, copy, "--json").out)
        self.assertEqual([row["ratio"] for pair in itself["block_sizes"] for row in pair["pairs"][0]["rows"]], 14 * [1])
        self.assertIn("A and B are the same run", itself["warnings"][0])

    def test_several_runs_a_side_are_compared_as_whole(self):
        runs = [self.short_run() for _ in range(4)]
        sides = [",".join(str(run.results) for run in pair) for pair in (runs[:2], runs[2:])]
        comparison = parse(self.compare(*sides, "--json").out)
        self.assertEqual([len(side["runs"]) for side in comparison["sides"]], [2, 2])
        self.assertIn("Whole runs were compared, 2 of A, 2 of B", " ".join(comparison["limits"]))
        row = comparison["block_sizes"][0]["pairs"][0]["rows"][0]
        product = 1
        for run in runs[:2]:
            product *= harness.cluster(run.report["steps"][0])["iops"]
        self.assertAlmostEqual(row["first"], product ** 0.5, delta=1e-9 * row["first"])
        self.assertIn("p", row)

    def test_slower_than_allowed_is_exit_code_1(self):
        report = self.long_report()
        (step,) = report["steps"]
        # Every second as the average one, so that chance has no part in it, however busy this machine is; and the same
        # run again, told to have taken three times as long.
        for series in step["series"]:
            for column in ("writes", "latency_sum_ns"):
                series[column] = [sum(series[column]) // len(series[column])] * len(series[column])
        steady = self.base / "steady.json"
        steady.write_text(json.dumps(report))
        for series in step["series"]:
            series["latency_sum_ns"] = [3 * value for value in series["latency_sum_ns"]]
        for scope in step["scopes"]:
            for name in ("sum_ns", "avg_ns"):
                scope["latency"][name] *= 3
        slow = self.base / "slow.json"
        slow.write_text(json.dumps(report))
        gate = ("--gate", "iops,avg", "--fail-if-slower")
        result = self.compare(steady, slow, *gate, "10%", code=1)
        self.assertIn("SLOWER B is slower than A at 4 KiB: mean longer by 200 %", " ".join(result.out.split()))
        self.assertEqual(result.errors, [], "the text has it")
        told = self.compare(steady, slow, *gate, "10%", "--json", code=1)
        self.assertEqual(told.errors, ["plimsoll: B is slower than A at 4 KiB: mean longer by 200 %"])
        self.compare(steady, slow, "--gate", "iops", "--fail-if-slower", "10%")
        self.compare(steady, slow, *gate, "300%")
        self.assertIn("PASS", self.compare(slow, steady, *gate, "10%").out)
        self.compare(steady, slow)
        # Just as slow as allowed is neither within nor beyond.
        result = self.compare(steady, slow, *gate, "200%", code=3)
        self.assertIn("UNDECIDED B against A at 4 KiB: mean may be slower by up to 200 % (one-sided bound of 95 %)",
                      " ".join(result.out.split()))
        self.assertEqual(result.errors, [])

    def refused(self, message, *arguments):
        result = self.compare(*arguments, code=2)
        self.assertEqual(result.out, "")
        (line,) = result.errors
        self.assertIn(message, line)

    def test_what_cannot_be_compared_is_refused_with_the_reason(self):
        first = self.run_plan("--bsize", "4k")
        self.refused("no block size was measured in all runs: 4k in ", first.results,
                     self.run_plan("--bsize", "8k").results)
        self.refused("how writes are made durable (--sync): dsync in ", first.results,
                     self.run_plan("--bsize", "4k", "--sync", "none").results)
        self.refused("pace: closed loop in ", first.results, self.run_plan("--bsize", "4k", "--rate", "50").results)

        self.refused("two results at least", first.results)
        self.refused("does not exist", first.results, self.base / "nowhere")
        self.refused("does not exist", first.results, f"{first.results},{self.base}/nowhere")
        self.refused("holds neither a journal nor a report.json", first.results, self.dir)
        other = self.base / "other.json"
        for text, message in (("{", "is not JSON"), ('{"jobs": []}', "is not the report of a run"),
                              ('{"format": 9, "run": {}, "steps": []}', "has format 9; this version")):
            other.write_text(text)
            self.refused(message, first.results, other)
        self.refused("is not a journal of plimsoll", first.results, first.results / "report.txt")
        self.refused("--min-effect", first.results, first.results, "--min-effect", "much")
        self.refused("--fail-if-slower", first.results, first.results, "--fail-if-slower", "-3%")

    def test_two_runs_a_side_do_not_pass_with_a_loss(self):
        report = self.long_report()
        sides = []
        for side in ((1.0, 1.6), (0.4, 0.64)):
            paths = []
            for factor in side:
                for scope in report["steps"][0]["scopes"]:
                    # Where a report tells of no closing writes, all of them completed in time.
                    scope["latency"]["count"] = int(100_000 * factor)
                    scope["closing"]["writes"] = 0
                paths.append(self.base / f"{factor}.json")
                paths[-1].write_text(json.dumps(report))
            sides.append(",".join(map(str, paths)))
        result = self.compare(*sides, "--gate", "iops", "--fail-if-slower", "10%", code=3)
        self.assertRegex(" ".join(result.out.split()), r"UNDECIDED B against A at 4 KiB: IO/s may be slower by up to \d+ %")
        self.refused("--gate", *sides, "--fail-if-slower", "10%", "--gate", "iops,max")
        self.refused("--gate", *sides, "--gate", "iops")

    def test_an_interrupted_run_is_compared_with_a_warning(self):
        first = self.run_plan("--bsize", "4k")
        run = self.start_run("--bsize", "4k", "--duration", "60")
        self.await_running(run)
        run.signal(harness.signal.SIGINT)
        second = self.result_of(run, run.results, code=3)
        text = self.compare(first.results, second.results).out
        self.assertIn("WARNING   B is INCONCLUSIVE", text)
        # Nothing is slower, but that was not told.
        result = self.compare(first.results, second.results, "--fail-if-slower", "1000%", code=3)
        undecided = " ".join(result.out.split()).partition(" UNDECIDED ")[2]
        self.assertIn("B is INCONCLUSIVE", undecided)
        self.assertIn("B against A at 4 KiB: IO/s was not tested: ", undecided)
        self.assertEqual(result.errors, [])
        self.assertEqual(parse(self.compare(first.results, second.results, "--json").out)["undecided"], [])


if __name__ == "__main__":
    harness.main()
