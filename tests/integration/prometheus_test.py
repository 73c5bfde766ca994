"""Debian's Prometheus scrapes a run with `--metrics`, and its own API answers with the run's figures."""

import json
import re
import shutil
import signal
import time
import unittest
import urllib.parse
import urllib.request

import harness
import metrics_test

CONFIGURATION = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: plimsoll
    static_configs: [{{targets: ["{target}"]}}]
"""
LABEL = re.compile(r'([a-z_]+)="([^"]*)"')


def by_labels(samples):
    """Values of an exposed text by name and labels, however the labels are ordered."""
    return {(sample.split("{")[0], frozenset(LABEL.findall(sample))): value for sample, value in samples.items()}


def labels_of(metric):
    """The labels of a stored series, without those that Prometheus adds."""
    return frozenset((label, value) for label, value in metric.items() if label not in ("__name__", "instance", "job"))


class Prometheus:
    """A server of the test's own on a loopback port, which scrapes one target."""

    def __init__(self, test, target):
        place = test.base / "prometheus"
        place.mkdir()
        (place / "prometheus.yml").write_text(CONFIGURATION.format(target=target))
        process = test.start(harness.Process, [
            "prometheus", f"--config.file={place}/prometheus.yml", f"--storage.tsdb.path={place}/data",
            "--web.listen-address=127.0.0.1:0"
        ])
        self._address = process.await_err(r'msg="Listening on" address=(127\.0\.0\.1:\d+)').group(1)
        process.await_err("Server is ready to receive web requests")

    def get(self, path, **parameters):
        url = f"http://{self._address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=harness.LONG_S) as answer:
            return json.load(answer)["data"]

    def query(self, expression):
        """Values by the host of each result, "" where it has none."""
        return {one["metric"].get("host", ""): float(one["value"][1]) for one in self.get("query", query=expression)["result"]}

    def scrape_after(self, moment_s):
        """All samples of one scrape that began after the moment, or None if there is none yet."""
        series = self.get("query", query='{__name__=~"plimsoll_.*"}[10m]')["result"]
        times = {when for one in series for when, _ in one["values"] if when > moment_s}
        if not times:
            return None
        return {(one["metric"]["__name__"], labels_of(one["metric"])): float(value)
                for one in series for when, value in one["values"] if when == max(times)}


class Scraped(harness.PlimsollTest):
    in_memory = True
    agents_ahead = True

    def setUp(self):
        super().setUp()
        if shutil.which("prometheus") is None:
            raise unittest.SkipTest("prometheus, of Debian's package of that name, is not installed")
        self.agents = [self.agent(name) for name in ("alpha", "beta")]
        self.serving = self.start_run("--hosts", ",".join(agent.address for agent in self.agents), "--metrics", "0", "--qm", "2",
                                          "--duration", "300s", "--rate", "100", "--require", "hosts>=1")
        self.url, port = self.serving.await_err(metrics_test.URL).groups()
        self.prometheus = Prometheus(self, f"127.0.0.1:{port}")

    def await_value(self, expression, wanted):
        """Waits until the query has the wanted value for each host."""
        return harness.wait_until(lambda: (values := self.prometheus.query(expression)) == wanted and values, f"{expression}: {wanted}")

    def test_its_api_answers_with_what_the_run_serves(self):
        harness.wait_until(lambda: self.prometheus.query("count(plimsoll_operation_response_seconds_count > 0) == 4"),
                           "operations of two queue managers on two hosts")
        before = by_labels(metrics_test.parsed(metrics_test.scrape(self.url)))
        moment_s = time.time() + 0.01  # Prometheus moves the time of a scrape by up to 2 ms.
        stored = harness.wait_until(lambda: self.prometheus.scrape_after(moment_s), "a later scrape")
        after = by_labels(metrics_test.parsed(metrics_test.scrape(self.url)))
        self.assertLessEqual(set(before), set(stored))
        self.assertLessEqual(set(stored), set(after))
        buckets = 0
        for (name, labels), value in stored.items():
            if name.endswith(("_total", "_bucket", "_sum", "_count")):
                buckets += name.endswith("_bucket")
                self.assertLessEqual(before.get((name, labels), 0), value, (name, labels))
                self.assertLessEqual(value, after[name, labels], (name, labels))
        # Two hosts, two queue managers, service and response times.
        self.assertEqual(buckets % 8, 0)
        self.assertGreater(buckets, 80)
        for host in ("alpha", "beta"):
            self.assertEqual(stored["plimsoll_host_up", frozenset({("host", host)})], 1)

    def test_queries_give_percentiles_throughput_and_states_of_hosts(self):
        self.await_value("plimsoll_host_up", {"alpha": 1, "beta": 1})
        percentile = "histogram_quantile(0.99, sum by (host, le) (rate(plimsoll_operation_duration_seconds_bucket[1m])))"
        found = harness.wait_until(
            lambda: (values := self.prometheus.query(f"{percentile} > 0")).keys() == {"alpha", "beta"} and values, "a p99 of each host")
        self.assertLess(max(found.values()), harness.LONG_S)
        for metric in ("operations", "bytes"):
            harness.wait_until(
                lambda metric=metric: self.prometheus.query(f"sum by (host) (rate(plimsoll_{metric}_total[1m])) > 0").keys() == {"alpha", "beta"},
                f"{metric} a second of each host")
        harness.wait_until(
            lambda: [(target["health"], target["lastError"]) for target in self.prometheus.get("targets")["activeTargets"]] == [("up", "")],
            "a target without an error")
        for metric, kind in (("plimsoll_operation_duration_seconds", "histogram"), ("plimsoll_operations_total", "counter"),
                             ("plimsoll_host_up", "gauge")):
            self.assertEqual([one["type"] for one in self.prometheus.get("metadata", metric=metric)[metric]], [kind])

        self.agents[1].end()
        self.await_value("plimsoll_host_up", {"alpha": 1, "beta": 0})
        self.serving.signal(signal.SIGINT)
        result = self.finished(self.serving, self.serving.results, code=3)
        self.await_value("up", {"": 0})
        operations, written = metrics_test.totals(result.report)
        (last,) = self.prometheus.query("sum(max_over_time(plimsoll_operations_total[10m]))").values()
        self.assertTrue(0 < last <= operations, (last, operations))
        (last,) = self.prometheus.query("sum(max_over_time(plimsoll_bytes_total[10m]))").values()
        self.assertTrue(0 < last <= written, (last, written))


if __name__ == "__main__":
    harness.main()
