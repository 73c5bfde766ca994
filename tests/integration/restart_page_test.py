"""The page of restart I/O, in a real browser: figures, bars, points and lines, and what is missing."""

import json

import harness
import pages


class RestartPage(pages.PageTest):

    def text_of(self, section):
        """Text of a section, with plain blanks."""
        return self.browser.script("return document.getElementById(arguments[0]).innerText", section).replace("\xa0", " ")

    def cells(self, section, number):
        """The cells of a table of a section, as text with plain blanks, headings first."""
        rows = self.browser.script(
            "return [...document.querySelectorAll(arguments[0] + ' table')[arguments[1]].rows]"
            ".map(row => [...row.cells].map(cell => cell.textContent))", section, number)
        return [[cell.replace("\xa0", " ") for cell in row] for row in rows]

    def test_a_restart_has_the_seconds_of_each_directory_and_every_measurement(self):
        restart = self.sample("restart")["restart_time"]
        text = self.text_of("restart")
        model = "The storage’s share of a restart, in a model: not MQ’s restart time."
        self.assertIn(model, text)
        self.assertIn(model + " 60,000 log records of 2 KiB messages, coalesced: /mnt/san 0.2000 ± 0.0040 s, /mnt/nfs 2.000 ± 0.040 s.",
                      self.text_of("verdict"))
        self.assertIn(model, self.browser.script("return document.getElementById('sheet').textContent"))
        self.assertIn("/mnt/nfs: NOT all from the storage: caches answered", text)
        self.assertNotIn("/mnt/san: NOT", text)
        self.assertEqual(self.cells("#restart", 0), [
            ["Directory", "Coalesced, s", "Per-record, s", "LOAD, parallel, s", "UNDO, s", "File system"],
            ["/mnt/san", "0.2000 ± 0.0040", "12.02 ± 0.24", "0.0500", "48.00", "xfs from /dev/mapper/mpatha"],
            ["/mnt/nfs", "2.000 ± 0.040", "120.2 ± 2.4", "0.500", "480.0", "nfs4 from filer1:/mq"]])
        # A bar for each directory and way, the slower ones longer, on an axis for their ratio of 601.
        bars = self.browser.script("return [...document.querySelectorAll('#restart .bars rect')].map(e => e.getBoundingClientRect().width)")
        self.assertEqual(len(bars), 4)
        self.assertLess(bars[0], bars[2])
        self.assertLess(bars[2], bars[1])
        self.assertLess(bars[1], bars[3])
        self.assertIn("The axis is logarithmic", text)
        lines, depths = self.browser.script(
            "return plimsoll.page.state.sweep.slice(1).map(({options}) => ({x: options.x, stops: options.stops ? [...options.stops] : null,"
            " series: options.series.map(one => [one.name, one.dash || null, one.values])}))")
        values = {name: [value for value in values if value is not None] for name, _, values in lines["series"]}
        ways = [f"{side}, {way}" for side in ("/mnt/san", "/mnt/nfs") for way in ("coalesced", "per-record")]
        self.assertEqual(list(values), [name + part for name in ways for part in ("", ", line")] + ["real restarts"])
        measured = sorted(value for name in ways for value in values[name])
        self.assertEqual(measured, sorted(one["seconds"] for one in restart["measurements"]))
        self.assertEqual(sorted(values["real restarts"]), sorted(one["seconds"] for one in restart["real"] if "records" in one))
        self.assertEqual(lines["x"], sorted(lines["x"]))
        self.assertEqual(lines["x"][-1], 2_000)
        # The line through the points, at the last of them.
        self.assertAlmostEqual(values["/mnt/nfs, per-record, line"][-1], 4.2)
        dashes = {name: dash for name, dash, _ in lines["series"]}
        self.assertIsNone(dashes["/mnt/san, coalesced"])
        self.assertEqual(dashes["/mnt/san, per-record"], dashes["/mnt/nfs, per-record"])
        self.assertEqual(depths["x"], [250_000, 1_000_000])
        # A button for each way, which shows and hides its line, too.
        self.assertEqual(self.browser.script("return document.querySelectorAll('#restart-redo .chip').length"), 5)
        self.browser.click("#restart-redo .chip")
        self.assertEqual(self.browser.script("return plimsoll.page.state.sweep[1].graph.visibility()"), [False, False] + [True] * 7)
        # The keyboard goes from measurement to measurement.
        self.browser.script("document.querySelector('#restart-redo .frame').focus()")
        said = []
        for _ in range(5):
            self.browser.keys("\ue014")
            said.append(self.browser.script("return document.getElementById('live').textContent").split(":")[0])
        self.assertEqual(said[0], "500 records, round 1")
        self.assertRegex(said[1], "^812 records, restart of PAYMENTS at 2025-11-20 19")
        self.assertEqual(said[2], "1,000 records, round 1")
        self.assertEqual(said[4], "2,000 records, round 1")
        fitted = self.browser.script("return [...document.querySelectorAll('#restart-redo table')].at(-2).innerText")
        self.assertIn("2.000\xa0±\xa00.040", fitted)
        self.assertEqual(self.cells("#restart-undo", 0)[1][:3], ["2 KiB", "400,000", "10"])
        real = self.cells("#restart-real", 0)
        self.assertEqual(real[1][2:], ["7.424", "1,731", "4.289", "until AMQ8024I"])
        self.assertEqual(real[2][-1], "until AMQ8003I: no channel initiator")
        self.assertEqual(real[3][2:5], ["0.500", "–", "–"])
        said = self.text_of("restart-assumptions")
        for one in restart["assumptions"]:
            self.assertIn(one, said)
        self.assertIn("/mnt/san: read from the storage", said)
        self.assert_quiet()

    def test_the_share_of_the_log_that_was_used_has_a_chart_of_its_own(self):
        name = "Seconds by the share of the log that was used"
        self.sample("restart")
        charts = "plimsoll.page.state.sweep.filter(({options}) => options && options.name === arguments[0])"
        self.assertEqual(self.browser.script(f"return {charts}.length", name), 0, "the plan has records, not shares")

        def used(report):
            report["plan"]["restart_time"]["log_used_percent"] = [80, 20, 40]
            report["plan"]["workload"].update(file_size_bytes=1_300_000, num_files=5)
            for side in report["restart_time"]["sides"]:
                for redo in side["redo"]:
                    for point in redo["points"]:
                        # Whole pages: a little more than its records.
                        point["log_bytes"] = round(1.03 * point["log_bytes"])
                (large,) = (json.loads(json.dumps(redo)) for redo in side["redo"] if redo["way"] == "coalesced")
                large["message_size_bytes"] = 20_480
                large["points"].pop()
                side["redo"].append(large)

        self.changed("restart", used)
        (chart,) = self.browser.script(
            f"return {charts}.map(({{options}}) => ({{x: options.x, series: options.series.map(one => [one.name, one.dash || null, one.values])}}))",
            name)
        self.assertEqual(chart["x"], [20, 40, 80])
        values = {name: values for name, _, values in chart["series"]}
        self.assertEqual(list(values), [f"{side}, {way}" for side in ("/mnt/san", "/mnt/nfs")
                                        for way in ("coalesced, 2 KiB", "per-record, 2 KiB", "coalesced, 20 KiB")])
        self.assertEqual(values["/mnt/san, coalesced, 2 KiB"], [0.0215, 0.023, 0.026])
        self.assertEqual(values["/mnt/san, coalesced, 20 KiB"], [0.0215, 0.023, None])
        dashes = {name: dash for name, dash, _ in chart["series"]}
        self.assertEqual(len({json.dumps(dash) for name, dash in dashes.items() if name.startswith("/mnt/san")}), 3)
        text = self.text_of("restart-redo")
        self.assertIn("The log has 6.5 MB. Backing out uncommitted messages (UNDO) comes on top.", text)
        self.assert_quiet()

    def test_a_restart_without_lines_shows_what_was_measured(self):

        def thin(report):
            restart = report["restart_time"]
            restart["real"] = [{}]
            for side in restart["sides"]:
                side.update(load=side["load"][:1], undo=[], fs_type="", fs_source="")
                side.pop("cold")
                for redo in side["redo"]:
                    redo["points"] = redo["points"][:1]
                    for name in ("slope_us", "intercept_us", "slope_error_us", "r_squared", "extended_seconds", "extended_error_seconds"):
                        redo.pop(name)
            restart["measurements"] = [one for one in restart["measurements"] if one["records"] == 500]

        self.changed("restart", thin)
        text = self.text_of("restart")
        self.assertIn("No line is fitted", text)
        self.assertEqual(self.cells("#restart", 0)[1], ["/mnt/san", "–", "–", "0.0125", "–"])
        self.assertIn("too few complete measurements to fit a line", self.text_of("verdict"))
        self.assertEqual(self.browser.script("return plimsoll.page.state.sweep.map(one => one.options.series.length)"), [4])
        self.assertIsNone(self.browser.script("return document.getElementById('restart-undo')"))
        self.assertIn("/mnt/san: not known: the kernel has no counter for it", self.text_of("restart-assumptions"))

        def nothing(report):
            report["restart_time"].update(sides=[], real=[], assumptions=[], measurements=[])

        self.changed("restart", nothing)
        self.assertIn("No measurement is complete.", self.text_of("restart"))
        self.assertNotRegex(self.browser.script("return document.body.innerText"), r"undefined|NaN|null|\[object")
        self.assert_quiet()


if __name__ == "__main__":
    harness.main()
