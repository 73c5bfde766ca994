"""Known pauses put into known writers: the report names exactly them, their class, and when they were."""

import contextlib
import ctypes
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time
import unittest

import harness
from journal_bytes import payloads
import namespaces
from protobuf_wire import fields

AHEAD_S = 100_000
PAUSE_S = 0.7
WITNESS_S = 0.01
# What makes a run worthless, and how often one is made before the last one counts whatever happened.
DISTURBED_S, ATTEMPTS = 0.1, 5
# A file system writes back before it freezes: where that takes long, writers stall before the pause too.
SLOW_BEGINNING_S = 0.2
# Far longer than a busy machine makes a write wait by itself.
STALL = "300ms"
# Between two writes nothing is due for this long.
DELAY_NS = 1_000_000
# What a write that was in flight when the pause began had taken already, and what waking up after it takes.
AROUND_NS = 200_000_000

# Clocks are mapped better than this, whatever their bounds are.
ESTIMATE_NS = 50_000_000

FIFREEZE, FITHAW = 0xC0045877, 0xC0045878
PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WAIT_ALL = 0x40000000  # __WALL: threads, too

MEANING = {
    "host_paused": "host paused",
    "all_hosts": "all hosts: the storage",
    "one_qm": "one QM of a host",
}


def run_began_ns(journal):
    """The controller's CLOCK_MONOTONIC at the moment that the report calls the run's begin: the first record's first
    field (proto/plimsoll/v1/journal.proto)."""
    number, time_ns = next(fields(next(payloads(journal))))
    assert number == 1, "the first record begins with its time"
    return time_ns


class Window:
    """When a pause was, as the test knows it, on CLOCK_MONOTONIC: it began and ended within these."""

    def __init__(self):
        self.begins_after = self.begun_by = self.ends_after = self.ended_by = None

    @contextlib.contextmanager
    def beginning(self):
        self.begins_after = time.monotonic_ns()
        yield
        self.begun_by = time.monotonic_ns()

    @property
    def beginning_s(self):
        return (self.begun_by - self.begins_after) / 1e9

    @contextlib.contextmanager
    def ending(self):
        self.ends_after = time.monotonic_ns()
        yield
        self.ended_by = time.monotonic_ns()


class Witness:
    """Shows whether the machine itself stalled: a thread of this program on each processor, which wants it often."""

    def __init__(self):
        self._gaps_s = []
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._watch, args=(cpu,)) for cpu in os.sched_getaffinity(0)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join()

    @property
    def longest_s(self):
        return max(self._gaps_s)

    def _watch(self, cpu):
        os.sched_setaffinity(0, {cpu})  # Of this thread alone.
        over = False
        while not over:
            asked = time.monotonic()
            over = self._over.wait(WITNESS_S)
            self._gaps_s.append(time.monotonic() - asked - WITNESS_S)


class StallsTest(harness.PlimsollTest):

    def agents(self, ahead=False, root=None):
        wrap = ()
        if ahead:
            namespaces.need("--time", "--fork")
            wrap = namespaces.clock_ahead(AHEAD_S)
        self.alpha = self.agent("alpha", root=root)
        self.beta = self.agent("beta", root=root, wrap=wrap)

    def run_with(self, pause, dir=None):
        """Runs both agents with two queue managers each, calls `pause` in the middle, and returns the result and what
        `pause` returned. Repeats the run if the machine itself stalled, or if the pause took long to begin: either adds a
        stall."""
        for _ in range(ATTEMPTS):
            with Witness() as witness:
                run = self.start_run("--hosts", f"{self.alpha.address},{self.beta.address}", "--qm", "2", "--min-free", "0", "--duration", "3",
                                     "--delay", f"{DELAY_NS}ns", "--stall", STALL, dir=dir)
                self.await_running(run)
                window = pause()
                result = self.result_of(run, run.results)
            if witness.longest_s < DISTURBED_S and window.beginning_s < SLOW_BEGINNING_S:
                break
            print(f"this machine stalled for {witness.longest_s:.2f} s, and the pause took {window.beginning_s:.2f} s to begin",
                  flush=True)
        return result, window

    def stalls_of(self, result):
        """The stalls of the only step, with `from` and `to` on CLOCK_MONOTONIC."""
        report = result.report
        (step,) = report["steps"]
        stalls = step["stalls"]
        self.assertEqual((stalls["threshold_ns"], stalls["threshold_by_median"], stalls["left_out"]),
                         (300_000_000, False, 0))
        self.assertEqual(sum(one["count"] for one in stalls["classes"]), stalls["count"])
        self.assertEqual(len(stalls["stalls"]), min(stalls["count"], 100))
        shift = run_began_ns(result.results / "journal") - harness.moment_ns(report["run"]["begin"])
        for stall in stalls["stalls"]:
            stall["from"] = harness.moment_ns(stall["begin"]) + shift
            stall["to"] = stall["from"] + stall["length_ns"]
        return stalls["stalls"]

    def assert_only(self, result, window, stall_class, hosts, others, writers):
        """In the window there was this stall and no other."""
        known_ns = window.ends_after - window.begun_by
        during = [
            stall for stall in self.stalls_of(result)
            if min(stall["to"], window.ended_by) - max(stall["from"], window.begins_after) > known_ns / 2
        ]
        self.assertEqual([stall["stall_class"] for stall in during], [stall_class], result)
        # Nor was any of another class in its time, however short.
        self.assertEqual({stall["stall_class"] for stall in self.stalls_of(result)
                          if stall["from"] < window.ends_after and stall["to"] > window.begun_by}, {stall_class}, result)
        (stall,) = during
        self.assertEqual((stall["hosts"], stall["others"], stall["open"]), (hosts, others, False))
        self.assertEqual(sorted((writer["host"], writer["qm"]) for writer in stall["writers"]), writers)
        self.assertEqual(stall["writers_count"], len(writers))
        # The bound is wide where a probe had to wait for the host that was stopped; what lies in its middle is not.
        error_ns = min(stall["error_ns"], ESTIMATE_NS)
        # From when it had certainly begun to when it was certainly not over, each writer stood; but for the pause
        # between two of its writes.
        self.assertLessEqual(stall["from"], window.begun_by + DELAY_NS + error_ns, stall)
        self.assertGreaterEqual(stall["to"], window.ends_after - error_ns, stall)
        self.assertGreaterEqual(stall["from"], window.begins_after - AROUND_NS - error_ns, stall)
        self.assertLessEqual(stall["to"], window.ended_by + AROUND_NS + error_ns, stall)
        for writer in stall["writers"]:
            # Its host's own clock tells how long it was.
            self.assertGreaterEqual(writer["length_ns"], known_ns - DELAY_NS, writer)
            self.assertLessEqual(writer["length_ns"], stall["length_ns"])
            self.assertLessEqual(writer["in_flight_ns"], writer["length_ns"])
            self.assertGreater(writer["number"], 0)
            if stall_class != "host_paused":
                self.assertLess(writer["paused_ns"], writer["length_ns"] / 2, writer)
        self.assertIn(MEANING[stall_class], " ".join(result.out.split()))
        return stall


class InMemory(StallsTest):
    """Pauses of agents and of their threads; the storage is memory, and never stands."""

    in_memory = True

    def pause_beta(self):
        def all_stopped():
            stats = harness.of_threads(self.beta.agent_pid, "stat").values()
            return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)

        window = Window()
        with window.beginning():
            self.beta.signal(signal.SIGSTOP)
            harness.wait_until(all_stopped, "all threads of beta stopped")
        time.sleep(PAUSE_S)  # The length of the pause is what is tested.
        with window.ending():
            self.beta.signal(signal.SIGCONT)
        return window

    def check_paused_host(self, ahead):
        self.agents(ahead)
        result, window = self.run_with(self.pause_beta)
        stall = self.assert_only(result, window, "host_paused", ["beta"], ["alpha"], [("beta", 1), ("beta", 2)])
        for writer in stall["writers"]:
            self.assertGreaterEqual(writer["paused_ns"], writer["length_ns"] / 2)

    def test_an_agent_that_is_stopped_is_a_paused_host(self):
        self.check_paused_host(ahead=False)

    def test_an_agent_with_another_clock_that_is_stopped_is_a_paused_host(self):
        self.check_paused_host(ahead=True)

    def stop_thread(self, name):
        """Stops one thread of beta, as a debugger does."""
        (tid,) = [tid for tid, comm in harness.of_threads(self.beta.agent_pid, "comm").items() if comm == name]
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        libc.ptrace.restype = ctypes.c_long

        def ptrace(request):
            if libc.ptrace(request, tid, None, None) != 0:
                number = ctypes.get_errno()
                raise OSError(number, f"ptrace {request:#x}: {os.strerror(number)}")

        window = Window()
        try:
            ptrace(PTRACE_SEIZE)
        except PermissionError as error:
            raise unittest.SkipTest(f"this machine lets nobody trace a thread: {error}") from error
        with window.beginning():
            ptrace(PTRACE_INTERRUPT)
            self.assertEqual(os.waitpid(tid, WAIT_ALL)[0], tid)
        time.sleep(PAUSE_S)  # The length of the pause is what is tested.
        with window.ending():
            ptrace(PTRACE_DETACH)
        return window

    def test_one_slow_writer_is_one_queue_manager(self):
        self.agents()
        for qm in (1, 2):
            result, window = self.run_with(lambda qm=qm: self.stop_thread(f"qm{qm}"))
            self.assert_only(result, window, "one_qm", ["beta"], ["alpha"], [("beta", qm)])


class Storage(StallsTest):
    """Pauses of the storage itself: a file system of the test's own that is frozen."""

    def mount(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("a file system of one's own needs root")
        for program in ("mkfs.ext4", "mount", "umount"):
            if shutil.which(program) is None:
                raise unittest.SkipTest(f"{program} is not installed")
        image = self.base / "image"
        with image.open("wb") as file:
            file.truncate(64 << 20)
        subprocess.run(["mkfs.ext4", "-q", image], check=True, timeout=harness.LONG_S)
        place = self.base / "mounted"
        place.mkdir()
        done = subprocess.run(["mount", "-o", "loop", image, place], capture_output=True, text=True,
                              timeout=harness.LONG_S, check=False)
        if done.returncode != 0:
            raise unittest.SkipTest(f"this machine mounts no image: {done.stderr.strip()}")
        # Before the agents are started, so that they have ended when it is unmounted.
        self.addCleanup(subprocess.run, ["umount", place], check=True, timeout=harness.LONG_S)
        return place

    def freeze(self, place):
        window = Window()
        directory = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with window.beginning():
                fcntl.ioctl(directory, FIFREEZE, 0)
            try:
                time.sleep(PAUSE_S)  # The length of the pause is what is tested.
            finally:
                with window.ending():
                    fcntl.ioctl(directory, FITHAW, 0)
        finally:
            os.close(directory)
        return window

    def check_frozen_storage(self, ahead):
        place = self.mount()
        self.agents(ahead, root=place)
        result, window = self.run_with(lambda: self.freeze(place), dir=place)
        (storage,) = result.report["storages"]
        self.assertEqual(storage["hosts"], ["alpha", "beta"])
        stall = self.assert_only(result, window, "all_hosts", ["alpha", "beta"], [],
                                 [("alpha", 1), ("alpha", 2), ("beta", 1), ("beta", 2)])
        self.assertEqual(stall["storage"], storage["number"])
        for writer in stall["writers"]:
            self.assertGreater(writer["in_flight_ns"], writer["length_ns"] / 2, "the writes themselves stood")

    def test_a_pause_of_the_storage_is_one_of_all_hosts(self):
        self.check_frozen_storage(ahead=False)

    def test_a_pause_of_the_storage_is_one_of_all_hosts_whatever_their_clocks_show(self):
        self.check_frozen_storage(ahead=True)


if __name__ == "__main__":
    harness.main()
