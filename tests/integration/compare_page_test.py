"""The page of `plimsoll compare --html` in a real browser, of made-up reports."""

import json
import math
import subprocess

import browser
import harness

CHARTS = "plimsoll.page.charts()"
FINDINGS = {"better": "better", "worse": "worse", "small": "within minimum", "not_clear": "not significant", "not_tested": "not tested",
            "inconclusive": "inconclusive"}
HOSTILE = "</script><script>window.broken=1</script><img src=x onerror=window.broken=2> \u202e\x1b[31m"


class ComparePage(browser.BrowserTest):

    def sample(self, name, slower, seed, *more, change=None):
        """Writes the report of a made-up run, changed by a function where one is given, and returns its path."""
        text = subprocess.run([harness.binary("compare_sample"), str(slower), str(seed), *more], check=True,
                              stdout=subprocess.PIPE).stdout
        report = json.loads(text)
        if change is not None:
            change(report)
        path = self.base / f"{name}.json"
        path.write_text(json.dumps(report))
        return path

    def compare(self, *sides):
        """Opens the page of a comparison and returns the comparison."""
        page = self.base / "page.html"
        told = self.plimsoll("compare", *sides, "--json", "--html", page).out
        self.browser.open(page)
        return json.loads(told)

    def text(self, selector):
        return self.browser.script("return document.querySelector(arguments[0]).innerText", selector)

    def rows(self, section, number=0):
        return self.browser.script(
            "const t = document.querySelectorAll('#' + arguments[0] + ' table')[arguments[1]];"
            "return [...t.rows].map(row => [...row.cells].map(cell => cell.textContent));", section, number)

    def test_the_page_shows_what_the_json_says(self):
        sizes = "sizes=4096,16384,65536"
        comparison = self.compare(self.sample("a", 1, 1, sizes, "name=SAN"), self.sample("b", 1.2, 2, sizes, "name=NFS"))
        self.assertEqual(self.text("h1"), "NFS (B) against SAN (A)")
        self.assertEqual(self.browser.script("return document.title"), "NFS (B) against SAN (A) – Plimsoll")
        findings = self.text("#findings")
        for block_size in comparison["block_sizes"]:
            self.assertIn(block_size["pairs"][0]["summary"], findings)
        for number, block_size in enumerate(comparison["block_sizes"]):
            self.browser.script("const s = document.getElementById('block-chooser'); s.selectedIndex = arguments[0];"
                                "s.dispatchEvent(new Event('change'));", number)
            (pair,) = block_size["pairs"]
            rows = self.rows("figures")[1:]
            self.assertEqual(len(rows), len(pair["rows"]))
            for shown, told in zip(rows, pair["rows"]):
                self.assertEqual(shown[3], f"{told['ratio']:.3f}")
                if "low" in told:
                    self.assertEqual(shown[4], f"{told['low']:.3f} to {told['high']:.3f}")
                self.assertEqual(shown[6], FINDINGS[told["finding"]])
            # The values of every second are those of the reports.
            for side, name in enumerate(("a", "b")):
                report = json.loads((self.base / f"{name}.json").read_text())
                (series,) = report["steps"][number]["series"]
                shown = self.browser.script(f"return {CHARTS}[0].options.series[arguments[0]].values", side)
                self.assertEqual(shown, series["writes"])
        self.assert_quiet()

    def test_what_may_not_come_from_the_storage_is_inconclusive(self):

        def short_of_cpu(report):
            report["steps"][0].setdefault("load", []).append(
                {"host": "alpha", "bottleneck": "its writers waited 31.0 % of their time for a CPU"})

        self.compare(self.sample("a", 1, 1), self.sample("b", 1.2, 2, change=short_of_cpu))
        shown = [row[6:] for row in self.rows("figures")[1:] if row[0] != "max"]
        self.assertEqual(shown, len(shown) * [["inconclusive", "the load generator of B may be CPU-bound"]])
        self.assertIn("B: step 1 (4 KiB): the load generator on alpha may be CPU-bound: its writers waited 31.0 %",
                      self.text("#findings"))
        self.assert_quiet()

    def test_parts_of_a_write_have_tables_of_their_own(self):

        def parts(sync):

            def change(report):
                for step in report["steps"]:
                    (scope,) = step["scopes"]
                    (series,) = step["series"]
                    step["operations"] = [{
                        "name": name,
                        "scopes": [{
                            "kind": "cluster",
                            "latency": {
                                key: int(share * value) if key.endswith("_ns") else value
                                for key, value in scope["latency"].items()
                            }
                        }],
                        "series": [{**series, "latency_sum_ns": [int(share * value) for value in series["latency_sum_ns"]]}],
                        "distributions": []
                    } for name, share in (("write_call", 1 - sync), ("sync", sync))]

            return change

        comparison = self.compare(self.sample("a", 1, 1, change=parts(0.7)), self.sample("b", 1, 2, change=parts(0.9)))
        (block_size,) = comparison["block_sizes"]
        self.assertEqual([operation["name"] for operation in block_size["operations"]], ["write_call", "sync"])
        for number, operation in enumerate(block_size["operations"], start=1):
            (pair,) = operation["pairs"]
            rows = self.rows("figures", number)[1:]
            self.assertEqual([row[6] for row in rows], [FINDINGS[told["finding"]] for told in pair["rows"]])
            self.assertEqual([row[3] for row in rows], [f"{told['ratio']:.3f}" for told in pair["rows"]])
            self.assertIn(pair["summary"], self.text("#findings"))
        self.assertEqual([row[0] for row in self.rows("findings")[1:]], ["4 KiB", "4 KiB, write_call", "4 KiB, sync"])
        self.assert_quiet()

    def test_charts_draw_and_zoom_and_change_their_figure(self):
        self.compare(self.sample("a", 1, 1, "sizes=4096,65536"), self.sample("b", 1.2, 2, "sizes=4096,65536"))
        charts = f"[...plimsoll.page.state.sweep, ...{CHARTS}]"
        colors = self.browser.script(
            f"return {charts}.map(c => {{ const canvas = c.plot.querySelector('canvas');"
            "return new Set(new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)"
            ".data.buffer)).size; })")
        self.assertEqual(len(colors), 4)
        for number in colors:
            self.assertGreater(number, 20)
        self.browser.click("#seconds button[title='Zoom in']")
        self.assertEqual(self.browser.script(f"return {CHARTS}[0].graph.xAxisRange()"), [15, 45])
        choose = ("const s = document.querySelector('#seconds select'); s.selectedIndex = arguments[0];"
                  "s.dispatchEvent(new Event('change'));")
        self.browser.script(choose, 4)
        self.assertIn("The reports do not have this figure by second.", self.text("#seconds"))
        self.browser.script(choose, 2)
        self.assertEqual(self.browser.script(f"return {CHARTS}[0].options.name"), "mean over time")
        self.assertEqual(self.browser.script(f"return {CHARTS}[0].graph.xAxisRange()"), [15, 45])
        self.browser.click("#distribution .chip")
        self.assertEqual(self.browser.script(f"return {CHARTS}[1].graph.visibility()"), [False, True])
        self.assert_quiet()

    def test_percentiles_are_shown_where_there_are_enough_writes(self):

        def by_second(report):
            for step in report["steps"]:
                (series,) = step["series"]
                # 2,000 writes a second: two lie beyond p99.9.
                for column in ("p50_ns", "p99_ns", "p99_9_ns"):
                    series[column] = [5_000_000] * len(series["second"])

        comparison = self.compare(self.sample("a", 1, 1, change=by_second), self.sample("b", 1.2, 2, change=by_second))
        for number, name, known in ((3, "p50", True), (4, "p99", True), (5, "p99.9", False)):
            self.browser.script("const s = document.querySelector('#seconds select'); s.selectedIndex = arguments[0];"
                                "s.dispatchEvent(new Event('change'));", number)
            self.assertEqual(self.browser.script(f"return {CHARTS}[0].options.name"), f"{name} over time")
            shown = self.browser.script(f"return {CHARTS}[0].options.series[0].values")
            self.assertEqual(set(shown), {5_000_000 if known else None}, name)
        # So many of the writes were not slower: each percentile is no less than the report's own, and the slowest is it.
        (block_size,) = comparison["block_sizes"]
        positions, *values = self.browser.script(
            f"const o = {CHARTS}[1].options; return [o.x, ...o.series.map(s => s.values)];")
        for side, curve in zip(block_size["sides"], values):
            (run,) = side["runs"]
            self.assertEqual(curve[-1], run["max_ns"])
            for share, key in ((0.5, "p50_ns"), (0.99, "p99_ns"), (0.999, "p99_9_ns")):
                at = min(range(len(positions)), key=lambda at: abs(positions[at] + math.log10(1 - share)))
                self.assertGreaterEqual(curve[at], run[key])
                # A bucket of the seconds is 2.2 % wide.
                self.assertLessEqual(curve[at], 1.03 * run[key])
            self.assertLess(max(at for at, value in zip(positions[:-1], curve) if value is not None),
                            math.log10((run["writes"] + run["closing_writes"]) / 10) + 1e-6)
        self.assert_quiet()

    def test_hostile_text_stays_text(self):
        more = [f"host={HOSTILE}", f"kernel={HOSTILE}", f"name={HOSTILE}"]
        self.compare(self.sample("a", 1, 1), self.sample("b", 1.2, 2, *more))
        self.assertIsNone(self.browser.script("return window.broken === undefined ? null : window.broken"))
        self.assertEqual(self.browser.script("return document.querySelectorAll('img, iframe').length"), 0)
        self.assertIn("<img src=x onerror=window.broken=2>", self.text("#differences"))
        self.assertNotRegex(self.text("body"), "[\x1b\u202e]")
        self.assert_quiet()

    def test_what_is_absent_leaves_no_hole(self):

        def bare(report):
            for step in report["steps"]:
                step["series"] = []
                del step["seconds"]

        a = self.sample("a", 1, 1, change=bare)
        b = self.sample("b", 1.2, 2)
        short = self.sample("short", 1, 3, "seconds=5")
        for sides in ((a, a), (a, b), (b, short), (f"{b},{short}", f"{a},{b}", short)):
            with self.subTest(sides):
                self.compare(*sides)
                self.assertGreater(len(self.text("body")), 500)
                self.assertNotRegex(self.text("body"), r"undefined|NaN|null|Infinity|\[object")
                self.assert_quiet()

    def test_it_fits_a_phone_in_the_dark_and_on_paper(self):
        self.browser.set_size(375, 800, mobile=True)
        sides = [self.sample(name, slower, seed, "sizes=4096,65536") for name, slower, seed in
                 (("a", 1, 1), ("b", 1.2, 2), ("c", 0.9, 3))]
        self.compare(*sides)
        self.assertEqual(self.browser.script("return document.documentElement.scrollWidth"), 375)
        self.browser.set_dark(True)
        harness.wait_until(lambda: self.browser.script("return getComputedStyle(document.body).backgroundColor") ==
                           "rgb(17, 22, 27)", "the page in dark")
        self.assertTrue(self.browser.pdf().startswith(b"%PDF-"))
        # Whatever can be clicked can be reached by the keyboard.
        self.assertEqual(self.browser.script(
            "return [...document.querySelectorAll('button, select, a, summary')].filter(e => e.tabIndex < 0).length"), 0)
        self.assert_quiet()


if __name__ == "__main__":
    harness.main()
