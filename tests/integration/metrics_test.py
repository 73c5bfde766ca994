"""`--metrics` serves a run that is under way to Prometheus, and `--metrics-file` leaves its end result."""

import re
import resource
import shutil
import signal
import socket
import subprocess
import urllib.error
import urllib.request

import harness

SAMPLE = re.compile(r'([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\]|\\.)*",?)*\})? (\S+)')
URL = r"^plimsoll: metrics are at (http://127\.0\.0\.1:(\d+)/metrics)$"
VERDICTS = ("pass", "fail", "inconclusive", "done")


def parsed(text):
    """Values by sample, name and labels together; each line is of the format, and no sample is there twice."""
    samples = {}
    for line in text.splitlines():
        if line.startswith(("# HELP ", "# TYPE ")):
            continue
        match = SAMPLE.fullmatch(line)
        if match is None or match.group(1) + (match.group(2) or "") in samples:
            raise AssertionError(f"not a sample of its own: {line!r}")
        samples[match.group(1) + (match.group(2) or "")] = float(match.group(3))
    return samples


def sum_of(samples, metric):
    return sum(value for sample, value in samples.items() if sample.split("{")[0] == metric)


def scrape(url):
    with urllib.request.urlopen(url, timeout=harness.LONG_S) as answer:
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8", answer.headers
        return answer.read().decode()


def totals(report):
    """Operations and bytes of all steps, those in flight at their ends included."""
    clusters = [harness.cluster(step) for step in report["steps"]]
    return (sum(cluster["latency"]["count"] for cluster in clusters),
            sum(cluster["bytes"] + cluster["closing"]["bytes"] for cluster in clusters))


class Metrics(harness.PlimsollTest):
    in_memory = True
    runs_ahead = True

    def serving_run(self, *arguments):
        """A run with --metrics, and the URL that it printed."""
        run = self.start_run("--metrics", "0", *arguments)
        return run, run.await_err(URL).group(1)

    def test_counters_grow_to_the_totals_of_the_report(self):
        file = self.base / "plimsoll.prom"
        run, url = self.serving_run("--duration", "2s", "--qm", "2", "--bsize", "4k,16k", "--metrics-file", file)
        scrapes = []
        while run.running():
            try:
                text = scrape(url)
            except (urllib.error.URLError, ConnectionError):
                continue  # It has ended, or is about to.
            if not scrapes or text != scrapes[-1]:
                scrapes.append(text)
        result = self.finished(run, run.results, code=(0, 3))
        before = {}
        seen = []
        for text in scrapes:
            now = parsed(text)
            for sample, value in before.items():
                if "_total" in sample or "_seconds_" in sample.split("{")[0] and "_bound_" not in sample:
                    self.assertGreaterEqual(now[sample], value, sample)
            self.assertEqual(sum_of(now, "plimsoll_operation_duration_seconds_count"), sum_of(now, "plimsoll_operations_total"))
            seen.append(sum_of(now, "plimsoll_operations_total"))
            before = now
        self.assertGreater(len(set(seen)), 2, "the counts never grew")
        self.assertIn(1.0, [parsed(text)['plimsoll_phase{phase="running"}'] for text in scrapes])
        operations, written = totals(result.report)
        self.assertLessEqual(before["plimsoll_step"], 2)
        self.assertLessEqual(seen[-1], operations)
        self.assertLessEqual(sum_of(before, "plimsoll_bytes_total"), written)

        end = parsed(file.read_text())
        clusters = {sample: value for sample, value in end.items() if 'scope="cluster"' in sample}
        self.assertEqual(sum_of(clusters, "plimsoll_step_operation_duration_seconds_count"), operations)
        self.assertEqual(sum_of(clusters, "plimsoll_step_bytes"), written)
        outcome = result.report["verdict"]["outcome"]
        for verdict in VERDICTS:
            self.assertEqual(end[f'plimsoll_verdict{{outcome="{verdict}"}}'], verdict == outcome)

    def test_what_is_shown_while_a_step_runs_is_shown_of_each_host(self):
        agents = [self.agent(name) for name in ("alpha", "beta")]
        run, url = self.serving_run("--hosts", ",".join(agent.address for agent in agents), "--duration", "60s", "--rate", "100",
                                    "--require", "hosts>=1")

        def measured():
            samples = parsed(scrape(url))
            return samples if sum_of(samples, "plimsoll_operation_response_seconds_count") > 0 else None

        shown = harness.wait_until(measured, "operations with a rate")
        for host in ("alpha", "beta"):
            self.assertEqual(shown[f'plimsoll_host_up{{host="{host}"}}'], 1)
        with_clock = harness.wait_until(
            lambda: [value for sample, value in parsed(scrape(url)).items() if sample.startswith("plimsoll_clock_error_bound_seconds{")],
            "the clocks")
        self.assertTrue(all(0 < value < 1 for value in with_clock), with_clock)
        agents[1].end()
        harness.wait_until(lambda: parsed(scrape(url))['plimsoll_host_up{host="beta"}'] == 0, "the lost host")
        run.signal(signal.SIGINT)
        self.finished(run, run.results, code=3)

    def test_a_port_in_use_is_refused_before_anything_is_made(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            out = self.base / "results"
            for command in (("run",), ("limit", "--require", "p99<1s"), ("restart-time",)):
                refused = self.plimsoll(*command, "--dir", self.dir, "--out", out, "--metrics", port, code=2)
                self.assertEqual(refused.errors, [f"plimsoll: --metrics: port {port} is in use by another program; pass another one, "
                                                  f"or 0 for any that is free (listen on {port}: Address already in use (98))"])
        self.assertFalse(out.exists())
        self.assert_nothing_left()
        for wrong in ("x", "65536", "localhost:9101", ":9101"):
            refused = self.plimsoll("run", "--dir", self.dir, "--metrics", wrong, code=2)
            self.assertRegex(refused.err, r"^plimsoll: --metrics: '?.*'? is not a port, or an address and a port")

    def test_hostile_clients_do_not_disturb_the_run(self):
        # Each connection is a descriptor of this test.
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        run, url = self.serving_run("--duration", "3s")
        port = int(re.search(r":(\d+)/", url).group(1))
        clients = []
        for number in range(1000):
            client = socket.create_connection(("127.0.0.1", port), timeout=harness.LONG_S)
            clients.append(client)
            try:
                client.sendall((b"GET /metrics HTTP/1.1\r\n", b"", b"X" * 65536, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")[number % 4])
            except ConnectionError:
                pass  # It has been closed for a newer one.
        self.assertIn("plimsoll_phase", scrape(url))
        with self.assertRaises(urllib.error.HTTPError) as other:
            urllib.request.urlopen(url.replace("/metrics", "/"), timeout=harness.LONG_S)
        self.assertEqual(other.exception.code, 404)
        result = self.finished(run, run.results, code=(0, 3))
        for client in clients:
            client.close()
        self.assertEqual(result.report["run"]["state"], "complete")
        self.assert_nothing_left()

    def test_a_run_that_cannot_begin_leaves_no_verdict_of_an_earlier_one(self):
        file = self.base / "plimsoll.prom"
        self.run_plan("--metrics-file", file, code=(0, 3))
        self.assertEqual(sum_of(parsed(file.read_text()), "plimsoll_verdict"), 1)
        self.plimsoll("run", "--dir", self.base / "missing" / "dir", "--metrics-file", file, code=(2, 4))
        self.assertEqual(sum_of(parsed(file.read_text()), "plimsoll_verdict"), 0)

    def test_promtool_finds_nothing_wrong(self):
        if shutil.which("promtool") is None:
            self.skipTest("promtool, of Debian's package prometheus, is not installed")
        file = self.base / "plimsoll.prom"
        run, url = self.serving_run("--duration", "60s", "--rate", "100", "--require", "p99<1s", "--metrics-file", file)
        harness.wait_until(lambda: sum_of(parsed(scrape(url)), "plimsoll_operations_total") > 0, "operations")
        live = scrape(url)
        run.signal(signal.SIGINT)
        self.finished(run, run.results, code=3)
        for text in (live, file.read_text()):
            checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False,
                                     timeout=harness.LONG_S)
            self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))


if __name__ == "__main__":
    harness.main()
