"""What a writer asks of the kernel: how it opens its extents, where it writes, and that it does nothing else."""

import csv
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import unittest

import harness
import system_calls

FILE_BYTES = 256 << 10
BLOCK_BYTES = 96 << 10  # Two fit in an extent, and 64 KiB remain.
# Readings of these cost no system call.
CLOCKS_WITHOUT_CALLS = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")
CLOCK_SOURCE = pathlib.Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


class SystemCalls(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        if shutil.which("strace") is None:
            raise unittest.SkipTest("strace is not installed")
        if subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode:
            raise unittest.SkipTest("this machine does not let strace trace")
        if CLOCK_SOURCE.read_text().strip() not in CLOCKS_WITHOUT_CALLS:
            raise unittest.SkipTest("on this machine reading a clock is a system call")

    def trace(self, *arguments):
        """Runs one step under strace. Returns (report, all calls of the writer, those from its first block on)."""
        output = self.base / "strace"
        agent = self.agent("alpha", wrap=[*harness.ahead(), *system_calls.options(output)])
        report = self.run_plan("--hosts", agent.address, "--bsize", "96k", "--num-files", "2", "--duration", "1",
                               *arguments).report
        agent.signal(signal.SIGTERM)
        self.assertEqual(agent.finish(), 0)
        calls = system_calls.named(system_calls.threads(output), "qm1")
        blocks = [
            at for at, call in enumerate(calls)
            if call.name == "pwritev2" and system_calls.write_of(call).length == BLOCK_BYTES
        ]
        self.assertGreaterEqual(len(blocks), 9, "too few writes to see anything")
        self.assertEqual(len(blocks), harness.cluster(report["steps"][0])["latency"]["count"])
        return report, calls, calls[blocks[0]:blocks[-1] + 1]

    def steady(self, measured):
        """Names of the calls after the second write, when the start lies behind the writer."""
        second = [at for at, call in enumerate(measured) if call.name == "pwritev2"][1]
        return [call.name for call in measured[second:]]

    def openings(self, calls):
        names = ("openat", "openat2", "open", "creat")
        return [call for call in calls if call.name in names and ".LOG" in call.arguments]

    def test_extents_are_made_anew_with_the_flags_that_the_report_names(self):
        report, calls, _ = self.trace()
        openings = self.openings(calls)
        self.assertEqual(len(openings), 2)
        named = report["hosts"][0]["mount"]["open_flags"].split("|")
        self.assertEqual(named[:2], ["O_RDWR", "O_DSYNC"])
        self.assertEqual("O_DIRECT" in named, report["hosts"][0]["mount"]["direct"])
        for number, call in enumerate(openings):
            self.assertIn(f'"S000000{number}.LOG"', call.arguments)
            for flag in (*named, "O_CREAT", "O_EXCL", "O_CLOEXEC"):
                self.assertRegex(call.arguments, rf"\b{flag}\b")
            for way_out in ("RESOLVE_BENEATH", "RESOLVE_NO_SYMLINKS", "RESOLVE_NO_XDEV"):
                self.assertIn(way_out, call.arguments)

    def test_blocks_follow_one_another_and_wrap_at_the_ends_of_extents(self):
        _, _, measured = self.trace()
        writes = [system_calls.write_of(call) for call in measured if call.name == "pwritev2"]
        places = [(os.path.basename(write.path), write.offset) for write in writes]
        lap = [(f"S000000{extent}.LOG", offset) for extent in (0, 1) for offset in (0, BLOCK_BYTES)]
        self.assertEqual(places, [lap[number % len(lap)] for number in range(len(places))])
        self.assertEqual({write.length for write in writes}, {BLOCK_BYTES})

    def test_a_mix_writes_the_sizes_that_it_names_one_behind_the_other_and_reports_their_bytes(self):
        output = self.base / "strace"
        agent = self.agent("alpha", wrap=[*harness.ahead(), *system_calls.options(output)])
        result = self.run_plan("--hosts", agent.address, "--bsize-mix", "8k=70,96k=30", "--num-files", "2",
                               "--duration", "1")
        agent.signal(signal.SIGTERM)
        self.assertEqual(agent.finish(), 0)
        calls = system_calls.named(system_calls.threads(output), "qm1")
        writes = [system_calls.write_of(call) for call in calls if call.name == "pwritev2"]
        filling = sum(1 for write in writes if write.length not in (8 << 10, 96 << 10))
        self.assertLessEqual(filling, 2 * FILE_BYTES // BLOCK_BYTES + 2)
        writes = writes[filling:]
        extent, offset = 0, 0
        for write in writes:
            if offset + write.length > FILE_BYTES:
                extent, offset = 1 - extent, 0
            self.assertEqual((os.path.basename(write.path), write.offset), (f"S000000{extent}.LOG", offset))
            offset += write.length
        (step,) = result.report["steps"]
        scope = harness.cluster(step)
        self.assertEqual(scope["writes"] + scope["closing"]["writes"], len(writes))
        self.assertEqual(scope["bytes"] + scope["closing"]["bytes"], sum(write.length for write in writes))
        self.assertEqual({write.length for write in writes}, {8 << 10, 96 << 10})
        # The traces have the size of each.
        self.plimsoll("export", result.results, "--format", "csv", "--output", self.base / "timeline.csv")
        rows = list(csv.DictReader(io.StringIO((self.base / "timeline.csv").read_text())))
        self.assertEqual([int(row["bytes"]) for row in rows], [write.length for write in writes])
        text = (result.results / "report.txt").read_text()
        self.assertRegex(text, r"\n  Seed +--seed +\d+")
        self.assertRegex(text, r"Write block sizes +--bsize-mix +8k 70 %, 96k 30 %")
        self.assertIn("Step 1 of 1   mixed", text)
        job = json.loads(self.plimsoll("export", result.results, "--format", "fio-json").out)["jobs"][0]
        self.assertEqual(job["job options"]["bssplit"], f"{8 << 10}/70:{96 << 10}/30")
        self.assertEqual(job["write"]["io_bytes"], scope["bytes"])

    def test_a_writer_does_nothing_but_write(self):
        _, _, measured = self.trace()
        self.assertEqual(set(self.steady(measured)), {"pwritev2"})
        self.assertLessEqual({call.name for call in measured}, {"pwritev2", "sched_yield"})

    def test_of_two_writers_each_waits_on_a_cpu_of_its_own_and_is_free_from_its_first_write_on(self):
        if len(os.sched_getaffinity(0)) < 2:
            raise unittest.SkipTest("one CPU is nothing to choose from")
        output = self.base / "strace"
        agent = self.agent("alpha", wrap=[*harness.ahead(), *system_calls.options(output)])
        self.run_plan("--hosts", agent.address, "--bsize", "96k", "--num-files", "2", "--duration", "1", "--qm", "2")
        agent.signal(signal.SIGTERM)
        self.assertEqual(agent.finish(), 0)
        held = []
        for name in ("qm1", "qm2"):
            calls = system_calls.named(system_calls.threads(output), name)
            blocks = [at for at, call in enumerate(calls) if call.name == "pwritev2" and
                      system_calls.write_of(call).length == BLOCK_BYTES]
            sets = [(at, re.search(r"\[(.*?)\]", call.arguments)[1].split()) for at, call in enumerate(calls)
                    if call.name == "sched_setaffinity"]
            (before, one), (after, back) = sets[:2]
            self.assertTrue(before < blocks[0] < after < blocks[1], sets)
            self.assertEqual(len(one), 1)
            self.assertEqual({int(cpu) for cpu in back}, os.sched_getaffinity(0))
            held.append(one)
            between = [call.name for call in calls[blocks[1]:blocks[-1] + 1]]
            self.assertEqual(set(between), {"pwritev2"})
        self.assertNotEqual(*held)

    def test_a_pause_is_one_sleep_between_two_writes(self):
        _, _, measured = self.trace("--delay", "2ms")
        steady = self.steady(measured)
        self.assertEqual(steady, (["pwritev2", "clock_nanosleep"] * len(steady))[:len(steady)])

    def test_a_rate_is_at_most_one_sleep_between_two_writes(self):
        _, _, measured = self.trace("--rate", "20")
        steady = self.steady(measured)
        self.assertLessEqual(set(steady), {"pwritev2", "clock_nanosleep"})
        self.assertNotIn("clock_nanosleep clock_nanosleep", " ".join(steady))

    def test_fdatasync_follows_each_write_and_nothing_else_does(self):
        report, calls, measured = self.trace("--sync", "fdatasync", "--require", "sync_max<1h")
        steady = self.steady(measured)
        self.assertEqual(steady, (["pwritev2", "fdatasync"] * len(steady))[:len(steady)])
        for call in self.openings(calls):
            self.assertNotRegex(call.arguments, r"O_D?SYNC")
        # The report has the times of the two calls of each write.
        (step,) = report["steps"]
        whole = harness.cluster(step)["latency"]
        parts = {one["name"]: harness.cluster(one)["latency"] for one in step["operations"]}
        self.assertEqual(list(parts), ["write_call", "sync"])
        for part in parts.values():
            self.assertEqual(part["count"], whole["count"])
            self.assertGreater(part["min_ns"], 0)
        self.assertEqual(sum(part["sum_ns"] for part in parts.values()), whole["sum_ns"])
        self.assertEqual(report["verdict"]["outcome"], "pass")

    def test_extents_are_written_in_full_before_the_start(self):
        _, calls, _ = self.trace()
        filled = {}
        for call in calls:
            if call.name != "pwritev2":
                continue
            write = system_calls.write_of(call)
            if write.length == BLOCK_BYTES:
                break
            name = os.path.basename(write.path)
            self.assertEqual(write.offset, filled.get(name, 0))
            filled[name] = write.offset + write.length
        self.assertEqual(filled, {"S0000000.LOG": FILE_BYTES, "S0000001.LOG": FILE_BYTES})


if __name__ == "__main__":
    harness.main()
