"""The page of `plimsoll accept` in a real browser, made from the record of an acceptance."""

import json
import pathlib
import re

import browser
import harness

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "accept.json"
HOSTILE = "</script><script>window.broken=1</script><img src=x onerror=window.broken=2> \u202e\x1b[31m"


class AcceptPage(browser.BrowserTest):

    def open(self, change=None, alone=False, **more):
        """Opens the page of the record, changed by a function where one is given, and returns it. The program takes no verdict
        from a record `alone`, whose parts are not there: else its page has what the record says. `more`: further data."""
        record = json.loads(GOLDEN.read_text())
        if change is not None:
            change(record)
        (self.base / "accept.json").write_text(json.dumps(record))
        self.plimsoll("report", self.base, code=3)
        page = self.base / "accept.html"
        if not alone:
            before, data, after = re.fullmatch(r"(.*<script[^>]* id=\"data\"[^>]*>)(.*?)(</script>.*)", page.read_text(), re.DOTALL).groups()
            text = json.dumps({**json.loads(data), "report": record, **more}).replace("<", "\\u003c")
            page.write_text(before + text + after)
        self.browser.open(page)
        return record if not alone else json.loads((self.base / "accept.json").read_text())

    def text(self, selector):
        return self.browser.script("return document.querySelector(arguments[0]).innerText", selector)

    def rows(self, section):
        return self.browser.script(
            "return [...document.querySelector('#' + arguments[0] + ' table').rows]"
            ".map(row => [...row.cells].map(cell => cell.textContent));", section)[1:]

    def test_the_page_shows_what_the_record_says(self):
        record = self.open()
        self.assertEqual(self.text("h1"), "Acceptance test: " + record["name"])
        self.assertEqual(self.browser.script("return document.title"), f"Acceptance test: {record['name']} \u2013 Plimsoll")
        self.assertEqual(self.text("#verdict h2"), "FAIL")
        self.assertEqual(self.browser.script("return [...document.querySelectorAll('#verdict li')].map(item => item.textContent)"),
                         record["reasons"])
        parts = self.rows("parts")
        self.assertEqual(len(parts), len(record["runs"]))
        for shown, run in zip(parts, record["runs"]):
            self.assertEqual(shown[1].split()[1].lower(), run["outcome"])
            self.assertEqual(shown[3], run["result"])
        self.assertEqual(self.browser.script("return [...document.querySelectorAll('#parts a')].map(a => a.getAttribute('href'))")[:2],
                         ["storage/storage.txt", "fsck-1/fsck.txt"])
        spread = {(row[0], row[1]): row for row in self.rows("spread")}
        self.assertEqual(spread["load", "p99, ms"], ["load", "p99, ms", "3.100", "14.200", "3.200", "162.4 %"])
        self.assertIn(record["limits"][0], self.text("#limits"))
        self.assertIn("p99<10ms, steady", self.text("#options"))
        self.assertEqual([row[0] for row in self.rows("hosts")], ["alpha", "beta"])
        for field in ("Tested by", "Accepted by", "Name", "Date", "Signature"):
            self.assertIn(field, self.text("#signatures"))
        self.assert_quiet()

    def test_the_foot_shows_the_digest_of_the_results_where_there_is_one(self):
        digest = "sha256:" + "0123456789abcdef" * 4
        self.open(digest=digest)
        self.assertIn(f"Digest of the results: {digest}.", self.text("#foot"))
        self.open()
        self.assertNotIn("Digest", self.text("#foot"))
        self.assert_quiet()

    def test_a_pass_stands_beside_what_the_plan_leaves_out(self):

        def without_fsck(record):
            record["plan"]["accept"]["parts"] = ["storage", "load", "limit"]
            record["runs"] = [run for run in record["runs"] if run["part"] != "fsck"]
            for run in record["runs"]:
                run.update(outcome="pass", reasons=[])
            record.update(outcome="pass", reasons=[])

        self.open(without_fsck)
        self.assertEqual(self.text("#verdict h2"), "PASS")
        self.assertIn("The plan leaves out fsck.", self.text("#verdict"))
        self.assert_quiet()

    def test_what_was_not_done_is_shown(self):

        def cut(record):
            last = record["runs"][-1]
            last.update(began=False, complete=False, outcome="unspecified", directory="", result="", reasons=[])
            record["cut_short"] = "interrupted"
            record["reasons"].append("Did not run: limit, run 3: interrupted")

        self.open(cut)
        self.assertIn("DID NOT RUN", self.rows("parts")[-1][1])
        self.assertIn("Did not run: limit, run 3: interrupted", self.text("#verdict"))
        self.assert_quiet()

    def test_a_record_without_results_leaves_no_hole(self):

        def bare(record):
            record["figures"] = []
            record["hosts"] = []
            record["limits"] = []
            for run in record["runs"]:
                run.update(began=False, complete=False, outcome="unspecified", directory="", result="", reasons=[], notes=[])

        self.open(bare, alone=True)
        self.assertEqual(self.text("#verdict h2"), "INCONCLUSIVE")
        self.assertEqual(self.browser.script("return document.getElementById('spread')"), None)
        self.assert_quiet()

    def test_parts_that_are_not_there_are_named(self):
        record = self.open(alone=True)
        self.assertEqual(self.text("#verdict h2"), "INCONCLUSIVE")
        self.assertIn("load, run 1: INCONCLUSIVE: load-1 is missing", self.text("#verdict"))
        self.assertEqual({row[3] for row in self.rows("parts")}, {"its results are not those that were recorded"})
        self.assertEqual(record["outcome"], "inconclusive")
        self.assert_quiet()

    def test_hostile_text_stays_text(self):

        def hostile(record):
            record["name"] = HOSTILE
            record["hosts"][0]["label"] = HOSTILE
            record["runs"][1]["result"] = HOSTILE
            record["runs"][5]["reasons"] = [HOSTILE]

        self.open(hostile, alone=True)
        self.assertIsNone(self.browser.script("return window.broken === undefined ? null : window.broken"))
        self.assertEqual(self.browser.script("return document.querySelectorAll('img, iframe').length"), 0)
        self.assertNotRegex(self.text("body"), "[\x1b\u202e]")
        self.assert_quiet()

    def test_a_record_that_names_results_elsewhere_is_refused(self):
        for directory in ("../load-1", "/etc", "load-2"):
            record = json.loads(GOLDEN.read_text())
            record["runs"][4]["directory"] = directory
            (self.base / "accept.json").write_text(json.dumps(record))
            self.assertIn("are not where an acceptance keeps them", self.plimsoll("report", self.base, code=2).err)

    def test_what_is_no_record_is_refused_by_name(self):
        record = json.loads(GOLDEN.read_text())
        for text, told in (
            ("{", "accept.json: is not JSON"),
            ("{}", "accept.json: is not the record of an acceptance"),
            (json.dumps({**record, "format": 2}), "has format 2; this version of plimsoll reads format 1"),
            (json.dumps({**record, "runs": record["runs"][1:]}), "its runs are not those of its plan"),
            (json.dumps({**record, "runs": [{**record["runs"][0], "began": False}] + record["runs"][1:]}),
             "storage has a result and was not done"),
            (json.dumps({**record, "plan": {}}), "it has no plan of an acceptance"),
        ):
            with self.subTest(told):
                (self.base / "accept.json").write_text(text)
                result = self.plimsoll("report", self.base, code=2)
                self.assertIn(told, result.err)
                self.assertEqual(len(result.errors), 1, result)


if __name__ == "__main__":
    harness.main()
