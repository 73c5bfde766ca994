#!/usr/bin/env python3
"""Benchmarks of whole runs with the real programs, on this machine alone: what each costs and how exact it is.

Programs come from PLIMSOLL_BIN, or from build/bench/bin or build/release/bin. Every sub-command prints a table with
minimum, median and maximum beside its budget (docs/performance.md), or JSON with --json.
"""

import argparse
import os
import signal
import subprocess
import threading
import time
import urllib.request

from bench_support import (LONG_S, Bench, Table, allow_many_files, binary, cpu_s, hosts_file, memory_peak_mib, phase_times,
                           writer_times)

# The run was whole; a step in memory may be found to be limited by the harness, which is no matter here.
WHOLE = (0, 3)
SMALL = ["--file-size", "64k", "--num-files", "2"]
SHORT = [*SMALL, "--duration", "500ms"]
SHORTEST = ["--duration", "100ms", "--file-size", "4k", "--num-files", "1"]
SHORTEST_NS = 100_000_000
MEMORY = "/dev/shm"


def skew_us(run):
    return run.report["steps"][0]["start_skew"]["skew_ns"] / 1000


def skew(options, table):
    """Latest minus earliest first write of a step, as the report tells it."""
    with Bench(options.place) as bench:
        late, spread = [], []
        for _ in range(options.runs):
            run = bench.run("--qm", 1, *SHORT).finish()
            late += [(first - start) / 1000 for start, first, _ in writer_times(run)]
        for _ in range(options.runs):
            spread.append(skew_us(bench.run("--qm", 2, *SHORT).finish()))
        table.add("1 agent x 1 writer: first write after the start", "us", late, median=50, maximum=300)
        table.add("1 agent x 2 writers: start skew", "us", spread, median=50, maximum=300)
    for count, median, maximum in ((4, 200, 600), (64, 5000, None)):
        with Bench(options.place) as bench:
            _, addresses = bench.agents(count)
            hosts = hosts_file(bench, addresses)
            spread = [skew_us(bench.run("--hosts-file", hosts, *SHORT).finish()) for _ in range(options.runs)]
            table.add(f"{count} agents x 1 writer: start skew", "us", spread, median=median, maximum=maximum)


def fleet(options, table):
    """What 64 agents cost: time around an empty step, and the controller's CPU time for a step of 5 s."""
    for place, name, budget in ((MEMORY, "tmpfs", 0.2), (options.place, "disk", None)):
        with Bench(place) as bench:
            _, addresses = bench.agents(64)
            hosts = hosts_file(bench, addresses)
            around = []
            for _ in range(options.runs):
                around.append(bench.run("--hosts-file", hosts, *SHORTEST).finish(WHOLE).wall_s - 0.1)
            table.add(f"64 agents: start and stop of an empty run, {name}", "s", around, median=budget)
    with Bench(options.place) as bench:
        _, addresses = bench.agents(64)
        hosts = hosts_file(bench, addresses)
        used = []
        for _ in range(max(3, options.runs // 4)):
            used.append(bench.run("--hosts-file", hosts, *SMALL, "--duration", "5s").finish().cpu_s)
        table.add("64 agents: controller's CPU time for a 5 s run, disk", "s", used, median=0.25)


def phases(options, table):
    """Where the time of an empty run of 64 agents goes, by the times of the journal's records."""
    with Bench(MEMORY) as bench:
        _, addresses = bench.agents(64)
        hosts = hosts_file(bench, addresses)
        runs = [bench.run("--hosts-file", hosts, *SHORTEST).finish(WHOLE) for _ in range(options.runs)]
        times = [phase_times(run, SHORTEST_NS) for run in runs]
    for name in times[0]:
        table.add(name, "ms", [1e3 * of_run[name] for of_run in times])
    table.add("all of it, without the step", "ms", [1e3 * run.wall_s - SHORTEST_NS / 1e6 for run in runs])
    table.add("controller's CPU time", "ms", [1e3 * run.cpu_s for run in runs])


class Scraper:
    """Scrapes the metrics of a run once a second, as Prometheus does, from a thread."""

    def __init__(self, url):
        self.took_s, self.sizes = [], []
        self._url, self._over = url, threading.Event()
        self._thread = threading.Thread(target=self._scrape, daemon=True)
        self._thread.start()

    def _scrape(self):
        while not self._over.wait(1):
            began = time.monotonic()
            try:
                with urllib.request.urlopen(self._url, timeout=LONG_S) as answer:
                    self.sizes.append(len(answer.read()))
            except OSError:
                return  # The run has ended.
            self.took_s.append(time.monotonic() - began)

    def stop(self):
        self._over.set()
        self._thread.join(LONG_S)


def swarm_run(options, with_metrics=False):
    """One run of the swarm. Returns the controller's CPU share and peak memory in the step, its peak memory of the run, and the
    scraper if there was one."""
    with Bench(options.place) as bench:
        count = options.agents
        process = bench.start([binary("agent_swarm"), count, bench.side], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if process.stdout.readline() != b"listening\n":
            raise RuntimeError("agent_swarm did not start")
        hosts = hosts_file(bench, [f"unix:{bench.side}/{i}.sock" for i in range(count)])
        run = bench.run("--hosts-file", hosts, "--duration", "10s", *(["--metrics", "0"] if with_metrics else []))
        run.await_line(r"^step 1/1")
        scraper = Scraper(run.await_match(r"metrics are at (\S+)$")[1].group(1)) if with_metrics else None
        began, cpu = time.monotonic(), cpu_s(run.pid)
        # The step's last second is left out.
        run.await_line(r"^step 1/1 .* 9 s/10 s")
        share = (cpu_s(run.pid) - cpu) / (time.monotonic() - began)
        during = memory_peak_mib(run.pid)
        if scraper is not None:
            scraper.stop()
        run.finish()
        report = run.report
        writes = report["steps"][0]["scopes"][-1]["writes"]
        # Each agent makes about a thousand a second.
        if report["run"]["state"] != "complete" or not 9900 < writes / count < 10200:
            raise RuntimeError(f"the report is not whole: {report['run']}, {writes} writes, {report['notes']}")
        process.stdin.close()
        return share, during, run.usage.ru_maxrss / 1024, scraper


def swarm(options, table):
    """What 1,000 agents of four frames a second cost the controller. The agents write nothing (agent_swarm)."""
    allow_many_files()
    share, during, whole, _ = zip(*[swarm_run(options) for _ in range(options.runs)])
    name = f"{options.agents} agents x 4 frames/s: controller"
    table.add(f"{name}, CPU", "cores", share, median=0.5)
    table.add(f"{name}, peak memory in the step", "MiB", during, maximum=256)
    table.add(f"{name}, peak memory of the run", "MiB", whole, maximum=256)


def metrics(options, table):
    """What `--metrics`, scraped once a second, adds to the controller's work with 1,000 agents: rounds of one run with it and one
    without, in alternating order."""
    allow_many_files()
    without, with_it = [], []
    for number in range(options.runs):
        for scraped in (number % 2 == 0, number % 2 == 1):
            (with_it if scraped else without).append(swarm_run(options, scraped))
    scrapers = [run[3] for run in with_it]
    if not all(scraper.took_s for scraper in scrapers):
        raise RuntimeError("a run was never scraped")
    name = f"{options.agents} agents"
    table.add(f"{name}, without --metrics: controller, CPU", "cores", [run[0] for run in without], median=0.5)
    table.add(f"{name}, scraped once a second: controller, CPU", "cores", [run[0] for run in with_it], median=0.5)
    table.add(f"{name}: what it adds in a round, CPU", "cores", [one[0] - other[0] for one, other in zip(with_it, without)])
    table.add(f"{name}, without --metrics: peak memory", "MiB", [run[2] for run in without], maximum=256)
    table.add(f"{name}, scraped once a second: peak memory", "MiB", [run[2] for run in with_it], maximum=256)
    table.add(f"{name}: a scrape", "s", [time_s for scraper in scrapers for time_s in scraper.took_s])
    table.add(f"{name}: a scrape", "MB", [size / 1e6 for scraper in scrapers for size in scraper.sizes])


def loss(options, table):
    """Time until the controller tells that one of 4 agents is gone, with a lease of 2 s."""
    for number, name in ((signal.SIGKILL, "killed"), (signal.SIGSTOP, "frozen")):
        times = []
        for _ in range(options.runs):
            with Bench(options.place) as bench:
                processes, addresses = bench.agents(4)
                run = bench.run("--hosts-file", hosts_file(bench, addresses), "--lease", "2s", "--duration", "5s",
                                "--on-host-loss", "continue", *SMALL)
                run.await_line(r"^step 1/1")
                began = time.monotonic()
                os.kill(processes[2].pid, number)
                times.append(run.await_line(r"host a3 is lost") - began)
                run.finish((3,))
                writes = [scope["writes"] for scope in run.report["steps"][0]["scopes"] if scope["kind"] == "host"]
                if len(writes) != 4 or min(writes) == 0:
                    raise RuntimeError(f"data were lost: writes of the hosts {writes}")
        table.add(f"1 of 4 agents {name}: noticed after (lease 2 s)", "s", times, maximum=2)


def memory(options, table):
    """The agent's peak memory with 10 writers, and what it grows from the third second to the end."""
    for place, name in ((options.place, "disk"), (MEMORY, "tmpfs")):
        peaks, growth = [], []
        for _ in range(max(1, options.runs // 5)):
            with Bench(place) as bench:
                (agent,), (address,) = bench.agents(1)
                run = bench.run("--hosts", address, "--qm", 10, "--file-size", "1m", "--duration", f"{options.length}s")
                run.await_line(r"^step 1/1 .* 3 s/")
                early = memory_peak_mib(agent.pid)
                run.finish(WHOLE)
                peaks.append(memory_peak_mib(agent.pid))
                growth.append(peaks[-1] - early)
        table.add(f"agent with 10 writers, {name}: peak memory", "MiB", peaks, maximum=64 + options.buffers)
        # Flat: no more than what a second of the busiest writers' traces takes, which may wait to be sent.
        table.add(f"agent with 10 writers, {name}: growth after 3 s", "MiB", growth, maximum=4)


def duration(options, table):
    """From the start that a step was told to the end of its last write, less what was asked."""
    # On a disk the write that is in flight at the end is waited for: that is the storage's, and has no budget.
    for place, name, budget in ((MEMORY, "tmpfs", 5), (options.place, "disk", None)):
        with Bench(place) as bench:
            for asked_s in (1, 3):
                over = []
                for _ in range(max(3, options.runs // 4)):
                    run = bench.run("--qm", 2, *SMALL, "--duration", f"{asked_s}s").finish(WHOLE)
                    over.append((max(last - start for start, _, last in writer_times(run)) - asked_s * 1e9) / 1e6)
                table.add(f"step of {asked_s} s on {name}: longer than asked", "ms", over, maximum=budget)


COMMANDS = {"skew": (skew, 20), "fleet": (fleet, 20), "swarm": (swarm, 3), "metrics": (metrics, 4), "loss": (loss, 5), "memory": (memory, 5),
            "duration": (duration, 20), "phases": (phases, 20)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (function, runs) in COMMANDS.items():
        command = commands.add_parser(name, help=function.__doc__, description=function.__doc__)
        command.add_argument("--runs", type=int, default=runs, help=f"how many runs of each kind (default {runs})")
        command.add_argument("--place", default=None,
                             help="directory on the disk to measure on (default: TMPDIR or /tmp)")
        command.add_argument("--json", action="store_true", help="print JSON, with every single figure")
        if name in ("swarm", "metrics"):
            command.add_argument("--agents", type=int, default=1000)
        if name == "memory":
            command.add_argument("--length", type=int, default=15, help="seconds of a step")
            command.add_argument("--buffers", type=float, default=0, help="MiB of the writers' buffers and rings")
    options = parser.parse_args()
    table = Table()
    COMMANDS[options.command][0](options, table)
    table.show(options.json)


if __name__ == "__main__":
    main()
