"""report.html in a real browser: of a short run, and of made-up reports that no run would give so soon."""

import decimal
import math
import re

import harness
import pages

CHARTS = pages.CHARTS
KEY_TAB, KEY_ENTER, KEY_SHIFT, KEY_RIGHT, KEY_LEFT, KEY_HOME = "\ue004", "\ue007", "\ue008", "\ue014", "\ue012", "\ue011"


def fixed(value, decimals):
    """As the reports print numbers."""
    return f"{decimal.Decimal(value):,.{decimals}f}"


def rate(value):
    return fixed(value, 2 if value < 100 else 0)


def latency(value_ns, unit_ns):
    value = value_ns / unit_ns
    return fixed(value, 3 if value < 100 else 2 if value < 1000 else 1 if value < 10000 else 0)


def duration(value_ns):
    """A time in the unit that suits it."""
    if value_ns < 1e3:
        return fixed(value_ns, 0) + " ns"
    if value_ns < 1e6:
        return fixed(value_ns / 1e3, 1 if value_ns < 1e4 else 0) + " µs"
    if value_ns < 1e9:
        return fixed(value_ns / 1e6, 3 if value_ns < 1e8 else 1) + " ms"
    return fixed(value_ns / 1e9, 3) + " s"


def figures(throughput, told, unit_ns):
    """The cells of a row of figures."""
    percentiles = ["–" if key in told["thin"] else latency(told[key + "_ns"], unit_ns)
                   for key in ("p50", "p90", "p99", "p99_9", "p99_99")]
    return [rate(throughput["iops"]), fixed(throughput["mb_per_second"], 2), latency(told["min_ns"], unit_ns),
            latency(told["avg_ns"], unit_ns), latency(told["wavg_ns"], unit_ns), *percentiles, latency(told["max_ns"], unit_ns)]


def bucket_end(from_ns):
    """The highest value of a bucket of a distribution."""
    return from_ns + 2 ** max(from_ns.bit_length() - 8, 0) - 1


class Page(pages.PageTest):

    def colors_of(self, canvas):
        """How many different colours a chart's canvas shows."""
        return self.browser.script(
            """const [shown, canvas] = [arguments[0], document.createElement('canvas')];
               [canvas.width, canvas.height] = [shown.width, shown.height];
               canvas.getContext('2d', {willReadFrequently: true}).drawImage(shown, 0, 0);
               const data = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
               return new Set(data).size;""", canvas)

    def ranges(self):
        """What part of the time each chart over time shows."""
        return self.browser.script(f"return {CHARTS}.filter(c => c.options.range === plimsoll.page.state.range)"
                                   ".map(c => c.graph.xAxisRange())")

    def box(self, selector):
        return self.browser.script(
            "const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'center'});"
            "const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height];", selector)

    def table(self, section, caption):
        """The cells of a table, as text, headings first; those behind a chart are opened."""
        return self.browser.script(
            """const [id, caption] = arguments;
               const section = document.getElementById(id);
               for (const details of section.querySelectorAll('details')) {
                 if (!details.open) { details.open = true; details.dispatchEvent(new Event('toggle')); }
               }
               const table = [...section.querySelectorAll('table')].find(t => t.caption.textContent.startsWith(caption));
               return [...table.rows].map(row => [...row.cells].map(cell => cell.textContent));""", section, caption)

    def test_the_page_of_a_run_shows_what_its_json_says(self):
        result = self.run_plan("--bsize", "4k,16k", "--qm", "2", "--duration", "3", "--name", "A short one")
        self.browser.open(result.results / "report.html")
        self.assert_quiet()
        report = result.report
        self.assertEqual(self.browser.script("return document.querySelector('h1').textContent"), "A short one")
        self.assertIn("COMPLETED (no criteria)", self.browser.script("return document.getElementById('verdict').textContent"))
        for number, step in enumerate(report["steps"]):
            if number > 0:
                self.browser.script("const s = document.getElementById('step-chooser'); s.selectedIndex = arguments[0];"
                                    "s.dispatchEvent(new Event('change'));", number)
            self.check_figures(step)
            self.check_seconds(step)
        sweep = self.table("sweep", "Cluster, by block size")
        self.assertEqual([row[0] for row in sweep[1:]], ["4 KiB", "16 KiB"])
        self.assertEqual([row[2] for row in sweep[1:]], [rate(harness.cluster(step)["iops"]) for step in report["steps"]])
        self.assert_quiet()

    def check_figures(self, step):
        unit_ns = 1e3 if harness.cluster(step)["latency"]["p50_ns"] < 100000 else 1e6
        rows = {(row[0], row[1]): row[2:] for row in self.table("figures", "Service time of the write call")[1:]}
        for scope in step["scopes"]:
            if scope["kind"] == "storage":
                continue
            name = "cluster" if scope["kind"] == "cluster" else scope["host"]
            self.assertEqual(rows[name, str(scope["qm"] or "all")], figures(scope, scope["latency"], unit_ns))

    def check_seconds(self, step):
        """The tables behind the charts over time hold the seconds of the JSON report."""
        for series in step["series"]:
            irregular = {row["row"]: row for row in series["irregular"]}
            whole = [row for row in range(len(series["second"])) if row not in irregular]
            self.assertGreaterEqual(len(whole), 3)
            if series["kind"] == "cluster":
                # Writes in flight at the end of the step belong to no second: they are a last point if one is the slowest of all.
                closing = [row for row, one in irregular.items() if one["closing"]]
                self.assertEqual(len(closing), 1)
                drawn = self.browser.script(f"return {CHARTS}[1].options.x")
                longest = series["latency_max_ns"]
                last = int(longest[closing[0]] > max(longest[row] for row in range(len(longest)) if row not in closing))
                self.assertEqual(len(drawn), len(series["second"]) - 1 + last)
                self.assertLess(drawn[-1 - last], step["measured_ns"] / 1e9)
                rows = self.table("latency", "Latency over time, cluster")[1:]
                for row in whole:
                    # A percentile of a second with too few writes beyond it is left out.
                    told = [series[column][row] if pages.enough(series["writes"][row], percent) else 0
                            for column, percent in (("p50_ns", "50"), ("p99_ns", "99"), ("p99_9_ns", "99.9"))]
                    self.assertEqual(rows[row][1:],
                                     [duration(one) if one else "–" for one in (*told, series["latency_max_ns"][row])])
            if series["kind"] == "host":
                rows = self.table("throughput", "Throughput over time")[1:]
                for row in whole:
                    self.assertEqual(rows[row][1:], [rate(series["writes"][row]) + " IO/s"])

    def test_response_and_service_time_are_labelled_where_there_is_a_target_rate(self):
        result = self.run_plan("--bsize", "4k,16k", "--rate", "200", "--duration", "1")
        self.browser.open(result.results / "report.html")
        labels = "return [...document.querySelectorAll('#key dt')].map(e => e.textContent)"
        told = self.browser.script(labels)
        for label in ("Response time, median", "Response time, p99", "Response time, p99.9", "Service time, p99",
                      "Slowest write, response time"):
            self.assertIn(label, told)
        # What callers felt comes first, among the key figures as in the tables.
        self.assertLess(told.index("Response time, p99"), told.index("Service time, p99"))
        captions = self.browser.script(
            "return [...document.querySelectorAll('#figures caption, #sweep caption')].map(e => e.textContent)")
        self.assertEqual([caption.split(" in ")[0] for caption in captions if " time " in caption],
                         ["Response time", "Service time of the write call"])
        self.assertIn("Cluster, by block size; response time", captions)
        # Charts, distribution and slowest writes show the response times, and the service times where that is chosen.
        for kind, other in (("response", "service"), ("service", "response")):
            self.choose_times(kind)
            self.assertEqual(self.browser.script(f"return {CHARTS}[1].options.yTitle"),
                             f"{kind} time of the writes in each second")
            self.assertIn(f"{kind} time;", self.browser.script(f"return {CHARTS}[2].options.yTitle"))
            heads = self.browser.script("return [...document.querySelectorAll('#slowest th[scope=col]')].map(e => e.textContent)")
            self.assertEqual([head.split(",")[0] for head in heads[:2]],
                             [f"{kind.capitalize()} time", f"{other.capitalize()} time"])
        (step,) = result.report["steps"][:1]
        unit_ns = 1e3 if harness.cluster(step)["latency"]["p50_ns"] < 100000 else 1e6
        rows = {(row[0], row[1]): row[2:] for row in self.table("figures", "Response time in ")[1:]}
        response = harness.cluster(step)["rate"]["response"]
        self.assertEqual(rows["cluster", "all"][0], "held" if harness.cluster(step)["rate"]["held"] else "missed")
        self.assertEqual(rows["cluster", "all"][-1], latency(response["max_ns"], unit_ns))
        self.assert_quiet()
        # Without a target rate the two are the same.
        self.browser.open(self.run_plan("--duration", "1").results / "report.html")
        self.assertEqual([label for label in self.browser.script(labels) if "Response" in label], [])
        self.assertNotIn("esponse time", self.browser.script("return document.getElementById('figures').textContent"))
        self.assertIsNone(self.browser.script("return document.getElementById('time-chooser')"))

    def test_the_parts_of_a_write_are_drawn_beside_it_and_each_alone(self):
        result = self.run_plan("--sync", "fdatasync", "--qm", "2", "--rate", "200", "--duration", "3")
        self.browser.open(result.results / "report.html")
        (step,) = result.report["steps"]
        self.assertEqual([part["name"] for part in step["operations"]], ["write_call", "sync"])
        kinds = ["response", "service", "write_call", "sync"]
        self.assertEqual(self.browser.script("return [...document.getElementById('time-chooser').options].map(o => o.textContent)"),
                         [f"{kind} time" for kind in kinds])
        lines = f"return {CHARTS}.slice(0, 3).map(c => c.options.series.map(s => [s.name, s.values]))"
        scopes = "return [...document.querySelectorAll('#latency select option')].map(o => o.textContent)"
        (host,) = [scope["host"] for scope in step["scopes"] if scope["kind"] == "host"]
        for kind in kinds[:2]:
            self.choose_times(kind)
            writes, _, distribution = self.browser.script(lines)
            self.assertEqual([name for name, _ in distribution], ["cluster", "write_call", "sync"])
            rows = self.table("distribution", "Latency by percentile")
            for part in step["operations"]:
                self.check_distribution(rows, part["name"], *self.cluster_of(part))
            self.assertEqual(self.browser.script(scopes), ["cluster", host, f"{host}/qm1", f"{host}/qm2"])
        for part in step["operations"]:
            self.choose_times(part["name"])
            throughput, latency, distribution = self.browser.script(lines)
            self.assertEqual(throughput, writes, "a part counts no writes of its own")
            self.check_part(part, latency, f"{part['name']} time of the writes")
            self.assertEqual([name for name, _ in distribution], ["cluster"])
            self.check_distribution(self.table("distribution", "Latency by percentile"), "cluster", *self.cluster_of(part))
            # There are no seconds of single queue managers.
            self.assertEqual(self.browser.script(scopes), ["cluster", host])
        self.assert_quiet()

    def test_reads_and_writes_of_a_run_are_beside_one_another_in_two_colours(self):
        result = self.run_plan("--read-percent", "50", "--qm", "2", "--duration", "3")
        self.browser.open(result.results / "report.html")
        (step,) = result.report["steps"]
        (reads,) = step["operations"]
        unit_ns = 1e3 if harness.cluster(step)["latency"]["p50_ns"] < 100000 else 1e6
        rows = self.table("figures", "Service time of the write call, and of the read call")[1:]
        told = {}
        for of, scopes in (("writes", step["scopes"]), ("reads", reads["scopes"])):
            for one in scopes:
                if one["kind"] != "storage":
                    name = (one["host"] or "cluster", str(one["qm"] or "all"), of)
                    told[name] = figures(one.get("throughput", one), one["latency"], unit_ns)
        self.assertEqual({tuple(row[:3]): row[3:] for row in rows}, told)
        self.assertEqual(len(rows), 2 * 4, "of the cluster, the host and its two queue managers")
        # The first chart has the cluster's writes and reads, in the colours of the key figures.
        lines = f"return {CHARTS}[0].options.series.map(s => [s.name, s.values])"
        for column, scale in (("writes", 1), ("bytes", 1e-6)):
            for (name, values), times in zip(self.browser.script(lines), (step, reads), strict=True):
                self.assertEqual(name, "writes" if times is step else "reads")
                (series,) = [one for one in times["series"] if one["kind"] == "cluster"]
                irregular = {row["row"] for row in series["irregular"]}
                whole = [row for row in range(len(series["second"])) if row not in irregular]
                self.assertGreaterEqual(len(whole), 3)
                self.assertEqual([values[row] for row in whole], [series[column][row] * scale for row in whole])
            self.browser.click("#throughput .switch")
        marks = """return [...document.querySelectorAll(arguments[0])].map(
                     e => [e.textContent, e.querySelector('.swatch').style.getPropertyValue('--swatch')])"""
        (_, writes_color), (_, reads_color) = chips = self.browser.script(marks, "#throughput .chip")
        self.assertNotEqual(writes_color, reads_color)
        self.assertEqual([[title.lower(), color] for title, color in self.browser.script(marks, "#key h3")], chips)
        # The distribution has writes and reads; the chart of latencies can show the reads.
        rows = self.table("distribution", "Latency by percentile")
        for name, times in (("cluster, writes", step), ("cluster, reads", reads)):
            self.check_distribution(rows, name, *self.cluster_of(times), "slowest operation")
        self.choose_times("service", " of the reads")
        self.check_part(reads, self.browser.script(lines.replace("[0]", "[1]")), "service time of the reads")
        self.assert_quiet()

    def test_the_page_of_reads_alone_speaks_of_reads(self):
        self.assertEqual(self.sample("reads")["plan"]["read_percent"], 100)
        self.browser.script("for (const d of document.querySelectorAll('details')) { d.open = true; d.dispatchEvent(new Event('toggle')); }")
        words = """const section = document.getElementById(arguments[0]);
                   return [section.textContent, ...[...section.querySelectorAll('[title]')].map(e => e.title)].join(' ');"""
        for section in ("key", "figures", "throughput", "latency", "distribution", "slowest", "stalls", "clocks"):
            self.assertNotRegex(self.browser.script(words, section), r"(?i)\b(writes?|wrote|written)\b", section)
        for text in ("Slowest read, service time", "Service time of the read call", "service time of the reads in each second",
                     "of the reads took no longer", "Slowest reads", "all read equally"):
            self.assertIn(text, self.browser.script(words, "report"))
        self.assert_quiet()

    def choose_times(self, kind, whose=""):
        """Has the charts show times of a kind."""
        self.browser.script("const select = document.getElementById('time-chooser');"
                            "select.selectedIndex = [...select.options].findIndex(one => one.textContent === arguments[0]);"
                            "select.dispatchEvent(new Event('change'));", f"{kind} time{whose}")

    def cluster_of(self, times):
        """The cluster's distribution of a part of the writes, and its longest time."""
        (distribution,) = [one for one in times["distributions"] if one["kind"] == "cluster"]
        return distribution, harness.cluster(times)["latency"]["max_ns"]

    def check_part(self, part, latency, title):
        """The chart of latencies shows the average and the maximum of each second of a part of the cluster's writes, or of reads."""
        self.assertEqual([name for name, _ in latency], ["avg", "max"])
        self.assertEqual(self.browser.script(f"return {CHARTS}[1].options.yTitle"), f"{title} in each second")
        (series,) = [one for one in part["series"] if one["kind"] == "cluster"]
        closing = {row["row"] for row in series["irregular"] if row["closing"]}
        rows = [row for row in range(len(series["second"])) if row not in closing]
        self.assertGreaterEqual(len(rows), 3)
        averages = [series["latency_sum_ns"][row] / series["writes"][row] if series["writes"][row] else None for row in rows]
        longest = [series["latency_max_ns"][row] or None for row in rows]
        self.assertEqual(latency[0][1][:len(rows)], averages)
        self.assertEqual(latency[1][1][:len(rows)], longest)
        # Writes in flight at the end of the step add a last point if one of them is the longest.
        self.assertLessEqual(len(latency[0][1]) - len(rows), len(closing))

    def test_the_heading_counts_the_threads_of_a_run_on_named_files(self):
        self.browser.open(self.run_plan("--files", "A,B", "--qm", "2", "--delay", "1ms").results / "report.html")
        self.assertIn("1 host × 2 threads", self.browser.script("return document.querySelector('.facts').textContent"))

    def test_charts_draw_on_their_canvases(self):
        self.sample("storages")
        canvases = self.browser.script(f"return {CHARTS}.map(c => c.plot.querySelectorAll('canvas')[0])")
        self.assertEqual(len(canvases), 4)
        for canvas in canvases:
            self.assertGreater(self.colors_of(canvas), 20)
        self.assertEqual(
            self.browser.script("return [...document.querySelectorAll('section')].map(s => s.id)"),
            ["verdict", "key", "options", "figures", "throughput", "latency", "distribution", "slowest", "stalls", "load",
             "clocks", "hosts", "notes"])
        self.assert_quiet()

    def test_dragging_in_one_chart_zooms_all_and_reset_shows_all_again(self):
        self.sample("storages")
        self.assertEqual(self.ranges(), [[0, 300]] * 3)
        x, y, width, height = self.box("#throughput .plot")
        # The plot begins behind the axis' labels.
        self.browser.pointer(("move", x + width * 0.4, y + height / 2), ("down",), ("move", x + width * 0.5, y + height / 2),
                             ("move", x + width * 0.6, y + height / 2), ("up",))
        ranges = self.ranges()
        self.assertEqual(ranges, [ranges[0]] * 3)
        self.assertGreater(ranges[0][0], 60)
        self.assertLess(ranges[0][1], 200)
        self.assertAlmostEqual(ranges[0][1] - ranges[0][0], 0.2 * width / (width - 66) * 300, delta=5)
        self.browser.click(".bar button[title='Show all']")
        self.assertEqual(self.ranges(), [[0, 300]] * 3)
        self.browser.click(".bar button[title='Zoom in']")
        self.assertEqual(self.ranges(), [[75, 225]] * 3)
        self.browser.click(".bar button[title='Move right']")
        self.assertEqual(self.ranges(), [[150, 300]] * 3)
        # A chart that is made anew keeps to the range.
        self.browser.click("#throughput .switch")
        self.assertEqual(self.ranges(), [[150, 300]] * 3)
        self.assert_quiet()

    def test_the_pointer_shows_the_values_of_a_second_in_all_charts(self):
        report = self.sample("storages")
        x, y, width, height = self.box("#latency .plot")
        self.browser.pointer(("move", x + width * 0.5, y + height / 2))
        where = self.browser.script("return [...document.querySelectorAll('.where')].map(w => w.textContent)")
        self.assertRegex(where[0], r"^\d:\d\d – \d:\d\d \(\d\d:\d\d:\d\d UTC\)$")
        self.assertEqual(where[0], where[1])
        minute, second = where[0].split(" ")[0].split(":")
        row = int(minute) * 60 + int(second)
        series = next(one for one in report["steps"][0]["series"] if one["kind"] == "host" and one["host"] == "alpha")
        self.assertEqual(self.browser.script("return document.querySelector('#throughput .chip .value').textContent"),
                         rate(series["writes"][row]) + " IO/s")
        self.assert_quiet()

    def test_a_host_can_be_hidden_and_shown_again(self):
        self.sample("storages")
        picture = f"return {CHARTS}[0].plot.querySelectorAll('canvas')[0].toDataURL()"
        whole = self.browser.script(picture)
        top = f"return {CHARTS}[0].graph.yAxisRange()[1]"
        height = self.browser.script(top)
        self.browser.click("#throughput .chip")
        self.assertEqual(self.browser.script("return document.querySelector('#throughput .chip').ariaPressed"), "false")
        self.assertNotEqual(self.browser.script(picture), whole)
        self.assertLess(self.browser.script(top), 0.9 * height)
        self.browser.click("#throughput .chip")
        self.assertEqual(self.browser.script(picture), whole)
        # A queue manager, in the view of its host.
        self.browser.script("const s = document.querySelector('#throughput select'); s.selectedIndex = 2;"
                            "s.dispatchEvent(new Event('change'));")
        self.assertEqual(self.browser.script("return [...document.querySelectorAll('#throughput .chip .name')].map(n => n.textContent)"),
                         ["qm1", "qm2", "qm3"])
        self.browser.click("#throughput .chip")
        self.assertEqual(self.browser.script(f"return {CHARTS}[0].graph.visibility()"), [False, True, True])
        self.assert_quiet()

    def test_the_keyboard_reaches_and_moves_everything(self):
        self.sample("storages")
        self.browser.keys(KEY_TAB)
        self.assertEqual(self.browser.script("return document.activeElement.textContent"), "To the figures")
        self.browser.keys(KEY_TAB, KEY_ENTER)
        self.assertEqual(self.browser.script("return location.hash"), "#throughput")
        for _ in range(20):
            self.browser.keys(KEY_TAB)
            if self.browser.script("return document.activeElement.className") == "frame":
                break
        self.browser.keys(KEY_HOME, KEY_RIGHT, KEY_RIGHT, KEY_LEFT)
        said = self.browser.script("return document.getElementById('live').textContent")
        self.assertRegex(said, r"^0:01 – 0:02 .*alpha [\d,]+ IO/s, .*epsilon [\d,]+ IO/s$")
        self.browser.keys("+")
        self.assertEqual(self.ranges(), [[75, 225]] * 3)
        self.browser.keys((KEY_SHIFT, KEY_RIGHT))
        self.assertEqual(self.ranges(), [[112.5, 262.5]] * 3)
        self.browser.keys("0")
        self.assertEqual(self.ranges(), [[0, 300]] * 3)
        # Whatever can be clicked can be reached.
        self.assertEqual(self.browser.script(
            "return [...document.querySelectorAll('button, select, a, summary')].filter(e => e.tabIndex < 0).length"), 0)
        self.assert_quiet()

    def test_the_heat_map_shades_what_the_lines_leave_out(self):
        self.sample("storages")
        canvas = f"return {CHARTS}[1].plot.querySelectorAll('canvas')[0]"
        plain = self.colors_of(self.browser.script(canvas))
        lowest = self.browser.script(f"return {CHARTS}[1].graph.yAxisRange()[0]")
        self.browser.click("#latency .switch:last-child")
        self.assertGreater(self.colors_of(self.browser.script(canvas)), plain + 100)
        # Below the median, too.
        self.assertLess(self.browser.script(f"return {CHARTS}[1].graph.yAxisRange()[0]"), 0.9 * lowest)
        self.browser.click("#latency .switch:last-child")
        self.assertEqual(self.colors_of(self.browser.script(canvas)), plain)
        # It is known for the cluster alone.
        self.browser.script("const s = document.querySelector('#latency select'); s.selectedIndex = 1;"
                            "s.dispatchEvent(new Event('change'));")
        self.assertTrue(self.browser.script("return document.querySelector('#latency .switch:last-child').disabled"))
        self.assert_quiet()

    def test_the_distribution_has_the_nearest_rank_of_its_buckets(self):
        report = self.sample("storages")
        rows = self.table("distribution", "Latency by percentile")
        (step,) = report["steps"]
        distributions = {(one["kind"], one["host"], one["storage"]): one for one in step["distributions"]}
        longest = {(one["kind"], one["host"], one["storage"]): one["latency"]["max_ns"] for one in step["scopes"]}
        unknown = 0
        for name, key in (("cluster", ("cluster", "", 0)), ("storage 2", ("storage", "", 2)), ("beta", ("host", "beta", 2))):
            unknown += self.check_distribution(rows, name, distributions[key], longest[key])
        self.assertGreaterEqual(unknown, 3)
        self.assert_quiet()

    def check_distribution(self, rows, name, told, longest_ns, last="slowest write"):
        """A column of the table behind the distributions has a distribution's percentiles. Returns how many are not known."""
        writes = sum(told["count"])
        unknown = 0
        for percent in ("50", "90", "99", "99.9", "99.999", "99.9999", "99.99999"):
            found = [row for row in rows if row[0].startswith(percent + " % ")]
            if not pages.enough(writes, percent):
                unknown += len(found)
                self.assertEqual([row[rows[0].index(name)] for row in found], ["–"] * len(found), (percent, name))
                continue
            rank = math.ceil(writes * decimal.Decimal(percent) / 100)
            below = 0
            for from_ns, count in zip(told["from_ns"], told["count"]):
                below += count
                if below >= rank:
                    break
            # So many of the writes were not slower than the highest value of the bucket.
            self.assertEqual([row[rows[0].index(name)] for row in found],
                             [duration(min(bucket_end(from_ns), longest_ns))], (percent, name))
        self.assertEqual(rows[-1][0], last)
        self.assertEqual(rows[-1][rows[0].index(name)], duration(longest_ns), name)
        return unknown

    def test_each_figure_of_the_load_has_its_chart(self):
        report = self.sample("storages")
        load = report["steps"][0]["load"][1]
        names = self.browser.script("return [...document.querySelector('#load select').options].map(o => o.textContent)")
        self.assertEqual(len(names), 7)
        for number, (name, column, text) in enumerate((
                ("Agent CPU", "agent_cpu", lambda value: fixed(round(value, 2), 1) + " %"),
                ("CPU wait of writers", "writer_cpu_wait", lambda value: fixed(round(value, 2), 1) + " %"),
                ("Device: write time", "disk_write_ms", lambda value: fixed(round(value, 3), 3) + " ms"))):
            self.browser.script("const s = document.querySelector('#load select'); s.selectedIndex = arguments[0];"
                                "s.dispatchEvent(new Event('change'));", number)
            rows = self.table("load", name)
            at = rows[0].index(load["host"])
            shown = [row[at] for row in rows[1:] if row[at] != "–"]
            self.assertEqual(len(shown), len(load[column]))
            for value, cell in zip(load[column], shown):
                self.assertAlmostEqual(float(cell.split(" ")[0]), float(text(value).split(" ")[0]), delta=0.11)
        self.assert_quiet()

    def test_a_long_run_says_that_it_is_thinned_and_a_short_one_does_not(self):
        self.sample("hour")
        for number, thinned in ((0, False), (1, True)):  # Hosts; the queue managers of the first.
            self.browser.script("const s = document.querySelector('#throughput select'); s.selectedIndex = arguments[0];"
                                "s.dispatchEvent(new Event('change'));", number)
            self.assertEqual("thinned" in self.browser.script("return document.getElementById('throughput').textContent"), thinned)
        self.assertEqual(self.browser.script(f"return {CHARTS}[1].options.x.length"), 3600)
        self.assert_quiet()

    def test_hostile_text_stays_text(self):
        report = self.sample("hostile")
        self.browser.script("for (const d of document.querySelectorAll('details')) d.open = true;")
        x, y, width, height = self.box("#throughput .plot")
        self.browser.pointer(("move", x + width * 0.5, y + height / 2))
        self.assertIsNone(self.browser.script("return window.broken === undefined ? null : window.broken"))
        # Of a long name, the whole is at hand.
        names = self.browser.script(
            "return [...document.querySelectorAll('#throughput .chip')].map(e => e.title || e.querySelector('.name').textContent)")
        # A character that would turn the text's direction, or one that nobody would see, is shown, not obeyed.
        self.assertTrue(any("\U000e0041" in host["label"] for host in report["hosts"]))
        self.assertEqual(names, [re.sub("[\u202e\U000e0041]", "\ufffd", host["label"]) for host in report["hosts"]])
        self.assertEqual(self.browser.script("return document.querySelector('h1').textContent"), report["run"]["name"])
        self.assertEqual(self.browser.script("return document.title"),
                         "PASS run " + report["run"]["name"] + " – Plimsoll")
        self.assertEqual(self.browser.script("return document.querySelectorAll('img, b, iframe, object, body script:not([type])').length"),
                         self.browser.script("return document.querySelectorAll('body > script:not([type])').length"))
        self.assertIn("<script>window.broken=1</script>", self.browser.script("return document.getElementById('hosts').textContent"))
        self.assertEqual(self.browser.script("return [...document.querySelectorAll('#verdict .warning')].map(e => e.textContent)"),
                         ["The load generator may be CPU-bound in step 1; the criteria hold for the load that was reached.",
                          "<script>window.broken=1</script>"])
        self.assert_quiet()

    def test_a_drill_shows_all_its_rounds_and_one_in_detail(self):
        report = self.sample("drill")
        self.assertEqual(self.browser.script("return [...document.querySelectorAll('section')].map(s => s.id)"),
                         ["verdict", "takeovers", "round", "logs", "options", "hosts", "notes"])
        bars = self.browser.script("return [...document.querySelectorAll('.bar-of-round title')].map(t => t.textContent)")
        self.assertEqual(len(bars), 12)
        self.assertIn("Round 7, kill, qm1, alpha → beta: taken over, gap 4.010 s", bars[6])
        signs = "return [...document.querySelectorAll('.bar-of-round')].map(b => (b.querySelector('.sign') || {}).textContent || '')"
        self.assertEqual(self.browser.script(signs), ["", "", "", "✗", "?", "", "", "", "", "", "", ""])
        # One that failed goes before one with a longer gap; a click on another bar shows that.
        chosen = "return document.getElementById('round-chooser').value"
        self.assertEqual(self.browser.script(chosen), "4")
        self.browser.script("document.querySelectorAll('.bar-of-round')[6].dispatchEvent(new Event('click'))")
        self.assertEqual(self.browser.script(chosen), "7")
        picture = report["ha"]["pictures"][1]
        (qm,) = picture["queue_managers"]
        axis = self.browser.script("const a = document.querySelector('#round svg .axis line'); return [+a.getAttribute('x1'), +a.getAttribute('x2')]")
        scale = (axis[1] - axis[0]) / (picture["to_ns"] - picture["from_ns"])

        def place(ns):
            return axis[0] + (ns - picture["from_ns"]) * scale

        def boxes(selector):
            return self.browser.script(
                "return [...document.querySelector('#round svg').querySelectorAll(arguments[0])]"
                ".map(e => [+e.getAttribute('x'), +e.getAttribute('x') + +e.getAttribute('width')])", selector)

        marks = [qm[name] for name in ("fault_ns", "free_ns", "granted_ns", "replayed_ns", "first_write_ns")]
        self.assert_places(boxes(".phases rect"), list(zip(marks, marks[1:])), place)
        for number, lane in enumerate(qm["lanes"], start=1):
            self.assert_places(boxes(f".host-{number} .state"), [(one["from_ns"], one["to_ns"]) for one in lane["states"]], place)
            self.assert_places(boxes(f".host-{number} .lock"), [(one["from_ns"], one["to_ns"]) for one in lane["locks"]], place)
        # The slowest write of another queue manager ends where its dot is.
        (other,) = picture["others"]
        dots = self.browser.script("return [...document.querySelectorAll('#round .other circle')].map(c => +c.getAttribute('cx'))")
        for dot, frame in zip(dots, other["frames"]):
            self.assertAlmostEqual(dot, place(frame["slowest_from_ns"] + frame["slowest_ns"]), delta=1)
        rows = self.table("takeovers", "Rounds")
        self.assertEqual(len(rows), 1 + 24)
        self.assertIn("lock standby", " ".join(" ".join(row) for row in self.table("round", "qm1: events")))
        self.assertNotRegex(self.browser.script("return document.body.innerText"), r"undefined|NaN|null|\[object")
        self.browser.set_size(375, 800, mobile=True)
        self.sample("drill")
        self.assertEqual(self.browser.script("return document.documentElement.scrollWidth"), 375)
        self.assert_quiet()

    def assert_places(self, boxes, times, place):
        self.assertEqual(len(boxes), len(times))
        for (left, right), (begin, end) in zip(boxes, times):
            self.assertAlmostEqual(left, place(begin), delta=1)
            self.assertAlmostEqual(right, place(end), delta=1)

    def test_ten_thousand_rounds_are_a_strip_of_their_worst(self):
        self.sample("long-drill")
        bars = self.browser.script("return document.querySelectorAll('.bar-of-round').length")
        self.assertTrue(100 < bars < 500, bars)
        # What failed, proves nothing or took longest is in the strip, whatever stands beside it.
        self.assertIn("✗", self.browser.script("return document.querySelector('.bar-of-round .sign').textContent"))
        heights = self.browser.script("return [...document.querySelectorAll('.bar-of-round')].map(b => [...b.querySelectorAll('[class^=phase]')]"
                                      ".reduce((sum, r) => sum + +r.getAttribute('height'), 0))")
        self.assertEqual(heights.index(max(heights)), 0, "round 7 has the longest gap")
        self.assertGreater(max(heights), 1.2 * sorted(heights)[-2])
        self.assertIn("<script>", self.browser.script("return document.querySelector('#round h3').textContent"))
        self.assertIsNone(self.browser.script("return window.broken === undefined ? null : window.broken"))
        self.assert_quiet()

    def test_skip_links_lead_to_parts_that_are_there(self):
        shown = """return [...document.querySelectorAll('.skip')].filter(link => link.checkVisibility())
                   .map(link => [link.hash, document.querySelector(link.hash) !== null])"""
        for kind, places in (("plain", ["#figures", "#throughput"]), ("drill", ["#takeovers", "#round"]), ("empty", [])):
            with self.subTest(kind):
                self.sample(kind)
                self.assertEqual(self.browser.script(shown), [[place, True] for place in places])

    def test_the_policy_stops_what_is_not_the_pages_own(self):
        self.sample("plain")
        self.assert_quiet()
        # Even where somebody got an element into the page, it must not run, load, or send.
        self.browser.script(
            """const script = document.createElement('script'); script.textContent = 'window.broken = 1';
               document.body.append(script);
               const image = document.createElement('img'); image.src = 'http://127.0.0.1:9/x.png'; document.body.append(image);
               window.refused = 0;
               document.addEventListener('securitypolicyviolation', () => ++window.refused);
               fetch('http://127.0.0.1:9/y').catch(() => {});""")
        harness.wait_until(lambda: self.browser.script("return window.refused") >= 1, "a refusal")
        self.assertIsNone(self.browser.script("return window.broken === undefined ? null : window.broken"))
        said = "\n".join(self.browser.console())
        for what in ("inline script violates", "image 'http://127.0.0.1:9/x.png' violates", "'http://127.0.0.1:9/y' violates"):
            self.assertIn(what, said)

    def test_what_is_absent_leaves_no_hole(self):
        for kind in ("plain", "cutoff", "empty", "mixed"):
            with self.subTest(kind):
                self.sample(kind)
                self.assertGreater(len(self.browser.script("return document.body.innerText")), 100)
                self.assertNotRegex(self.browser.script("return document.body.innerText"), r"undefined|NaN|null|\[object")
                self.assert_quiet()

    def test_it_fits_a_phone_in_the_dark_and_on_paper(self):
        self.browser.set_size(375, 800, mobile=True)
        self.sample("storages")
        self.assertEqual(self.browser.script("return document.documentElement.scrollWidth"), 375)
        light = self.browser.script("return getComputedStyle(document.body).backgroundColor")
        grid = f"return {CHARTS}[0].graph.getOption('gridLineColor')"
        light_grid = self.browser.script(grid)
        self.browser.set_dark(True)
        harness.wait_until(lambda: self.browser.script(grid) != light_grid, "the charts in dark")
        self.assertNotEqual(self.browser.script("return getComputedStyle(document.body).backgroundColor"), light)
        self.assertTrue(self.browser.pdf().startswith(b"%PDF-"))
        self.assertEqual(self.browser.script("return document.documentElement.className"), "")
        self.assert_quiet()


if __name__ == "__main__":
    harness.main()
