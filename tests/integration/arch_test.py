"""The programs for POWER and Z, run by qemu-user: alone, and with programs of this machine.

PLIMSOLL_ARCH_BUILDS names the directory that holds portable-ARCH; without programs for an architecture, or where scripts/emulated cannot
run them, its tests are skipped. docs/portable.md lists what an emulator does not show.
"""

import os
import pathlib
import shutil
import subprocess
import unittest

import harness

PROJECT = pathlib.Path(__file__).resolve().parents[2]
BUILDS = pathlib.Path(os.environ.get("PLIMSOLL_ARCH_BUILDS", PROJECT / "build"))
JOURNALS = PROJECT / "tests" / "data" / "journals"
EMULATED = str(PROJECT / "scripts" / "emulated")
# An emulated program takes some ten times as long.
LONG_S = 10 * harness.LONG_S
FORMATS = {"csv": "writes.csv", "evidence": "evidence.csv", "fio-job": "job.fio", "fio-json": "run.json", "fio-log": "logs", "hlog": "run.hlog",
           "perfetto": "run.perfetto"}


def contents(place):
    """The bytes of every file below a directory, or of a file, by name."""
    files = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
    return {str(path.relative_to(place.parent)): path.read_bytes() for path in files}


class Programs:
    """The tests for one architecture. Subclasses name it, and what readelf calls its machine and its byte order."""

    machine = ""
    elf_machine = ""
    byte_order = ""

    def setUp(self):
        super().setUp()
        self.bin = BUILDS / f"portable-{self.machine}" / "bin"
        if not (self.bin / "plimsoll-agent").exists() or not (self.bin / "plimsoll").exists():
            raise unittest.SkipTest(f"no programs in {self.bin}: run scripts/portable --arch {self.machine}")
        tried = subprocess.run([EMULATED, self.bin / "plimsoll", "--version"], capture_output=True, text=True, check=False, timeout=LONG_S)
        if tried.returncode == harness.SKIPPED_EXIT_CODE:
            raise unittest.SkipTest(tried.stderr.strip())
        self.assertEqual(tried.returncode, 0, tried.stderr)

    def emulated_agent(self, name):
        # Over a Unix socket: qemu-user shows the kernel's table of TCP connections in this machine's byte order, by which the agent
        # could not find out who connects.
        return self.start(harness.Agent, [EMULATED, str(self.bin / "plimsoll-agent"), "--name", name, "--root", str(self.dir), "--listen",
                                          f"unix:{self.runtime}/{name}.sock"]).await_listening()

    def run_of(self, plimsoll, *arguments):
        """Runs `plimsoll run` by that command line, with traces, and returns its results."""
        self._results += 1
        out = self.base / f"results-{self._results}"
        process = self.start(harness.Process, [*plimsoll, "run", "--duration", "2s", "--warmup", "0", "--file-size", "256k", "--dir", self.dir,
                                               "--trace", "on", "--delay", "2ms", "--out", out, *arguments])
        return self.finished(process, out, timeout_s=LONG_S).results

    def here(self):
        return [harness.binary("plimsoll")]

    def there(self):
        return [EMULATED, str(self.bin / "plimsoll")]

    def made_by(self, plimsoll, results):
        """Every file that a controller makes from a journal: all of the report, and each export."""
        place = self.base / "again"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        # Anything else would be what another controller wrote.
        shutil.copy(results / "journal", place)
        report = self.finished(self.start(harness.Process, [*plimsoll, "report", "--full", place]), None, (0, 3, 4), LONG_S)
        exports = self.base / "exports"
        shutil.rmtree(exports, ignore_errors=True)
        exports.mkdir()
        for name, file in FORMATS.items():
            export = self.start(harness.Process, [*plimsoll, "export", place, "--format", name, "--output", exports / file])
            # Of some journals, such as those without traces, not every format can be made.
            export.finish(LONG_S)
            (exports / f"{name}.end").write_text(f"{export.finish()}\n{export.out}\n{export.err}")
        return {**contents(place), **contents(exports), "printed": report.out.encode()}

    def assert_reports_are_equal(self, results):
        ours, theirs = self.made_by(self.here(), results), self.made_by(self.there(), results)
        self.assertEqual(sorted(ours), sorted(theirs))
        self.assertEqual([name for name, content in ours.items() if theirs[name] != content], [])
        return ours

    def assert_measured(self, results):
        report = harness.report_of(results)
        self.assertGreater(harness.cluster(report["steps"][0])["latency"]["count"], 0)
        self.assert_nothing_left()
        return report

    def test_programs_are_for_their_machine_and_load_nothing(self):
        for program in ("plimsoll", "plimsoll-agent"):
            shown = subprocess.run(["readelf", "--file-header", "--program-headers", "--wide", self.bin / program], check=True,
                                   capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout
            self.assertRegex(shown, rf"Machine: +{self.elf_machine}")
            self.assertRegex(shown, rf"Data: .*{self.byte_order} endian")
            self.assertNotIn("INTERP", shown)

    def test_both_programs_measure_alone(self):
        # The controller starts the agent.
        report = self.assert_measured(self.run_of(self.there(), "--qm", "2"))
        self.assertIn(self.machine, report["hosts"][0]["kernel"])

    def test_a_controller_of_this_machine_measures_with_its_agent_and_both_report_the_same_bytes(self):
        agents = [self.emulated_agent("alpha"), self.agent("beta", listen=f"unix:{self.runtime}/beta.sock")]
        results = self.run_of(self.here(), "--qm", "2", "--read-percent", "30", "--sync", "fdatasync", "--hosts",
                              ",".join(agent.address for agent in agents))
        self.assert_measured(results)
        made = self.assert_reports_are_equal(results)
        # Each export of a journal with traces was made.
        self.assertEqual({name: content.split()[0] for name, content in made.items() if name.endswith(".end")},
                         {f"exports/{name}.end": b"0" for name in FORMATS})
        self.assertEqual(contents(results)["%s/report.json" % results.name], made["again/report.json"])

    def test_its_controller_measures_with_an_agent_of_this_machine_and_both_report_the_same_bytes(self):
        agent = self.agent("alpha", listen=f"unix:{self.runtime}/alpha.sock")
        results = self.run_of(self.there(), "--hosts", agent.address)
        self.assert_measured(results)
        self.assert_reports_are_equal(results)

    def test_journals_of_every_format_give_the_same_bytes(self):
        for place in sorted(path for path in JOURNALS.iterdir() if path.is_dir()):
            with self.subTest(place.name):
                self.assert_reports_are_equal(place)

    def test_a_standby_instance_reads_the_log_that_the_other_machine_wrote(self):
        agents = [self.emulated_agent("alpha"), self.agent("beta", listen=f"unix:{self.runtime}/beta.sock")]
        out = self.base / "drill"
        process = self.start(harness.Process, [
            *self.here(), "ha", "--one-kernel", "--pairs", "+".join(agent.address for agent in agents), "--dir", self.dir, "--out", out,
            "--fault", "switch", "--rounds", "2", "--file-size", "256k", "--window", "1s", "--rate", "50", "--takeover-limit", "60s"])
        self.finished(process, None, timeout_s=LONG_S)
        report = harness.schema.parse((out / "report.json").read_text())
        takeovers = [one for each in report["ha"]["rounds"] for one in each["takeovers"]]
        self.assertEqual([one["outcome"] for one in takeovers], ["taken", "taken"])
        self.assertEqual(report["ha"]["findings"]["lost"], 0)
        self.assert_reports_are_equal(out)

    def test_the_check_of_a_shared_file_system_reads_the_pages_of_the_other_machine(self):
        agents = [self.emulated_agent("alpha"), self.agent("beta", listen=f"unix:{self.runtime}/beta.sock")]
        process = self.start(harness.Process, [*self.here(), "fsck", self.dir, "--json", "--hosts", ",".join(agent.address for agent in agents)])
        result = self.finished(process, None, 3, LONG_S)
        checks = {check["name"]: check["outcome"] for check in harness.schema.parse(result.out, "fsck")["checks"]}
        self.assertNotIn("fail", checks.values(), result)
        for name in ("lock.exclusive", "data.visible-after-close", "data.visible-after-lock-handover"):
            self.assertEqual(checks[name], "pass", result)


class Power(Programs, harness.PlimsollTest):
    machine, elf_machine, byte_order = "ppc64le", "PowerPC64", "little"


class Z(Programs, harness.PlimsollTest):
    machine, elf_machine, byte_order = "s390x", "IBM S/390", "big"


if __name__ == "__main__":
    harness.main()
