#!/usr/bin/env python3
"""What each way to start agents adds, in alternating rounds on this machine: time until all agents are ready, round trips, clock
error and start skew.

Prints a table for 1, 4 and 16 agents each, or JSON with --json. The hosts of ssh have a real sshd and a network of their own each, as in
tests/integration (needs root). `command` starts agents by a shell that replaces itself with the agent; `kubernetes` has the tests'
stand-in for kubectl, a program in Python: its times are lower bounds for a real cluster, and upper bounds for what Plimsoll adds.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import time
import unittest

from bench_support import TREE, binary  # Makes tests/integration importable.
from journal_bytes import payloads
from protobuf_wire import fields

os.environ["PLIMSOLL_BIN"] = os.path.dirname(binary("plimsoll"))
import harness  # noqa: E402
import ssh_hosts  # noqa: E402

# Writers that leave the CPUs to messages: the machine has all agents and the controller.
RUN = ["--file-size", "64k", "--num-files", "2", "--rate", "20", "--warmup", "0", "--quiet"]
SECTIONS = {
    "ready_s": "time until all agents are ready, s",
    "round_trip_min_us": "round trip of a probe, smallest, us",
    "round_trip_median_us": "round trip of a probe, median, us",
    "clock_error_us": "clock error bound, largest of the hosts, us",
    "start_skew_us": "start skew, us; 0 for one writer",
}
JOINED, PROBES = 3, 4  # Of JournalRecord.


class Machine(ssh_hosts.SshTest):
    """What the tests have: directories, processes that end, and hosts with an sshd where that is possible."""

    def setUp(self):
        self.no_ssh = None
        try:
            super().setUp()
            self.boot()
        except unittest.SkipTest as reason:
            self.no_ssh = str(reason)
        self.tools = self.base / "tools"
        self.tools.mkdir()
        programs = os.environ["PLIMSOLL_BIN"]
        self.program("kubectl", f"#!{sys.executable} -B\n{(TREE / 'tests/integration/stand_in_client.py').read_text()}")
        (self.tools / "programs").write_text(programs)
        self.program("start", f'#!/bin/sh\nhost=$1\nshift\nPATH={programs}\nexec "$@" --name "$host"\n')

    def program(self, name, text):
        path = self.tools / name
        path.write_text(text)
        path.chmod(0o755)

    def measure(self, launcher, count, duration):
        """Figures of one run, by the names of SECTIONS."""
        began_ns = time.monotonic_ns()
        agents = []
        if launcher == "processes":
            agents = [self.start(harness.Agent, [binary("plimsoll-agent"), "--name", f"host{number}", "--root", self.dir, "--listen",
                                                 f"unix:{self.runtime}/{number}.sock"]) for number in range(1, count + 1)]
            hosts = ",".join(agent.await_listening().address for agent in agents)
            options = []
        else:
            hosts = f"host[1-{count}]"
            options = {"ssh": lambda: self.launch(), "command": lambda: ["--launch", f"{self.tools}/start {{host}}"],
                       "kubernetes": lambda: ["--launch", "kubernetes", "--kubectl", self.tools / "kubectl"]}[launcher]()
        out = self.base / f"results-{time.monotonic_ns()}"
        wrap = self.network.on_controller() if launcher == "ssh" else ()
        process = self.start(harness.Process, [
            *wrap, binary("plimsoll"), "run", "--hosts", hosts, *options, "--dir", "/mnt" if launcher == "ssh" else self.dir, "--duration",
            duration, *RUN, "--out", out
        ])
        # 3: a busy machine may leave writers without a CPU, which is no matter here.
        if process.finish(240) not in (0, 3):
            raise RuntimeError(f"{launcher}, {count} agents: {process.err}")
        for agent in agents:
            agent.end()
        report = json.loads((out / "report.json").read_text())
        if report["run"]["state"] != "complete" or len(report["hosts"]) != count:
            raise RuntimeError(f"{launcher}, {count} agents: the report is not whole: {report['run']}, {report['notes']}")
        return {**from_journal(out / "journal", began_ns),
                "clock_error_us": max(host["clock"]["error_ns"] for host in report["hosts"]) / 1000,
                "start_skew_us": report["steps"][0]["start_skew"]["skew_ns"] / 1000}

    def tearDown(self):
        self.doCleanups()


def from_journal(journal, began_ns):
    """When the last agent had joined, and the round trips of all probes, less what the agents held them for."""
    ready_ns, trips_ns = 0, []
    for payload in payloads(journal):
        record = dict(fields(payload))
        if JOINED in record:
            ready_ns = max(ready_ns, record[1])
        for number, value in fields(record.get(PROBES, b"")):
            if number == 2:
                sent_ns, agent_received_ns, agent_sent_ns, received_ns = (dict(fields(value)).get(field, 0) for field in (1, 2, 3, 4))
                trips_ns.append(received_ns - sent_ns - (agent_sent_ns - agent_received_ns))
    return {"ready_s": (ready_ns - began_ns) / 1e9, "round_trip_min_us": min(trips_ns) / 1000,
            "round_trip_median_us": statistics.median(trips_ns) / 1000}


def spelled(values):
    figures = (min(values), statistics.median(values), max(values))
    return " / ".join(f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}" for figure in figures)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="how many rounds (default 5)")
    parser.add_argument("--agents", default="1,4,16", help="how many agents (default 1,4,16)")
    parser.add_argument("--duration", default="3s", help="length of each run's step (default 3s)")
    parser.add_argument("--json", action="store_true", help="print JSON, with every single figure")
    options = parser.parse_args()
    counts = [int(count) for count in options.agents.split(",")]
    Machine.size = max(counts)
    machine = Machine()
    found = {}
    try:
        machine.setUp()
        launchers = ["processes", "ssh", "command", "kubernetes"]
        if machine.no_ssh is not None:
            print(f"launchers: not over ssh: {machine.no_ssh}", file=sys.stderr)
            launchers.remove("ssh")
        else:
            machine.command("hosts")  # Copies the agent, once.
        for number in range(options.runs):
            for count in counts:
                for launcher in launchers[number % len(launchers):] + launchers[:number % len(launchers)]:
                    for name, value in machine.measure(launcher, count, options.duration).items():
                        found.setdefault((name, launcher, count), []).append(value)
    finally:
        machine.tearDown()
    if options.json:
        print(json.dumps([{"what": name, "launcher": launcher, "agents": count, "values": values}
                          for (name, launcher, count), values in found.items()], indent=1))
        return
    print(f"min / median / max of {options.runs} runs")
    for name, title in SECTIONS.items():
        print(f"\n{title:48}" + "".join(f"{count:>24}" for count in counts))
        for launcher in launchers:
            cells = [found[name, launcher, count] for count in counts]
            print(f"  {launcher:46}" + "".join(f"{spelled(cell):>24}" for cell in cells))


if __name__ == "__main__":
    main()
