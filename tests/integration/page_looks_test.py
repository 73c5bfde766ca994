"""How pages look, in a real browser: nothing clipped, colours told apart, words explained, one sheet on paper."""

import itertools
import json
import subprocess

import harness
import pages
from pages import CHARTS

WIDTHS = (390, 820, 1280)
SCHEMES = (False, True)
# As long as those of many sites, and different in the middle only.
LONG_NAMES = [f"a-rather-long-storage-client-{number}.mq.example.com" for number in (1, 2, 3)]
KEY_TAB = "\ue004"
# Linear RGB as it looks to who lacks one kind of cone (Machado, Oliveira and Fernandes, 2009), and to others.
SIGHTS = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
# In CIELAB, where 2.3 is just noticeable.
APART = 15


def lab(color, sight):
    """A colour such as #0072b2 in CIELAB, as it looks."""
    parts = [int(color[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055)**2.4 for part in parts]
    red, green, blue = (min(1, max(0, sum(a * b for a, b in zip(row, linear)))) for row in SIGHTS[sight])
    x, y, z = (0.4124 * red + 0.3576 * green + 0.1805 * blue, 0.2126 * red + 0.7152 * green + 0.0722 * blue,
               0.0193 * red + 0.1192 * green + 0.9505 * blue)
    fx, fy, fz = (part**(1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x / 0.95047, y, z / 1.08883))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def distance(one, other, sight):
    return sum((a - b)**2 for a, b in zip(lab(one, sight), lab(other, sight)))**0.5


# Texts that reach out of the section that they are in, or out of the drawing; those of a table count where it can not
# be scrolled to show them.
HANGING = """
  const found = [];
  const visible = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== 'hidden' && !e.closest('.unseen, .skip, #tip');
  for (const section of document.querySelectorAll('section, header, footer')) {
    const box = section.getBoundingClientRect();
    const walker = document.createTreeWalker(section, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      const parent = node.parentElement;
      if (node.textContent.trim() === '' || !visible(parent) || parent.closest('select, .name')) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const scroll = parent.closest('.scroll, .legend');
      for (const rect of range.getClientRects()) {
        const left = scroll ? rect.left - scroll.getBoundingClientRect().left + scroll.scrollLeft : rect.left - box.left;
        const room = scroll ? scroll.scrollWidth : box.width;
        if (left < -1 || left + rect.width > room + 1) found.push(node.textContent.slice(0, 60) + ' in #' + section.id);
      }
      if (parent.scrollWidth > parent.clientWidth + 1 && getComputedStyle(parent).overflowX !== 'visible' &&
          parent.clientWidth > 0 && !parent.matches('.scroll')) found.push('cut: ' + node.textContent.slice(0, 60));
    }
  }
  return [...new Set(found)];"""

# Captions that are wider than the room in which their table is shown.
CAPTIONS = """
  return [...document.querySelectorAll('caption')].filter(e => e.getClientRects().length > 0).filter(caption => {
    const place = caption.closest('.scroll').getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(caption);
    return [...range.getClientRects()].some(r => r.left < place.left - 1 || r.right > place.right + 1);
  }).map(caption => caption.textContent);"""

# Axis labels, and labels within drawings, of one chart that lie over one another.
OVERLAPS = """
  const found = [];
  for (const chart of document.querySelectorAll('.chart, svg')) {
    const labels = [...chart.querySelectorAll('.dygraph-axis-label, .ends text, text.value.middle')].filter(e => e.closest('svg, .chart') === chart || chart.matches('.chart'));
    const boxes = labels.map(e => [e.textContent, (() => { const r = document.createRange(); r.selectNodeContents(e); return r.getBoundingClientRect(); })()]);
    boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
      if (p.width > 0 && q.width > 0 && p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 2 && q.top < p.bottom - 2) found.push(a + ' / ' + b);
    }));
  }
  return found;"""


class PageLooks(pages.PageTest):

    def renamed(self, kind, names):
        """Opens the page of a made-up report whose hosts have other names."""
        report = self.sample(kind)
        page = self.base / f"{kind}.html"
        text = page.read_text()
        for host, name in zip(report["hosts"], names, strict=True):
            text = text.replace(f'"{host["label"]}"', f'"{name}"')
        page.write_text(text)
        self.browser.open(page)

    def compare(self, *sides):
        """Opens the page of a comparison of made-up reports: each side a list of (name, how much slower)."""
        paths = []
        for side in sides:
            files = []
            for name, slower in side:
                made = self.base / f"{name}.json"
                made.write_text(subprocess.run(
                    [harness.binary("compare_sample"), str(slower), str(len(name)), "sizes=4096,65536"], check=True,
                    capture_output=True, text=True).stdout)
                files.append(str(made))
            paths.append(",".join(files))
        page = self.base / "compare.html"
        self.plimsoll("compare", *paths, "--html", page)
        self.browser.open(page)

    def open_all(self):
        """Opens each kind of page in turn."""
        for kind in ("storages", "parts", "sweep", "placement", "search", "restart", "queues", "lost", "drill", "cutoff"):
            self.sample(kind)
            yield kind
        self.compare([("a", 1), ("aa", 1.01)], [("bbb", 1.2), ("bbbb", 1.21), ("bbbbb", 1.19)], [("c", 0.8)])
        yield "compare"

    def test_nothing_is_clipped_at_any_width_in_either_scheme(self):
        for width, dark in itertools.product(WIDTHS, SCHEMES):
            self.browser.set_size(width, 900, mobile=width < 640)
            self.browser.set_dark(dark)
            for kind in self.open_all():
                where = (kind, width, dark)
                self.assertEqual(self.browser.script("return document.documentElement.scrollWidth"), width, where)
                self.assertEqual(self.browser.script(HANGING), [], where)
                self.assertEqual(self.browser.script(CAPTIONS), [], where)
                self.assertEqual(self.browser.script(OVERLAPS), [], where)
                self.assert_quiet()

    def test_the_reason_of_a_criterion_is_in_sight_below_its_row(self):
        reason = "needs 1,000 writes beyond the percentile, has 120; measure for longer"

        def undecided(report):
            for criterion in report["verdict"]["criteria"]:
                criterion.update(outcome="inconclusive", kind="host", host=LONG_NAMES[0], reason=reason, steps=[])

        for width in WIDTHS:
            self.browser.set_size(width, 900, mobile=width < 640)
            self.changed("storages", undecided)
            rows = self.browser.script(
                "return [...document.querySelectorAll('#verdict tr')].map(e => e.getBoundingClientRect().height /"
                " parseFloat(getComputedStyle(e.cells[0]).lineHeight))")
            self.assertLess(max(rows), 4, (width, rows))
            # Whole, without scrolling.
            outside = self.browser.script(
                "const place = document.querySelector('#verdict .scroll').getBoundingClientRect(); const range = document.createRange();"
                "return [...document.querySelectorAll('#verdict td')].filter(e => e.textContent === arguments[0]).map(e => {"
                "range.selectNodeContents(e); const b = range.getBoundingClientRect();"
                "return b.left < place.left - 1 || b.right > place.right + 1; })", reason)
            self.assertTrue(outside, width)
            self.assertNotIn(True, outside, width)

    def test_long_names_of_hosts_stay_different_where_they_are_cut(self):
        for width in (390, 1280):
            self.browser.set_size(width, 900, mobile=width < 640)
            self.renamed("search", LONG_NAMES)
            for place, room in (("#throughput .chip .name", 32), ("#load .chip .name", 32), ("#clocks svg .name", 32),
                                ("#distribution .ends text", 60)):
                names = self.browser.script(
                    "return [...document.querySelectorAll(arguments[0])].map(e => e.firstChild.data).filter(one => one.includes('-'))",
                    place)
                if place.endswith("text") and width == 390:
                    continue  # There is room for the figures alone.
                self.assertEqual(len(set(names)), 3, (place, width, names))
                for name in names:
                    self.assertLess(len(name), room + 1, place)
            heads = self.browser.script(
                "return [...document.querySelectorAll('#clocks tbody th')].map(e => [e.textContent, e.title])")
            self.assertEqual(len({shown for shown, _ in heads}), 3, heads)
            self.assertEqual([whole for _, whole in heads], LONG_NAMES)
            self.assertEqual([shown for shown, _ in heads if len(shown) > 24], [])
            # Nothing of a name that was shortened is cut, and the whole one is at hand.
            cut = self.browser.script(
                "return [...document.querySelectorAll('.chip .name')].filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent)")
            self.assertEqual(cut, [], width)
            self.assertEqual(self.browser.script("return [...document.querySelectorAll('#load .chip')].map(e => e.title)"), LONG_NAMES)
        self.renamed("drill", LONG_NAMES)
        names = self.browser.script("return [...document.querySelectorAll('#round svg .host')].map(e => e.firstChild.data)")
        self.assertGreaterEqual(len(set(names)), 2, names)
        self.assertEqual([name for name in names if len(name) > 28], [])
        self.assert_quiet()

    def test_the_last_sample_of_the_load_is_drawn_whole(self):
        room = ("const chart = plimsoll.page.state.charts[3](); const area = chart.graph.getArea(); const x = chart.options.x;"
                "return [area.x + area.w - chart.graph.toDomXCoord(x[x.length - 1]), chart.graph.xAxisRange()]")
        for width in WIDTHS:
            self.browser.set_size(width, 900, mobile=width < 640)
            self.sample("search")
            self.assertGreater(self.browser.script(room)[0], 3, width)
        # The charts still zoom together, and the range is that of the step.
        self.assertEqual(self.browser.script("return plimsoll.page.state.range.current"), [0, 20])
        self.browser.script("plimsoll.page.state.charts[3]().graph.updateOptions({dateWindow: [5, 10]})")
        _, (start, end) = self.browser.script(room)
        self.assertEqual((start, end), (5, 10))
        shown = self.browser.script("return plimsoll.page.state.range.current")
        self.assertEqual(shown[0], 5)
        self.assertAlmostEqual(shown[1], 9.5, delta=0.1)
        self.assertEqual(self.browser.script("return plimsoll.page.charts()[0].graph.xAxisRange()"), shown)
        self.assert_quiet()

    def test_the_times_of_a_column_have_one_unit_which_is_in_the_heading(self):

        def clocks(report):
            for number, host in enumerate(report["hosts"]):
                host["clock"].update(offset_ns=405 * 70**number, error_ns=896 * 30**number)

        mixed = """
            for (const one of document.querySelectorAll('details')) one.open = true;
            return [...document.querySelectorAll('table')].filter(e => !e.closest('.chart, #sheet') && e.rows[0].cells[0].textContent !== 'Figure')
                .flatMap(table => [...table.rows[0].cells].map((head, at) => {
                  const units = new Set([...table.tBodies[0].rows].filter(row => row.cells.length > at)
                      .map(row => row.cells[at].textContent.match(/^[^a-z]*[0-9] (ns|µs|ms|s)\\b/)).filter(found => found).map(found => found[1]));
                  return [head.textContent, ...units];
                })).filter(one => one.length > 2);"""
        for kind in self.open_all():
            self.assertEqual(self.browser.script(mixed), [], kind)
        self.changed("search", clocks)
        self.assertEqual(self.browser.script(mixed), [])
        rows = self.browser.script(
            "return [...document.querySelector('#clocks table').rows].map(row => [...row.cells].slice(0, 4).map(cell => cell.textContent))")
        self.assertEqual(rows, [["Host", "Offset, µs", "Error, µs", "Drift, ppm"], ["alpha", "0.405", "0.896", "0.4"],
                                ["beta", "28.350", "26.880", "0.7"], ["gamma", "1,984.5", "806.40", "1.0"]])
        self.assert_quiet()

    def test_the_table_of_a_placement_has_a_row_for_each_host_that_is_down(self):
        report = self.sample("placement")
        rows = self.browser.script("return [...document.querySelectorAll('#placement table tbody tr')].map(one => one.innerText)")
        self.assertEqual(len(rows), len(report["placement"]["steps"]))
        self.assertRegex(rows[0], "^all up\\s+\\S+ PASS")
        self.assertRegex(rows[2], "^beta down\\s+\\S+ FAIL")
        text = self.browser.script("return document.getElementById('placement').innerText")
        self.assertIn(report["placement"]["answer"], text)
        self.assertIn("Step 4, gamma down: did not run", text)
        self.assertIn("beta/PAYMENTS.OF.beta.1", self.browser.script("return document.body.textContent"))

    def test_the_curve_of_a_search_has_its_limit_and_knee_and_every_point(self):
        report = self.sample("search")
        chart = self.browser.script(
            "const chart = plimsoll.page.state.sweep.find(one => one.options.name === 'Latency by load');"
            "return {x: chart.options.x, names: chart.options.series.map(one => one.name), underlays: chart.underlays.length,"
            " allowed: chart.options.series.at(-1).values, p999: chart.options.series[2].values.map(one => Number.isNaN(one) ? 'end' : one),"
            " visible: chart.visible, text: document.getElementById('limit').innerText};")
        points = sorted(report["limit"]["points"], key=lambda point: point["load"])
        # By what was offered: a load that wrote less than lower ones is beyond the limit all the same, and the line ends
        # between the two.
        offered = [round(point["load"], 2) for point in points]
        self.assertEqual([round(x, 2) for x in chart["x"]], offered[:7] + [offered[7]] + offered[7:])
        self.assertLess(chart["x"][7], chart["x"][8])
        figures = ["p50", "p99", "p99.9", "max"]
        names = [f"{who}, {figure}" for who in ("all hosts", "worst host") for figure in figures]
        self.assertEqual(chart["names"], names + ["limit of p99<5ms"])
        self.assertEqual(chart["visible"], [True] * 4 + [False, True, False, False] + [True])
        self.assertEqual(set(chart["allowed"]), {5_000_000})
        self.assertEqual(chart["underlays"], 2, "the limit, which is the knee, and crosses at what exceeds the criteria")
        values = [point["cluster"]["p99_9_ns"] for point in points]
        self.assertEqual(chart["p999"], [None] + values[1:7] + ["end"] + values[7:])
        for text in ("480 writes/s per queue manager, 2,880 writes/s of all hosts, held", "from 480 to 503.1 writes/s per queue manager; 480 meets the criteria, 503.1 exceeds them",
                     "the storage: at 503.1", "480 writes/s per queue manager: most"):
            self.assertIn(text, chart["text"])
        # The table behind the chart has all points, and so has the one of the steps.
        self.browser.script("for (const one of document.querySelectorAll('#limit details')) one.open = true")
        harness.wait_until(lambda: self.browser.script("return document.querySelectorAll('#limit table').length") == 3,
                           "the tables behind the chart")
        rows = self.browser.script("return [...document.querySelectorAll('#limit table')].map(one => one.tBodies[0].rows.length)")
        self.assertEqual(rows[1:], [len(points), len(points)])
        steps = self.browser.script("return [...document.querySelectorAll('#limit table')].at(-1).innerText")
        self.assertIn("0.6 % (0.53 to 0.96 %, 1 % allowed)", steps)
        self.assertIn("exceeded, storage not recovered", steps)
        self.assert_quiet()

    def test_the_curve_of_a_search_over_the_load_factor_is_of_commits(self):
        """Of a search that plays a recording, loads are times the recorded one, and throughput and latency those of commits."""
        def recorded(report):
            report["plan"]["limit"]["over"] = report["limit"]["over"] = "load_factor"
            report["plan"]["group_commit"] = {"pattern": "/var/watched/pattern.plimsoll", "playback": "demand", "load_factor": 10}
            report["plan"]["criteria"] = ["commit_p99<5ms", "p99<3ms"]
            for name in ("limit", "exceeded_at", "knee"):
                report["limit"][name] /= 200
            for point in report["limit"]["points"]:
                point["load"] /= 200
            for step in report["steps"]:
                step.pop("rate_per_second", None)
                step.update({"purpose": "hold", "load_factor": 2.4,
                             "group_commit": {"commits_per_second": 2 * step["scopes"][-1]["iops"], "mean_write_bytes": 8192}})
        self.changed("search", recorded)
        chart = self.browser.script(
            "const chart = plimsoll.page.state.sweep.find(one => one.options.name === 'Latency by load');"
            "return {x: chart.options.xTitle, y: chart.options.yTitle, names: chart.options.series.map(one => one.name),"
            " text: document.getElementById('limit').innerText};")
        self.assertEqual(chart["x"], "Load factor: times the recorded load")
        self.assertEqual(chart["y"], "commit latency (simulated), by load factor")
        self.assertIn("limit of commit_p99<5ms", chart["names"])
        self.assertNotIn("limit of p99<3ms", chart["names"], "which is about the writes")
        for text in ("2.4 times the recorded load, 2,880 commits/s of all hosts, held", "702 commits/s per queue manager, at 10 times the recorded load"):
            self.assertIn(text, chart["text"])
        page = self.browser.script("return document.body.innerText")
        self.assertIn("hold, 2.4 times the recorded load", page)
        self.assertIn("Recording, by demand (simulated), 2.4 times as fast as recorded", page)
        self.assertIn("2.00 recorded writes in each write", page)
        self.assert_quiet()

    def test_mqs_intervals_lie_over_the_measured_bandwidth_and_in_percent_of_it(self):
        report = self.sample("mq-log")
        log = report["mq_log"]
        charts = self.browser.script(
            "return plimsoll.page.state.sweep.slice(0, 2).map(({options}) => ({title: options.yTitle, x: options.x, text: options.x.map(options.xText),"
            " series: Object.fromEntries(options.series.map(one => [one.name, one.values]))}));")
        bandwidth, percent = charts
        self.assertEqual(bandwidth["title"], "Bandwidth of one queue manager, MB/s, by write size")
        self.assertEqual(percent["title"], "Percent of the storage\u2019s bandwidth at the same write size")
        self.assertEqual(bandwidth["x"], sorted(bandwidth["x"]))
        points = [value for value in bandwidth["series"]["MQ\u2019s intervals"] if value is not None]
        self.assertEqual(sorted(points), log["mb_per_second"])
        measured = [value for value in bandwidth["series"]["storage, measured"] if value is not None]
        self.assertEqual(measured, [size["mb_per_second"] for size in log["sizes"]])
        self.assertEqual(sorted(percent["series"]["MQ\u2019s intervals"]), sorted(value for value in log["percent"] if value > 0))
        self.assertEqual(len(percent["x"]), len(bandwidth["x"]) - len(log["sizes"]) - 1, "one interval is larger than all sizes")
        named = [text for text in bandwidth["text"] if ", median" in text]
        self.assertEqual(len(named), 1)
        self.assertRegex(named[0], r"MQ at [\d.]+ % of the storage, stands for 2 intervals$")
        text = self.browser.script("return document.getElementById('mq-log').innerText")
        self.assertIn("400 intervals of <b>log.txt</b>", text)
        self.assertIn("2 intervals have writes above 128 KiB, the largest size measured: not compared.", text)
        self.assert_quiet()

    def test_the_charts_of_a_kind_of_run_are_as_wide_as_the_sheet_on_paper(self):
        for kind, place in (("restart", "#restart-redo canvas"), ("search", "#limit canvas")):
            self.sample(kind)
            self.browser.script("window.dispatchEvent(new Event('beforeprint'))")
            width = self.browser.script("return document.querySelector(arguments[0]).getBoundingClientRect().width", place)
            self.assertAlmostEqual(width, 680, delta=4, msg=kind)
            self.browser.script("window.dispatchEvent(new Event('afterprint'))")

    def test_tables_that_are_too_wide_show_that_they_scroll(self):
        self.browser.set_size(390, 900, mobile=True)
        self.sample("storages")
        wide = self.browser.script(
            "return [...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
            ".map(e => [getComputedStyle(e).backgroundAttachment, getComputedStyle(e).overflowX, e.tabIndex])")
        self.assertGreater(len(wide), 3)
        for attachment, overflow, tab in wide:
            # A shade that stays at the edge, and over it what moves with the table and hides it at the end.
            self.assertIn("local, scroll", attachment)
            self.assertEqual((overflow, tab), ("auto", 0))
        # The name of a row stays in sight.
        moved = self.browser.script(
            "const place = document.querySelector('#figures .scroll'); place.scrollLeft = 200;"
            "const cell = place.querySelector('tbody th');"
            "return [place.scrollLeft, cell.getBoundingClientRect().left - place.getBoundingClientRect().left];")
        self.assertEqual(moved, [200, 0])

    def test_the_chips_of_a_legend_are_as_high_as_one_another_and_their_words_in_the_middle(self):
        for width in WIDTHS:
            self.browser.set_size(width, 900, mobile=width < 640)
            self.sample("storages")
            chips = self.browser.script(
                "return [...document.querySelectorAll('#distribution .chip')].map(e => { const b = e.getBoundingClientRect();"
                "const n = e.querySelector('.name').getBoundingClientRect(); const s = e.querySelector('.swatch').getBoundingClientRect();"
                "const y = r => r.top + r.height / 2; return [b.height, y(n) - y(b), y(s) - y(b)]; })")
            for height, name, swatch in chips:
                self.assertAlmostEqual(height, chips[0][0], delta=0.6)
                self.assertAlmostEqual(name, 0, delta=1.5)
                self.assertAlmostEqual(swatch, 0, delta=1.5)

    def test_stalls_have_a_palette_that_is_none_of_the_hosts_for_any_eye(self):
        self.sample("storages")
        token = "return ['bg', ...arguments].slice(1).map(name => plimsoll.token(name))"
        classes = self.browser.script("return Object.values(plimsoll.stalls.CLASSES).map(one => [one[1], one[2]])")
        self.assertEqual(len({name for name, _ in classes}), len(classes))
        hatchings = [hatching for _, hatching in classes if hatching != "plain"]
        self.assertEqual(len(set(hatchings)), len(hatchings))
        for dark in SCHEMES:
            self.browser.set_dark(dark)
            harness.wait_until(lambda dark=dark: self.browser.script("return plimsoll.token('panel')") ==
                               ("#191f26" if dark else "#ffffff"), "the scheme")
            stalls = self.browser.script(token, *(name for name, _ in classes))
            hosts = self.browser.script(token, *(f"s{number}" for number in range(1, 9)))
            for sight in SIGHTS:
                for stall, host in itertools.product(stalls, hosts):
                    self.assertGreater(distance(stall, host, sight), APART, (stall, host, sight, dark))
                for one, other in itertools.combinations(stalls, 2):
                    self.assertGreater(distance(one, other, sight), APART, (one, other, sight, dark))

    def test_jargon_explains_itself_to_pointer_and_keyboard(self):
        terms = "return [...document.querySelectorAll('.term')].map(e => [e.textContent, e.title.length > 15, e.tabIndex])"
        self.sample("storages")
        found = self.browser.script(terms)
        for word in ("wavg", "Jain’s index", "SNIA’s rule", "Start skew", "Max scheduling delay", "p99.9", "±"):
            self.assertIn([word, True, 0], found)
        self.browser.script("document.querySelector('#figures .scroll').focus()")
        seen = []
        while "wavg" not in seen:
            self.browser.keys(KEY_TAB)
            word, shown = self.browser.script(
                "const tip = document.getElementById('tip');"
                "return [document.activeElement.textContent, tip === null || tip.hidden ? null : tip.innerText]")
            seen.append(word)
            self.assertLess(len(seen), 20, seen)
        self.assertIn("close to the most common latency", shown)
        self.browser.keys("\ue00c")
        self.assertTrue(self.browser.script("return document.getElementById('tip').hidden"))
        self.compare([("a", 1)], [("bbb", 1.2)])
        found = self.browser.script(terms)
        for word in ("Holm", "studentised", "autocorrelation", "adjusted p", "95 % interval"):
            self.assertIn([word, True, 0], found)
        self.assert_quiet()

    def test_skip_links_lead_to_parts_that_are_there(self):
        for kind in self.open_all():
            links = self.browser.script(
                "return [...document.querySelectorAll('a[href^=\"#\"]:not([hidden])')].map(a => [a.getAttribute('href'), "
                "document.getElementById(a.getAttribute('href').slice(1)) !== null])")
            self.assertEqual([href for href, there in links if not there], [])
            self.assertGreaterEqual(self.browser.script("return document.querySelectorAll('a.skip:not([hidden])').length"),
                                    0 if kind == "cutoff" else 2)

    def test_the_configuration_has_the_rows_of_the_text_report(self):
        shown = ("return [...document.querySelectorAll('#options > dl > div')].map(row => [row.querySelector('dt').textContent,"
                 " [...row.querySelectorAll('dd')].map(value => value.textContent)])")
        rows = [["Directories", "--qm-dirs", "/q1 (qm1, qm3-qm5), /q2 (qm2)"], ["File system", "", "nfs4 from filer1:/mq"],
                ["Placement", "", "PAYMENTS: alpha, in <b>/payments</b>"], ["Placement", "", "ORDERS: beta"]]

        def configured(data):
            data["configuration"] = rows

        self.changed_data("storages", configured)
        self.assertEqual([[title, [value.replace("\u200b", "") for value in values]]
                          for title, values in self.browser.script(shown)],
                         [["Directories --qm-dirs", [rows[0][2]]], ["File system", [rows[1][2]]],
                          ["Placement", [rows[2][2], rows[3][2]]]])
        for kind in ("storages", "placement", "drill", "search", "hostile"):
            self.sample(kind)
            rows = self.browser.script("return plimsoll.readData().configuration")
            self.assertEqual([value.replace("\u200b", "") for _, values in self.browser.script(shown) for value in values],
                             [value.replace("\u200b", "") for _, _, value in rows])

    def test_the_run_id_is_shown_once(self):

        def unnamed(report):
            report["run"]["name"] = ""

        for change in (unnamed, lambda report: None):
            self.changed("storages", change)
            told = self.browser.script("return document.body.innerText")
            self.assertEqual(told.count("7f3a21"), 1)

    def test_notes_that_are_only_counted_are_in_the_number_of_notes(self):

        def more(report):
            report["notes"] = ["one.", "two.", "three.", "... and 1,002 more like it."]

        self.changed("storages", more)
        self.assertIn("Read the 1,005 notes", self.browser.script("return document.getElementById('verdict').textContent"))
        self.assertIn("1,005 notes:", self.browser.script("return document.getElementById('sheet').textContent"))
        self.assert_quiet()

    def test_the_first_printed_page_is_the_sheet_that_is_filed(self):

        def heavy(report):
            """More of everything than the sheet has room for."""
            judged = report["verdict"]
            judged["outcome"] = "fail"
            judged["reasons"] = [f"reason {number} " + "which takes many words " * 12 for number in range(30)]
            one = judged["criteria"][0]
            judged["criteria"] = [{**one, "criterion": f"p99.{number}<10ms", "outcome": "pass"} for number in range(40)]
            judged["criteria"].append({**one, "criterion": "max<1ms", "outcome": "fail"})
            host = report["hosts"][0]
            report["hosts"] = [{**host, "label": f"a-rather-long-host-name-{number}", "kernel": f"Linux 6.{number}",
                                "mount": {**host["mount"], "mount_options": f"rw,n={number}," + "option=1048576," * 30}}
                               for number in range(60)]

        for kind, change in (("storages", None), ("sweep", None), ("many", None), ("lost", None), ("hostile", None),
                             ("drill", None), ("empty", None), ("plain", None), ("storages", heavy)):
            with self.subTest(kind, heavy=change is not None):
                self.browser.set_size(1280, 900)
                if change is None:
                    self.sample(kind)
                else:
                    self.changed(kind, change)
                self.assertFalse(self.browser.script("return document.getElementById('sheet').getClientRects().length > 0"))
                # On A4 and on letter, as wide and as high as there is room between the margins.
                for width, height in ((688, 1016), (710, 950)):
                    self.browser.script("window.dispatchEvent(new Event('beforeprint'))")
                    self.browser.devtools("Emulation.setEmulatedMedia", media="print")
                    self.browser.set_size(width, height)
                    box = self.browser.script(
                        "const s = document.getElementById('sheet'); const b = s.getBoundingClientRect();"
                        "return [b.top + scrollY, b.height, s.scrollWidth, getComputedStyle(s).breakAfter]")
                    self.assertEqual(box[0], 0)
                    self.assertLess(box[1], height)
                    self.assertLessEqual(box[2], width)
                    self.assertEqual(box[3], "page")
                    self.browser.devtools("Emulation.setEmulatedMedia", media="")
                    self.browser.script("window.dispatchEvent(new Event('afterprint'))")
                self.browser.set_dark(False)
                text = self.browser.script("return document.getElementById('sheet').textContent")
                for part in ("Configuration", "Signature", "Tested by", "Accepted by"):
                    self.assertIn(part, text)
                if kind not in ("empty", "drill", "hostile"):
                    for part in ("Storage", "Hosts", "IO/s", "Linux"):
                        self.assertIn(part, text)
                if change is heavy:
                    # Of many criteria the one that failed is there.
                    self.assertIn("max<1ms", text)
                    self.assertIn("29 more criteria", text)
                    self.assertIn("✗ FAIL", text)
        self.assert_quiet()

    def test_the_sheet_has_every_criterion_in_every_step(self):
        report = self.sample("sweep")
        rows = self.browser.script(
            "return [...document.querySelector('#sheet table').rows].map(row => [...row.cells].map(cell => cell.textContent))")
        self.assertEqual(rows[0][1:], ["Step 1, 4 KiB", "Step 2, 16 KiB", "Step 3, 64 KiB", "Step 4, 128 KiB"])
        for row, criterion in zip(rows[1:], report["verdict"]["criteria"]):
            self.assertEqual(row[0], criterion["criterion"])
            of_step = {one["step"]: one for one in criterion["steps"]} or {criterion["step"]: criterion}
            for number, cell in enumerate(row[1:], start=1):
                if number in of_step:
                    self.assertIn(of_step[number]["value_text"], cell)

    def test_the_slowest_writes_are_labelled_in_the_distribution(self):
        report = self.sample("storages")
        (step,) = report["steps"]
        for width in WIDTHS:
            self.browser.set_size(width, 900, mobile=width < 640)
            self.browser.open(self.base / "storages.html")
            labels = self.browser.script("return [...document.querySelectorAll('#distribution .ends text')].map(e => e.textContent)")
            for scope in step["scopes"]:
                if scope["kind"] in ("cluster", "host"):
                    text = f"{scope['latency']['max_ns'] / 1e6:.1f} ms"
                    self.assertTrue(any(label.startswith(text) for label in labels), (text, labels))
            # Dots and labels lie within the drawing, whole.
            outside = self.browser.script(
                "const place = document.querySelector('#distribution .frame').getBoundingClientRect();"
                "return [...document.querySelectorAll('#distribution .ends circle, #distribution .ends text')].filter(e => {"
                "const b = e.getBoundingClientRect(); return b.left < place.left || b.right > place.right + 1 || b.top < place.top - 1"
                " || b.bottom > place.bottom; }).length")
            self.assertEqual(outside, 0, width)
        # What is hidden has no label, nor what lies beyond the range.
        self.browser.script(f"{CHARTS}[2].show({CHARTS}[2].visible.map((_, at) => at === 0))")
        self.assertEqual(self.browser.script("return document.querySelectorAll('#distribution .ends text').length"), 1)
        self.browser.script(f"{CHARTS}[2].options.range.set(0, 2)")
        self.assertEqual(self.browser.script("return document.querySelectorAll('#distribution .ends text').length"), 0)
        self.assert_quiet()

    def test_swatches_have_the_dashes_of_their_lines(self):
        self.compare([("a", 1), ("aa", 1.01), ("aaa", 1.02)], [("bbbb", 1.2)])
        drawn = self.browser.script(
            f"return {CHARTS}[0].options.series.map((_, at) => {CHARTS}[0].graph.getOption('strokePattern', 's' + at))")
        self.assertEqual(len({json.dumps(pattern) for pattern in drawn[:3]}), 3)
        for place in ("#seconds .chip .swatch path", "#sides .swatch path"):
            shown = self.browser.script(
                f"return [...document.querySelectorAll('{place}')].map(e => e.getAttribute('stroke-dasharray'))")
            self.assertEqual(shown, [None if pattern is None else " ".join(map(str, pattern)) for pattern in drawn])
        self.assertEqual(self.browser.script("return [...document.querySelectorAll('#sides .side')].map(e => e.textContent)"),
                         ["A1", "A2", "A3", "B"])

    def test_the_title_of_a_comparison_names_its_sides_and_changes_are_in_words(self):
        self.compare([("san", 1)], [("tape", 1.2)])
        self.assertEqual(self.browser.script("return [document.title, document.querySelector('h1').textContent]"),
                         ["tape.json (B) against san.json (A) – Plimsoll", "tape.json (B) against san.json (A)"])
        findings = self.browser.script("return document.querySelector('#findings .glance').innerText")
        self.assertRegex(findings, r"−\d+\.\d %\s+worse")
        self.assertNotRegex(findings, "[▲▼≈]")


if __name__ == "__main__":
    harness.main()
