"""What the integration tests stand on: the real programs as child processes, waits with bounds, checked reports.

Every process is ended by its own id, and dies with the test that started it. Nothing waits without a bound, and nothing
sleeps where there is something to wait for.
"""

import contextlib
import datetime
import functools
import glob
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import invariants
import schema

# Far longer than anything takes that works, on a busy machine too.
LONG_S = 60
# A criterion that fails whatever storage and machine do: what a host without a CPU to spare may explain fails no other.
FAILS = "writes@qm<=1"

SKIPPED_EXIT_CODE = 77


def binary(name):
    """Path of one of the programs under test."""
    directory = os.environ.get("PLIMSOLL_BIN")
    if not directory:
        raise RuntimeError("PLIMSOLL_BIN names no directory: it must hold plimsoll and plimsoll-agent")
    return os.path.join(directory, name)


@functools.cache
def ahead():
    """What is put before a command so that its threads run before all that the machine is busy with besides; nothing where
    that is not allowed."""
    first = ("chrt", "--fifo", "1")
    if shutil.which(first[0]) is None:
        return ()
    allowed = subprocess.run([*first, "true"], stderr=subprocess.DEVNULL, check=False, timeout=LONG_S).returncode == 0
    return first if allowed else ()


def wait_until(condition, what, timeout_s=LONG_S):
    """Waits until `condition` gives something true, and returns that. `what` names it where it does not come."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"after {timeout_s} s still not: {what}")
        time.sleep(0.005)


def paths(directory, pattern="**/*"):
    """Paths below `directory` that match, sorted. Unlike with pathlib's, others may make and remove files meanwhile."""
    return sorted(pathlib.Path(directory, path)
                  for path in glob.iglob(pattern, root_dir=directory, recursive=True, include_hidden=True))


def of_threads(pid, file):
    """What /proc has in this file of each thread, by the thread's id; those that end meanwhile are left out."""
    found = {}
    try:
        for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found[int(thread.name)] = (thread / file).read_text().strip()
    except OSError:  # The process ended.
        pass
    return found


def children_of(pid):
    """Ids of the processes that `pid` started and that are still there."""
    return [int(child) for children in of_threads(pid, "children").values() for child in children.split()]


def has_pending(pid, number):
    """Whether the process has a signal that none of its threads has taken."""
    (pending,) = (line.split()[1] for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
                  if line.startswith("ShdPnd:"))
    return bool(int(pending, 16) >> (number - 1) & 1)


def is_stopped(pid, but_for_calls=False):
    """Whether every thread of the process is stopped, as by SIGSTOP; or will be when its call to the kernel returns."""
    states = of_threads(pid, "stat")
    stopped = "TZXD" if but_for_calls else "TZX"
    return bool(states) and all(text.rpartition(")")[2].split()[0] in stopped for text in states.values())


def is_alive(pid):
    """Whether the process runs; one that has ended and was not waited for does not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def comm_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


class Process:
    """A child process whose output is collected as it comes."""

    def __init__(self, argv, stdin=subprocess.DEVNULL, **popen):
        # The kernel ends it where the test is killed.
        self.argv = ["setpriv", "--pdeathsig", "KILL", *map(str, argv)]
        self.started_s = time.monotonic()
        self._process = subprocess.Popen(
            self.argv, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen)
        self._changed = threading.Condition()
        self._texts = {"out": b"", "err": b""}
        self._readers = [
            threading.Thread(target=self._collect, args=(name, stream), daemon=True)
            for name, stream in (("out", self._process.stdout), ("err", self._process.stderr))
        ]
        for reader in self._readers:
            reader.start()

    def _collect(self, name, stream):
        with stream:
            while piece := os.read(stream.fileno(), 65536):
                with self._changed:
                    self._texts[name] += piece
                    self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    @property
    def pid(self):
        return self._process.pid

    @property
    def out(self):
        with self._changed:
            return self._texts["out"].decode()

    @property
    def err(self):
        with self._changed:
            return self._texts["err"].decode()

    def running(self):
        return self._process.poll() is None

    def await_err(self, pattern, timeout_s=LONG_S):
        """Waits until standard error holds the pattern; returns the match."""

        def look():
            match = re.search(pattern, self.err, re.MULTILINE)
            if match is None and not self.running() and not any(reader.is_alive() for reader in self._readers):
                raise AssertionError(f"{self.argv} ended with {self._process.returncode} before it said "
                                     f"/{pattern}/:\n{self.err}")
            return match

        return wait_until(look, f"/{pattern}/ on standard error of {self.argv}", timeout_s)

    def signal(self, number):
        self._process.send_signal(number)

    def write(self, data):
        """Writes to its standard input, a pipe."""
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def ended_within(self, seconds):
        """Waits for its end, for so long at most; whether it ended."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def finish(self, timeout_s=LONG_S):
        """Waits for its end and returns the exit code (negative: ended by that signal)."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.argv} still runs after {timeout_s} s; it said:\n{self.err}") from None
        for reader in self._readers:
            reader.join(timeout_s)
        return self._process.returncode

    def end(self):
        """Ends it, whatever state it is in."""
        if self.running():
            self._process.kill()
        self._process.wait(LONG_S)


class Agent(Process):
    """A plimsoll-agent that listens."""

    def __init__(self, argv, **popen):
        super().__init__(argv, **popen)
        self._agent_pid = None
        self.address = None

    def await_listening(self):
        self.address = self.await_err(r"listens on (\S+)$").group(1)
        # Where another program started it: its own id.
        pids = [self.pid]
        while pids:
            pid = pids.pop()
            if comm_of(pid) == "plimsoll-agent":
                self._agent_pid = pid
                return self
            pids += children_of(pid)
        raise AssertionError(f"no plimsoll-agent below {self.argv}")

    @property
    def agent_pid(self):
        return self._agent_pid

    def signal(self, number):
        os.kill(self._agent_pid, number)

    def end(self):
        # A tracer or a namespace's parent ends with it.
        if self.running() and self._agent_pid not in (None, self.pid) and is_alive(self._agent_pid):
            os.kill(self._agent_pid, signal.SIGKILL)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                pass
        super().end()


class Result:
    """What a finished plimsoll left: exit code, output, and the directory of its results."""

    def __init__(self, argv, code, out, err, results):
        self.argv, self.code, self.out, self.err, self.results = argv, code, out, err, pathlib.Path(results)

    @property
    def report(self):
        """The JSON report, checked against the schema."""
        return schema.parse((self.results / "report.json").read_text())

    @property
    def errors(self):
        """The lines of standard error."""
        return self.err.splitlines()

    def __str__(self):
        return f"{' '.join(self.argv)}\nexit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class PlimsollTest(unittest.TestCase):
    """Gives each test a directory to write in (`dir`), a place for results, and ends everything that it started."""

    maxDiff = 4000
    # On the disk, or (True) in memory, where writes take microseconds.
    in_memory = False
    # Whether agents run before all else (ahead): where their writers wait, for a rate or for storage, and leave CPUs to others.
    agents_ahead = False
    # Whether runs (start_run, run_plan) write in every short step, however busy the machine is: they and an agent of their own
    # run before all else, and pause where they have no pace of their own. With in_memory: of tests about what a run reports.
    runs_ahead = False

    def setUp(self):
        place = "/dev/shm" if self.in_memory and os.access("/dev/shm", os.W_OK) else None
        self._base = tempfile.TemporaryDirectory(prefix="plimsoll-test-", dir=place)
        self.addCleanup(self._base.cleanup)
        self.base = pathlib.Path(self._base.name).resolve()
        self.dir = self.base / "data"
        self.dir.mkdir()
        self.runtime = self.base / "run"
        self.runtime.mkdir()
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.runtime), "LC_ALL": "C.UTF-8"}
        self._results = 0

    def start(self, kind, argv, **popen):
        popen.setdefault("cwd", self.base)
        popen.setdefault("env", self.environment)
        process = kind(argv, **popen)
        self.addCleanup(process.end)
        return process

    def agent(self, name, root=None, listen="127.0.0.1:0", wrap=(), more=()):
        """Starts an agent and waits until it listens. `wrap` is put before its command line."""
        first = ahead() if self.agents_ahead else ()
        return self.start(Agent, [
            *wrap, *first, binary("plimsoll-agent"), "--name", name, "--root", root or self.dir, "--listen", listen, *more
        ]).await_listening()

    def start_plimsoll(self, *arguments, wrap=()):
        return self.start(Process, [*wrap, binary("plimsoll"), *arguments])

    def stop_agents(self, *agents):
        """Ends the agents by SIGTERM and waits for them: a tracer around one has written everything then."""
        for agent in agents:
            agent.signal(signal.SIGTERM)
        for agent in agents:
            self.assertEqual(agent.finish(), 0, agent.err)

    def finished(self, process, results=None, code=0, timeout_s=LONG_S):
        """Waits for the process and returns its result; checks the exit code, and the report if there are results."""
        process.finish(timeout_s)
        return self.result_of(process, results, code)

    def plimsoll(self, *arguments, code=0, wrap=()):
        """Runs plimsoll to its end and checks the exit code."""
        return self.finished(self.start_plimsoll(*arguments, wrap=wrap), None, code)

    def start_run(self, *arguments, wrap=(), dir=None):
        """Starts `plimsoll run` on the test's directory with small, quick defaults; arguments override them. Prints all of the
        report (--full), not only what fits on a screen."""
        self._results += 1
        out = self.base / f"results-{self._results}"
        if self.runs_ahead:
            arguments = arguments if {"--delay", "--rate"} & set(map(str, arguments)) else ("--delay", "1ms", *arguments)
            wrap = (*wrap, *ahead())
        other = {"--json", "--summary", "--full"} & {str(argument).split("=")[0] for argument in arguments}
        process = self.start_plimsoll("run", *quick_defaults(arguments), "--dir", dir or self.dir, "--out", out,
                                      *([] if other else ["--full"]), *arguments, wrap=wrap)
        process.results = out
        return process

    def run_plan(self, *arguments, code=0, wrap=(), dir=None):
        """Runs `plimsoll run` as start_run does, to its end; checks the exit code, and the JSON against the schema."""
        process = self.start_run(*arguments, wrap=wrap, dir=dir)
        return self.finished(process, process.results, code)

    def result_of(self, process, results=None, code=0):
        """What a process that has been waited for left behind."""
        result = Result(process.argv, process.finish(), process.out, process.err, results or self.base)
        self.assertIn(result.code, code if isinstance(code, tuple) else (code,), result)
        if results is not None and (results / "report.json").exists():
            invariants.check(result.report)
        return result

    def await_running(self, process):
        """Waits until the first step of a run has given its first figures."""
        process.await_err(r"^step 1/.*  [1-9][\d,.]* IO/s")

    def assert_nothing_left(self, directory=None):
        """No run has left anything below the directory."""
        self.assertEqual(sorted(map(str, (directory or self.dir).rglob("*"))), [])

    def await_nothing_left(self, directory=None, timeout_s=LONG_S):
        wait_until(lambda: not list((directory or self.dir).iterdir()), f"nothing below {directory or self.dir}",
                   timeout_s)


def quick_defaults(arguments):
    """Small files and a short step without a warm-up, where the arguments do not say otherwise."""
    given = {str(argument).split("=")[0] for argument in arguments}
    defaults = []
    for option, other, value in (("--duration", "--duration", "300ms"), ("--warmup", "--warmup", "0"),
                                 ("--file-size", "--fileSize", "256k")):
        if not given & {option, other}:
            defaults += [option, value]
    return defaults


def scopes(step, kind):
    """The scopes of a step of one kind: "qm", "host", "storage" or "cluster"."""
    return [scope for scope in step["scopes"] if scope["kind"] == kind]


def operations(step):
    """Returns what the step measured beside its main operation, by name: "read", or the parts of a write."""
    return {one["name"]: one for one in step.get("operations", [])}


def report_of(results):
    """Reads the JSON report in a directory of results; it must keep to the schema and must not contradict itself."""
    report = schema.parse((pathlib.Path(results) / "report.json").read_text())
    invariants.check(report)
    return report


def moment_ns(utc):
    """A moment of a report as nanoseconds since 1970."""
    whole, _, fraction = utc.rstrip("Z").partition(".")
    seconds = datetime.datetime.fromisoformat(whole + "+00:00").timestamp()
    return int(seconds) * 1_000_000_000 + int(fraction.ljust(9, "0"))


def failing(report):
    """The outcomes that a criterion may have where it does not hold; that of the writers of a busy host may be undecided."""
    busy = any(load["bottleneck"] for step in report["steps"] for load in step["load"])
    return ("fail", "inconclusive") if busy else ("fail",)


def cluster(step):
    (scope,) = scopes(step, "cluster")
    return scope


def main():
    """Runs the file's tests. A skipped one makes the whole file count as skipped, so that it does not look as if it passed."""
    result = unittest.main(module="__main__", verbosity=2, exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    for test, reason in result.skipped:
        print(f"NOT TESTED: {test.id()}: {reason}", file=sys.stderr)
    sys.exit(SKIPPED_EXIT_CODE if result.skipped else 0)
