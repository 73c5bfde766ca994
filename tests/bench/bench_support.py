"""What the benchmarks of whole runs stand on: processes that end, tables, and what a journal says of its writers.

Nothing waits without a bound. Every process is ended by its own id, and its directory is removed.
"""

import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tests/integration"))
from journal_bytes import payloads  # noqa: E402
from protobuf_wire import fields, packed  # noqa: E402

# Far longer than anything takes that works.
LONG_S = 120


def binary(name):
    """Path of a program: below PLIMSOLL_BIN, or of the presets `bench` and `release`."""
    given = os.environ.get("PLIMSOLL_BIN")
    places = [pathlib.Path(given)] if given else [TREE / "build/bench/bin", TREE / "build/release/bin"]
    for place in places:
        if (place / name).exists():
            return str(place / name)
    raise SystemExit(f"no {name} in {' or '.join(map(str, places))}: build it, or set PLIMSOLL_BIN")


def wait_until(condition, what, timeout_s=LONG_S):
    """Waits until `condition` gives something true, and returns that."""
    deadline = time.monotonic() + timeout_s
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise RuntimeError(f"after {timeout_s} s still not: {what}")
        time.sleep(0.002)
    return value


def memory_peak_mib(pid):
    """Largest resident size that the process has had."""
    return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) / 1024


def cpu_s(pid):
    """CPU time that the process has used, in user and kernel mode."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Run:
    """One `plimsoll run`, its lines on standard error with the moments at which they came."""

    def __init__(self, bench, arguments):
        self.out = bench.fresh("results")
        # The results do not lie beside what is measured, where that can be.
        warmup = [] if "--warmup" in arguments else ["--warmup", "0"]
        argv = [binary("plimsoll"), "run", *map(str, arguments), *warmup, "--out", str(self.out)]
        self.began_s = time.monotonic()
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, env=bench.environment)
        self.lines = []
        self.usage = self.wall_s = None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append((time.monotonic(), line.rstrip()))

    @property
    def pid(self):
        return self.process.pid

    def await_line(self, pattern, timeout_s=LONG_S):
        """The moment at which a line that matches came."""
        return self.await_match(pattern, timeout_s)[0]

    def await_match(self, pattern, timeout_s=LONG_S):
        """The moment at which a line that matches came, and the match."""

        def look():
            for when, line in list(self.lines):
                if match := re.search(pattern, line):
                    return when, match
            if not self._reader.is_alive():
                raise RuntimeError(f"ended without /{pattern}/:\n{self.said()}")
            return None

        return wait_until(look, f"/{pattern}/", timeout_s)

    def said(self):
        return "\n".join(line[:200] for _, line in self.lines[-20:])

    def finish(self, codes=(0,)):
        """Waits for the end; any exit code but those is an error."""
        timer = threading.Timer(LONG_S, self.process.kill)
        timer.start()
        try:
            _, status, self.usage = os.wait4(self.pid, 0)
        finally:
            timer.cancel()
        self.wall_s = time.monotonic() - self.began_s
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self._reader.join(LONG_S)
        if self.process.returncode not in codes:
            raise RuntimeError(f"plimsoll run ended with {self.process.returncode}:\n{self.said()}")
        return self

    def end(self):
        """Ends it, whatever state it is in."""
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait(LONG_S)

    @property
    def report(self):
        return json.loads((self.out / "report.json").read_text())

    @property
    def cpu_s(self):
        return self.usage.ru_utime + self.usage.ru_stime


class Bench:
    """A temporary directory and everything that was started in it."""

    def __init__(self, place):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="plimsoll-bench-", dir=place))
        self.side = pathlib.Path(tempfile.mkdtemp(prefix="plimsoll-bench-"))
        self.data = self.base / "data"
        self.data.mkdir()
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.side), "LC_ALL": "C.UTF-8"}
        self.started = []
        self.runs = []
        self.names = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for run in self.runs:
            run.end()
        for process in self.started:
            process.kill()
        for process in self.started:
            process.wait(LONG_S)
        for place in (self.base, self.side):
            shutil.rmtree(place, ignore_errors=True)

    def fresh(self, name):
        self.names += 1
        return self.side / f"{name}-{self.names}"

    def start(self, argv, **popen):
        """Starts a helper; the kernel ends it where the benchmark is killed."""
        process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *map(str, argv)], env=self.environment, **popen)
        self.started.append(process)
        return process

    def agents(self, count):
        """Starts agents a1, a2, ... on Unix sockets; their processes and addresses."""
        found = []
        for _ in range(count):
            socket, log = self.fresh("agent.sock"), self.fresh("agent.log")
            with open(log, "wb") as err:
                process = self.start([binary("plimsoll-agent"), "--root", self.data, "--name", f"a{len(found) + 1}",
                                      "--listen", f"unix:{socket}"],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
            found.append((process, f"unix:{socket}", log))
        for process, address, log in found:
            wait_until(lambda log=log: "listens on" in log.read_text(), f"{address} listens")
        return [process for process, _, _ in found], [address for _, address, _ in found]

    def run(self, *arguments):
        """Starts `plimsoll run` on the directory."""
        run = Run(self, ["--dir", self.data, *arguments])
        self.runs.append(run)
        return run


def hosts_file(bench, addresses):
    path = bench.fresh("hosts")
    path.write_text("\n".join(addresses) + "\n")
    return path


def allow_many_files():
    """A thousand connections need more files than most shells allow."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def writer_times(run):
    """[(start of the step, the writer's first start, its last end)], in ns of the host's clock, of the first step's
    writers as they stamped it themselves (WriterTotals in the journal)."""
    starts, done = {}, []
    for payload in payloads(run.out / "journal"):
        for number, record in fields(payload):
            if number == 6:
                step = dict(fields(record))
                if step.get(1, 0) == 0:
                    starts = dict(enumerate(packed(step[3])))
            elif number == 8:
                of = dict(fields(record))
                step_done = list(fields(of[2]))
                if dict(step_done).get(1, 0) == 0:
                    for writer in (dict(fields(v)) for n, v in step_done if n == 2):
                        done.append((of.get(1, 0), writer[6], writer[7]))
    return [(starts[host], first, last) for host, first, last in done]


def phase_times(run, step_ns):
    """{phase: s} of a run of one step of that length, by the times of its journal's records and of the process; in order, without the step
    itself. Where a phase ends with messages of all hosts, the last one counts."""
    # Fields of JournalRecord: 2 run_begin, 5 host_prepared, 6 step_begin, 8 step_done, 11 step_end, 13 run_end.
    last, start_ns = {}, None
    for payload in payloads(run.out / "journal"):
        record = list(fields(payload))
        when_ns = dict(record)[1]
        for number, value in record[1:]:
            last[number] = when_ns
            if number == 6:
                start_ns = dict(fields(value))[2]
                last["armed"] = when_ns
    # CLOCK_MONOTONIC is that of time.monotonic().
    moments = [("start of the program, connecting, describing", int(run.began_s * 1e9), last[2]),
               ("preparing", last[2], last[5]),
               ("clock probes and arming", last[5], last["armed"]),
               ("lead until the start", last["armed"], start_ns),
               ("from the step's end to the last host's totals", start_ns + step_ns, last[8]),
               ("last probes, removing the files", last[8], last[13]),
               ("report, outputs, end", last[13], int((run.began_s + run.wall_s) * 1e9))]
    return {name: (end - begin) / 1e9 for name, begin, end in moments}


class Table:
    """Rows of figures, each beside its budget."""

    def __init__(self):
        self.rows = []

    def add(self, what, unit, values, median=None, maximum=None, minimum=None):
        """`median`, `maximum`: budgets for those figures (<=); `minimum`: budget for the median (>=)."""
        figures = {"min": min(values), "median": statistics.median(values), "max": max(values)}
        budgets = {name: value for name, value in (("median", median), ("max", maximum), ("least", minimum))
                   if value is not None}
        held = all(figures[name] <= budgets[name] for name in ("median", "max") if name in budgets)
        held = held and figures["median"] >= budgets.get("least", figures["median"])
        self.rows.append({"what": what, "unit": unit, "runs": len(values), **figures, "budget": budgets,
                          "held": held if budgets else None, "values": values})

    def show(self, as_json):
        if as_json:
            print(json.dumps(self.rows, indent=1))
            return
        print(f"{'':58} {'runs':>4} {'min':>9} {'median':>9} {'max':>9}  budget")
        for row in self.rows:
            signs = {"median": "median <=", "max": "max <=", "least": "median >="}
            budget = ", ".join(f"{signs[name]} {value:g}" for name, value in row["budget"].items())
            verdict = "" if row["held"] is None else ("  held" if row["held"] else "  MISSED")
            print(f"{row['what'] + ', ' + row['unit']:58} {row['runs']:4} {row['min']:9.3f} {row['median']:9.3f} "
                  f"{row['max']:9.3f}  {budget}{verdict}")
