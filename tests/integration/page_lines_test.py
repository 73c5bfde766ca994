"""What the charts of report.html draw: of lost hosts, of many hosts and queue managers, of few writes."""

import harness
import pages
from pages import CHARTS, choose, enough


class PageLines(pages.PageTest):

    def test_percentiles_of_seconds_with_too_few_writes_are_left_out(self):
        report = self.sample("storages")
        views = self.browser.script("return [...document.querySelector('#latency select').options].map(o => o.textContent)")
        seen = set()
        for scope, (kind, host, qm) in (("cluster", ("cluster", "", 0)), ("alpha", ("host", "alpha", 0)),
                                        ("alpha/qm1", ("qm", "alpha", 1))):
            self.browser.script(choose("latency", views.index(scope)))
            (series,) = [one for one in report["steps"][0]["series"] if (one["kind"], one["host"], one["qm"]) == (kind, host, qm)]
            shown = self.browser.script(f"return {CHARTS}[1].options.series.map(s => s.values)")
            for number, (column, percent) in enumerate((("p50_ns", "50"), ("p99_ns", "99"), ("p99_9_ns", "99.9"))):
                wanted = [value if enough(writes, percent) else None
                          for value, writes in zip(series[column], series["writes"])]
                self.assertEqual(shown[number], wanted, (scope, column))
                seen |= {(percent, value is None) for value in wanted}
            self.assertEqual(shown[3], series["latency_max_ns"])
        self.assertLessEqual({("99", False), ("99.9", False), ("99.9", True)}, seen)

    def test_a_step_of_hours_is_drawn_by_minute(self):
        report = self.sample("minutes")
        (step,) = report["steps"]
        (cluster,) = [one for one in step["minutes"] if one["kind"] == "cluster"]
        hosts = [one for one in step["minutes"] if one["kind"] == "host"]
        throughput, latency = self.browser.script(
            f"return {CHARTS}.slice(0, 2).map(c => [c.options.x, c.options.series.map(s => s.values), c.options.xTitle, c.options.yTitle])")
        middles = [second + 30 for second in cluster["second"]]
        for x, _, x_title, _ in (throughput, latency):
            self.assertEqual(x, middles)
            self.assertEqual(x_title, "Time in step, by minute")
        self.assertIn("in each minute", latency[3])
        self.assertEqual(throughput[1], [[writes / 60 for writes in one["writes"]] for one in hosts])
        self.assertEqual(latency[1][1], [value if enough(writes, "99") else None
                                         for value, writes in zip(cluster["p99_ns"], cluster["writes"])])
        self.assertNotIn(None, latency[1][3])
        # A zoom ends where nothing finer is known.
        shown = self.browser.script("const r = plimsoll.page.state.range; for (let i = 0; i < 20; ++i) r.zoom(0.5);"
                                    "return r.current[1] - r.current[0];")
        self.assertEqual(shown, 30)
        self.assert_quiet()

    def test_a_host_that_is_lost_adds_nothing_afterwards(self):
        report = self.sample("lost")
        (step,) = report["steps"]
        (cluster,) = [one for one in step["series"] if one["kind"] == "cluster"]
        (lost,) = [one for one in step["series"] if (one["kind"], one["host"]) == ("host", "beta")]
        self.assertLess(len(lost["second"]), len(cluster["second"]))
        tops = self.browser.script(
            f"const sets = {CHARTS}[0].graph.layout_.points;"
            "return sets[0].map((_, row) => Math.max(...sets.map(points => points[row].yval_stacked).filter(Number.isFinite)));")
        self.assertEqual([round(top) for top in tops], cluster["writes"])
        self.assert_quiet()

    def test_of_many_hosts_the_smallest_are_stacked_as_one(self):
        report = self.sample("many")
        series = self.browser.script(f"return {CHARTS}[0].options.series.map(s => [s.name, s.values])")
        self.assertEqual(len(series), 24)
        self.assertEqual(series[-1][0], "233 other hosts")
        totals = {one["host"]: sum(one["writes"]) for one in report["steps"][0]["series"] if one["kind"] == "host"}
        shown = [name for name, _ in series[:-1]]
        rest = [total for host, total in totals.items() if host not in shown]
        self.assertGreaterEqual(min(totals[name] for name in shown), max(rest))
        self.assertEqual(sum(series[-1][1]), sum(rest))
        self.assert_quiet()

    def test_of_many_queue_managers_some_are_hidden_and_none_is_added_up(self):
        self.sample("queues")
        self.browser.script(choose("throughput", 1))
        self.assertEqual(self.browser.script(f"return {CHARTS}[0].options.series.map(s => s.name)"),
                         [f"qm{number}" for number in range(1, 31)])
        self.assertEqual(self.browser.script(f"return {CHARTS}[0].graph.visibility()"), [True] * 24 + [False] * 6)
        self.assertIn("6 of 30 queue managers are hidden",
                      self.browser.script("return document.getElementById('throughput').textContent"))
        self.assert_quiet()


if __name__ == "__main__":
    harness.main()
