"""`plimsoll list` shows the results below a directory, and `latest~N` names them wherever a command takes one."""

import json
import re
import shutil

import harness


class ListTest(harness.PlimsollTest):
    in_memory = True
    runs_ahead = True

    def setUp(self):
        super().setUp()
        self.below = self.base / "plimsoll-results"

    def run_named(self, name, *arguments, code=0):
        """A run whose results are in plimsoll-results/NAME, below the working directory of the commands."""
        return self.plimsoll("run", "--dir", self.dir, "--duration", "300ms", "--warmup", "0", "--file-size", "256k", "--delay", "1ms",
                             "--out", self.below / name, *arguments, code=code)

    def listed(self):
        return json.loads(self.plimsoll("list", "--json").out)["results"]

    def test_results_are_listed_by_what_they_record_and_named_from_the_newest_on(self):
        missing = self.plimsoll("list", code=2)
        self.assertEqual(missing.err, "plimsoll: plimsoll-results does not exist; name the directory that holds the results\n")
        none = self.plimsoll("report", "latest", code=2)
        self.assertIn("latest: there are no results below plimsoll-results", none.err)
        # The run's time is in whole seconds of the list: of two within one second, the later name is the newer one.
        self.run_named("a", "--name", "before", "--require", "p50<5s", code=(0, 3))
        self.run_named("b", "--name", "after the update", "--require", harness.FAILS, code=(1, 3))

        newest, oldest = self.listed()
        self.assertEqual([newest["name"], oldest["name"]], ["b", "a"])
        self.assertEqual([newest["title"], oldest["title"]], ["after the update", "before"])
        for result in (newest, oldest):
            report = harness.report_of(self.base / result["path"])
            self.assertEqual((result["state"], result["outcome"], result["run_id"], result["hosts"], result["command"]),
                             ("complete", report["verdict"]["outcome"], report["run"]["id"], 1, "run"))
        text = self.plimsoll("list").out
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()), text)
        self.assertRegex(text, r"(?m)^0  [A-Z]+ +20\d\d-\d\d-\d\d \d\d:\d\d  run +1  b\n   after the update$")

        def first_lines(*words):
            return self.plimsoll(*words, code=(0, 1, 3)).out

        self.assertEqual(first_lines("report", "latest~1", "--print-only", "--json"), (self.below / "a/report.json").read_text())
        self.assertRegex(first_lines("verify", "latest"), r"INTACT .* in plimsoll-results/b\n")
        compared = json.loads(first_lines("compare", "latest~1", "latest", "--json"))
        self.assertEqual(compared, json.loads(first_lines("compare", "plimsoll-results/a", "plimsoll-results/b", "--json")))
        self.plimsoll("export", "latest~1", "--format", "hlog", "--output", self.base / "hlog")
        for command in (("report", "latest~2"), ("verify", "latest~2"), ("compare", "latest", "latest~2"),
                        ("export", "latest~2", "--format", "csv"), ("plan", "from-watch", "latest~2")):
            refused = self.plimsoll(*command, code=2)
            self.assertRegex(refused.err, r"^plimsoll: \S+: latest~2: plimsoll-results holds 2 results; the oldest is latest~1\n$")
        # A directory of that name is meant by it.
        shutil.copytree(self.below / "a", self.base / "latest")
        self.assertEqual(first_lines("report", "latest", "--print-only", "--json"), (self.below / "a/report.json").read_text())

    def test_a_damaged_or_unfinished_result_has_no_verdict(self):
        self.run_named("a", "--require", "p50<5s", code=(0, 3))
        report = self.below / "a/report.json"
        whole = report.read_bytes()
        report.write_bytes(whole[:len(whole) // 2])
        (damaged,) = self.listed()
        self.assertEqual((damaged["state"], damaged["outcome"], damaged["reason"]), ("unreadable", "", "report.json is cut off"))
        report.unlink()
        (unfinished,) = self.listed()
        self.assertEqual((unfinished["state"], unfinished["outcome"]), ("unfinished", ""))
        self.assertTrue(re.search(r"(?m)^0  UNFINISHED .* a\n   no report yet: under way, or cut off$", self.plimsoll("list").out))
        # What is left can be reported by the name.
        self.plimsoll("report", "latest", code=(0, 3))
        self.assertEqual(self.listed()[0]["state"], "complete")


if __name__ == "__main__":
    harness.main()
