"""`plimsoll run` without hosts: one agent of its own on this machine."""

import hashlib
import os
import pty
import re
import shutil

import harness
import schema

MADE_AGAIN = ["digest.txt", "report.csv", "report.html", "report.json", "report.txt", "timeline.csv"]
OUTPUTS = sorted([*MADE_AGAIN, "journal", "plan.yaml"])


class SingleHost(harness.PlimsollTest):

    def test_a_run_gives_its_report_and_leaves_only_its_results(self):
        result = self.run_plan("--bsize", "4k")
        self.assertEqual(sorted(path.name for path in result.results.iterdir()), OUTPUTS)
        printed, _, last_lines = result.out.rpartition("\n\n")
        digest = hashlib.sha256((result.results / "digest.txt").read_bytes()).hexdigest()
        self.assertEqual(last_lines.splitlines(),
                         [f"Digest  sha256:{digest}", f"COMPLETED (no criteria)   Results in {result.results}"])
        self.assertEqual(printed + "\n", (result.results / "report.txt").read_text())
        brief = self.plimsoll("report", result.results).out.splitlines()
        self.assertLessEqual(len(brief), 40, brief)
        self.assertEqual(brief[-2:], last_lines.splitlines())
        self.assert_nothing_left()
        self.assertEqual(list(self.runtime.iterdir()), [], "the child agent's socket is left")

    def test_the_child_agent_ends_with_its_run(self):
        run = self.start_run("--duration", "3")
        harness.wait_until(lambda: [harness.comm_of(pid) for pid in harness.children_of(run.pid)] == ["plimsoll-agent"],
                           "one child, the agent")
        (child,) = harness.children_of(run.pid)
        self.result_of(run, run.results)
        self.assertFalse(harness.is_alive(child))

    def test_report_makes_the_same_outputs_again_from_the_journal_alone(self):
        result = self.run_plan("--bsize", "4k,16k")
        first = {name: (result.results / name).read_bytes() for name in MADE_AGAIN}
        copy = self.base / "copy"
        copy.mkdir()
        shutil.copy(result.results / "journal", copy)
        printed = self.plimsoll("report", "--full", copy).out
        self.assertEqual(printed.rpartition("\nDigest  ")[0].encode(), first["report.txt"])
        for name in MADE_AGAIN:
            self.assertEqual((copy / name).read_bytes(), first[name], name)
        self.assertEqual(self.plimsoll("report", "--json", "--print-only", copy).out.encode(), first["report.json"])

    def test_json_is_all_of_standard_output_where_it_is_asked_for(self):
        result = self.run_plan("--json")
        report = schema.parse(result.out)
        self.assertEqual(report, result.report)
        self.assertEqual(report["run"]["state"], "complete")
        self.assertEqual(report["verdict"]["outcome"], "done")

    def test_quiet_shows_no_progress(self):
        self.assertNotRegex(self.run_plan("--quiet").err, "preparing|step 1")

    def test_on_a_terminal_progress_is_shown_in_place_and_leaves_nothing_behind(self):
        terminal, end = pty.openpty()
        with open(terminal, "rb", buffering=0) as shown:
            run = self.start_plimsoll("run", "--dir", self.dir, "--duration", "1", "--warmup", "0", "--file-size", "64k", "--out",
                                      self.base / "out", wrap=["sh", "-c", f'TERM=xterm exec "$@" 2>{os.ttyname(end)}', "sh"])
            self.assertEqual(run.finish(), 0)
            os.set_blocking(terminal, False)
            text = os.read(terminal, 1 << 16).decode()
        os.close(end)
        entered, left = text.index("\x1b[?1049h"), text.index("\x1b[?1049l")
        self.assertRegex(text[entered:left], r"step 1 of 1.*measuring")
        # Its one second is shown at the step's end.
        self.assertRegex(text[entered:left], r"\x1b\[\d+;1H\S+ +[1-9][\d,]* ")
        # What is written in place after it is taken away.
        shown = re.sub(r"\r\x1b\[K", "\r", text[left + len("\x1b[?1049l"):])
        self.assertEqual(shown.rpartition("\r")[2], "", "a line is left behind")

    def test_standard_output_that_takes_nothing_is_reported(self):
        full = ["sh", "-c", 'exec "$@" >/dev/full', "sh"]
        result = self.run_plan(wrap=full)
        self.assertEqual(result.errors[-1],
                         f"plimsoll: standard output could not be written; the report is in {result.results}")
        again = self.start_plimsoll("report", result.results, wrap=full)
        again.finish()
        self.assertIn("standard output could not be written", again.err)

    def test_a_sweep_measures_each_block_size_in_a_step_of_its_own(self):
        report = self.run_plan("--bsize", "4k,16k,64k,128k", "--qm", "2", "--duration", "1").report
        self.assertEqual([step["block_size_bytes"] for step in report["steps"]], [4096, 16384, 65536, 131072])
        for number, step in enumerate(report["steps"], start=1):
            self.assertEqual((step["number"], step["cut_short"]), (number, ""))
            self.assertEqual([(scope["host"], scope["qm"]) for scope in harness.scopes(step, "qm")],
                             [(report["hosts"][0]["label"], qm) for qm in (1, 2)])
            for scope in harness.scopes(step, "qm"):
                self.assertGreater(scope["writes"], 0)
        starts = [step["start"] for step in report["steps"]]
        self.assertEqual(starts, sorted(starts))

    def test_results_are_never_written_over(self):
        result = self.run_plan()
        before = {path.name: path.read_bytes() for path in result.results.iterdir()}
        again = self.plimsoll("run", "--dir", self.dir, "--out", result.results, "--duration", "1", "--quiet", code=2)
        self.assertIn(f"--out: {result.results} is not empty", again.errors[-1])
        self.assertEqual({path.name: path.read_bytes() for path in result.results.iterdir()}, before)
        self.assert_nothing_left()

    def test_results_go_to_a_directory_named_by_time_and_run_where_none_is_given(self):
        result = self.plimsoll("run", "--dir", self.dir, "--duration", "200ms", "--warmup", "0", "--file-size", "64k")
        (directory,) = (self.base / "plimsoll-results").iterdir()
        report = schema.parse((directory / "report.json").read_text())
        self.assertRegex(directory.name, rf"^\d{{8}}T\d{{6}}Z-{report['run']['id']}$")
        self.assertIn(f"Results in plimsoll-results/{directory.name}\n", result.out)


if __name__ == "__main__":
    harness.main()
