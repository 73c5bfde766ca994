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
        self.assertEqual([row[0] for row in self.rows("hosts")], ["alpha, beta"], "they see the same")
        for field in ("Tested by", "Accepted by", "Name", "Date", "Signature"):
            self.assertIn(field, self.text("#signatures"))
        self.assert_quiet()

    def test_what_is_signed_fits_on_the_first_of_two_sheets(self):
        """With all parts, three runs and four hosts."""

        def whole(record):
            first = record["runs"][0]
            record["plan"]["accept"]["parts"] += ["ha", "restart_time", "disturb"]
            for part, run, result in (
                ("ha", 1, "10 rounds, 20 takeovers, 0 acknowledged writes lost; longest outage 12.318 s"),
                ("ha", 2, "10 rounds, 20 takeovers, 0 acknowledged writes lost; longest outage 12.811 s"),
                ("restart_time", 1, "coalesced, 2k messages: 4.2 +- 0.31 s for 60,000 records; per-record, 2k messages: 61.3 +- 1.2 s "
                 "for 60,000 records"),
                ("disturb", 1, "0 of 48,211 acknowledged writes lost; controller takeover: longest pause 8.214 s, as before after 11.4 s; "
                 "path cut: longest pause 2.012 s, as before after 3.0 s"),
            ):
                directory = {"ha": f"ha-{run}", "restart_time": "restart-time", "disturb": "disturb"}[part]
                record["runs"].append({**first, "part": part, "run": run, "directory": directory, "result": result})
            for part, figures in (("ha", 2), ("restart_time", 2), ("disturb", 4)):
                for number in range(figures):
                    record["figures"].append({"part": part, "name": f"figure {number} of the part", "unit": "s",
                                              "values": [{"run": 1, "value": 4.2}], "least": 4.2, "most": 4.2, "spread_percent": None})
            record["hosts"] = [{
                **record["hosts"][0], "label": f"mqprod{number}.bank.example", "kernel": "5.14.0-427.el9.x86_64",
                "mount_options": "rw,noatime,vers=4.2,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,timeo=600,retrans=2,sec=sys"
            } for number in range(1, 5)]

        criteria = [{"part": part, "run": f"{part}, run 2", "criterion": criterion, "outcome": "pass", "value": "8.214 s",
                     "place": "step 1, mqprod2.bank.example/qm1"}
                    for part, tested in (("load", ("p99<10ms", "max<20s", "steady", "rate_achieved>=99%")),
                                         ("limit", ("p99<10ms", "max<20s", "rate_achieved>=99%")),
                                         ("ha", ("lost==0", "split_brain==0", "takeover_max<60s")),
                                         ("restart-time", ("restart<60s",)), ("disturb", ("max<20s",)))
                    for criterion in tested]
        answers = [{"title": title, "text": text} for title, text in (
            ("Highest load that met the criteria", "480 to 500 writes/s per queue manager; at least 2.40 times the load"),
            ("Time without an active instance, by fault", "switch: at most 3.104 s (20 takeovers); kill: at most 12.813 s "
             "(20 takeovers); 0 of 24,112 acknowledged writes lost"),
            ("Longest wait for a write, by disturbance", "controller takeover: at most 8.214 s, as before after 11.4 s; path cut: at "
             "most 2.012 s, as before after 3.0 s; 0 of 48,211 acknowledged writes lost"),
            ("Restart", "storage's share, in a model: coalesced, 2k messages: 4.2 +- 0.31 s for 60,000 records; longest of 3 real "
             "restarts: 42.000 s, of queue manager QM1"))]
        notes = [{"runs": f"load, run {run}", "text": "the load generator waited for a CPU for 0.3 % of its time"} for run in range(1, 10)]
        digest = "sha256:" + "0123456789abcdef" * 4
        self.open(whole, criteria=criteria, answers=answers, notes=notes, digest=digest)
        self.assertEqual([row[1] for row in self.rows("criteria")], [one["criterion"] for one in criteria])
        for answer in answers:
            self.assertIn(answer["title"], self.text("#answers"))
        self.assertIn("kill: at most 12.813 s (20 takeovers)", self.text("#answers"))
        self.assertIn(digest, self.text("#record").replace("\n", ""))
        self.assertIn("mqprod3.bank.example", self.text("#record"))
        self.assertEqual([row[0] for row in self.rows("parts")][-4:],
                         ["ha, extents locked", "ha, extents not locked", "restart-time", "disturb"])
        links = self.browser.script("return [...document.querySelectorAll('#parts a')].map(a => a.getAttribute('href'))")
        self.assertEqual(links[-4:], ["ha-1/report.html", "ha-2/report.html", "restart-time/report.html", "disturb/report.html"])
        # The signatures come before everything that is not signed.
        self.assertTrue(self.browser.script(
            "return Boolean(document.getElementById('signatures').compareDocumentPosition(document.getElementById('parts')) & 4)"))
        pages = re.findall(rb"/Type\s*/Pages\b[^>]*/Count (\d+)|/Count (\d+)[^>]*/Type\s*/Pages\b", self.browser.pdf())
        self.assertEqual({int(count) for found in pages for count in found if count}, {2}, pages)
        # The first sheet of A4 between its margins of 12 mm, in CSS pixels, as the page looks on paper.
        width, height = (round((side - 2 * 12) * 96 / 25.4) for side in (210, 297))
        self.browser.devtools("Emulation.setEmulatedMedia", media="print")
        try:
            self.browser.set_size(width, height)
            end = self.browser.script("return document.getElementById('signatures').getBoundingClientRect().bottom + window.scrollY")
        finally:
            self.browser.devtools("Emulation.setEmulatedMedia", media="")
        self.assertLess(end, height)
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
