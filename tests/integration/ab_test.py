"""`plimsoll ab`: two configurations in turn, with real agents; one of them truly slower, both the same, and cut short."""

import json
import math
import os
import pathlib
import shutil
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faultfs"))

import faultfs  # noqa: E402
import harness  # noqa: E402

FIGURES = "iops,avg,p50"
# Memory without a pause is faster than a busy machine can record.
PACE = ("--delay", "200us")
# A command that does not end by itself.
ENDLESS = "tail -f /dev/null"


class Ab(harness.PlimsollTest):
    in_memory = True

    def setUp(self):
        super().setUp()
        self.out = self.base / "ab"
        for name in ("a", "b"):
            (self.dir / name).mkdir()

    def start_ab(self, *arguments, vary=None, wrap=()):
        vary = vary or f"dir={self.dir / 'a'},{self.dir / 'b'}"
        given = ("--vary", vary) if vary != "none" else ()
        stop_on = () if "--stop-on" in arguments else ("--stop-on", FIGURES)
        return self.start_plimsoll("ab", *harness.quick_defaults(arguments), *PACE, "--bsize", "4k", "--out", self.out,
                                   *stop_on, *given, *arguments, wrap=wrap)

    def ab(self, *arguments, code=0, vary=None, wrap=()):
        process = self.start_ab(*arguments, vary=vary, wrap=wrap)
        process.finish()
        return self.result_of(process, None, code)

    def comparison(self):
        return json.loads((self.out / "compare.json").read_text())

    def record(self):
        return json.loads((self.out / "ab.json").read_text())

    def steps(self, run):
        return json.loads((self.out / run / "report.json").read_text())["steps"]

    def rows(self, comparison):
        (pair,) = comparison["block_sizes"][0]["pairs"]
        return {row["figure"]: row for row in pair["rows"]}

    def bottlenecks(self):
        """What the reports of the rounds name as bottlenecks of the load generator, at 4 KiB."""
        steps = [step for path in self.out.glob("*/report.json") for step in json.loads(path.read_text())["steps"]]
        return [load["bottleneck"] for step in steps if step["block_size_bytes"] == 4096 for load in step["load"]
                if load["bottleneck"]]

    def finding(self, figure, result):
        """What the figure shows. On a busy machine, which the reports have to name, it decides nothing: then what it would
        have shown."""
        comparison = self.comparison()
        row = self.rows(comparison)[figure]
        if not self.bottlenecks():
            return row["finding"]
        self.assertEqual(row["finding"], "inconclusive", result)
        self.assertIn("may be CPU-bound", row["reason"])
        if row["adjusted_p"] >= 0.05:
            return "not_clear"
        if abs(math.log(row["ratio"])) <= math.log1p(comparison["options"]["min_effect_percent"] / 100):
            return "small"
        return "better" if (row["ratio"] > 1) == (figure == "iops") else "worse"

    def delayed(self, **delays_ms):
        """Two directories on one fault file system whose writes take so long."""
        filesystem = faultfs.mounted(self)
        for name, delay_ms in delays_ms.items():
            (filesystem.mountpoint / name).mkdir()
            # Not what a run whose id ends with that letter writes.
            filesystem.fault(f"write *{name}/plimsoll-*.LOG delay_ms={delay_ms}")
        return f"dir={filesystem.mountpoint / 'a'},{filesystem.mountpoint / 'b'}"

    def test_a_slower_side_is_found_and_named(self):
        result = self.ab("--names", "san,nfs", "--order-seed", "7", "--fail-if-slower", "20%", "--gate", FIGURES,
                         "--rounds", "10", "--duration", "800ms", vary=self.delayed(a=2, b=20), code=(1, 3),
                         wrap=harness.ahead())
        comparison = self.comparison()
        for figure in FIGURES.split(","):
            self.assertEqual(self.finding(figure, result), "worse", result)
        # What the gate asks for; on a busy machine one figure alone may be less certain.
        self.assertGreater(max(self.rows(comparison)[figure]["low"] for figure in FIGURES.split(",")), 1.2)
        short_of_cpu = self.bottlenecks()
        self.assertEqual((result.code, comparison["gate"]), (3, "inconclusive") if short_of_cpu else (1, "fail"), result)
        self.assertIn("UNDECIDED nfs against san at 4 KiB: IO/s may not be that of the storage: the load generator of "
                      if short_of_cpu else "SLOWER nfs is slower than san at 4 KiB: ", " ".join(result.out.split()))
        self.assertIn("4 KiB   nfs against san", result.out)
        # Far beyond what counts, so that the first look is the last; but for a machine that stalls in a round.
        design = comparison["paired"]
        self.assertIn((design["planned_rounds"], design["complete_rounds"]),
                      ((10, 10),) if short_of_cpu else ((10, 7), (10, 10)), result)
        self.assertEqual(design["order_seed"], 7)
        self.assertEqual(set(design["order"]), {"AB", "BA"})
        self.assertIn("ended after 7" if design["complete_rounds"] == 7 else "All planned", design["ended"])
        self.assertTrue((self.out / "compare.html").read_text().startswith("<!"))
        # In the order that was drawn.
        for number, order in enumerate(design["order"], 1):
            begins = [self.steps(side)[number - 1]["start"] for side in order.lower()]
            self.assertEqual(begins, sorted(begins))
        # The directory gives the same comparison again.
        again = self.plimsoll("compare", self.out, "--json", "--fail-if-slower", "20%", "--gate", FIGURES, code=result.code)
        self.assertEqual(json.loads(again.out), comparison)

    def test_a_control_in_the_same_rounds_shows_where_the_storage_is_slow(self):
        filesystem = faultfs.mounted(self)
        storage = filesystem.mountpoint / "storage"
        storage.mkdir()
        filesystem.fault("write *plimsoll-*.LOG delay_ms=20")
        result = self.ab("--dir", storage, "--control", self.dir / "b", "--rounds", "6", "--duration", "500ms", "--direct", "off",
                         "--require", harness.FAILS, vary="none", code=(1, 3), wrap=harness.ahead())
        self.assertRegex(result.out.splitlines()[0], r"storage: (FAIL|INCONCLUSIVE)")
        verdicts = {side: json.loads((self.out / side / "report.json").read_text())["verdict"]["outcome"] for side in "ab"}
        self.assertEqual({"fail": 1, "inconclusive": 3}[verdicts["a"]], result.code, result)
        self.assertNotIn(verdicts["b"], ("pass", "fail"), "the control is judged by nothing")
        said = " ".join(result.out.split())
        self.assertRegex(said, r"Control The same plan in turns: storage from \S+ \S+ UTC to \S+ \S+ UTC, control from")
        self.assertRegex(said, r"4 KiB: (p99|the mean) of storage is on \S+ [\d.,]+ times that of control\.")
        comparison = self.comparison()
        (host,) = comparison["control"]["hosts"]
        self.assertGreater(host["first_avg_ns"], 2 * host["second_avg_ns"])
        self.assertEqual([side["label"] for side in comparison["sides"]], ["storage", "control"])
        again = self.plimsoll("compare", self.out, "--json")
        self.assertEqual(json.loads(again.out), comparison)

    def test_a_control_has_a_directory_of_its_own(self):
        (self.dir / "a" / "b").mkdir()
        for directory, pattern in ((self.dir / "a", r"--control: \S+/a is the directory under test: name one on other storage"),
                                   (f"{self.dir}/./a/", r"--control: \S+/a/ is the directory under test: name one"),
                                   (self.dir / "a" / "b", r"--control: \S+/a/b is below the directory under test, \S+/a: name one"),
                                   (self.dir, r"--control: \S+ holds the directory under test, \S+/a: name one"),
                                   (self.dir / "none", r"--control: \S+/none does not exist; create it or pass another --control")):
            self.assertRegex(self.ab("--dir", self.dir / "a", "--control", directory, vary="none", code=2).err, pattern)

    def test_equal_sides_are_not_distinguished(self):
        result = self.ab("--anew", "--rounds", "6", "--min-effect", "50%", "--duration", "800ms",
                         vary=self.delayed(a=4, b=4))
        for figure in FIGURES.split(","):
            self.assertIn(self.finding(figure, result), ("small", "not_clear"), result)
        self.assertEqual(self.comparison()["paired"]["complete_rounds"], 6)
        self.assertIn("All planned rounds were measured.", result.out)
        # The same runs, as if somebody had measured them one by one.
        sides = [",".join(str(path) for path in sorted(self.out.glob(f"round-*-{side}"))) for side in "ab"]
        paired = json.loads(self.plimsoll("compare", "--paired", "--names", "one,two", *sides, "--json").out)
        self.assertEqual([side["label"] for side in paired["sides"]], ["one", "two"])
        self.assertEqual(paired["paired"]["looks"], [{"rounds": 6, "share": 1}])
        self.assertEqual(self.rows(paired)["avg"]["p"], self.rows(self.comparison())["avg"]["p"])
        self.assertIn("The order within the rounds is not recorded", " ".join(paired["limits"]))
        refused = self.plimsoll("compare", "--paired", sides[0], sides[1].rpartition(",")[0], code=2)
        self.assertIn("pairs need as many runs of one side as of the other: 6 of A and 5 of B", refused.err)

    def test_a_side_that_is_short_of_cpu_is_neither_slower_nor_faster(self):
        agent = self.agent("alpha", wrap=("taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))))
        for idle, busy in (("0,4", "4"), ("4,0", "4")):
            with self.subTest(idle):
                result = self.ab("--hosts", agent.address, "--dir", self.dir, "--qm", "2", "--rounds", "7", "--duration", "1s",
                                 "--fail-if-slower", "10%", "--gate", FIGURES, vary=f"cpu-load={idle}", code=3)
                comparison = self.comparison()
                self.assertEqual((comparison["gate"], comparison["slower"]), ("inconclusive", []), result)
                for figure in FIGURES.split(","):
                    self.assertEqual(self.rows(comparison)[figure]["finding"], "inconclusive", result)
                self.assertEqual(comparison["paired"]["complete_rounds"], 7)
                self.assertTrue(any(warning.startswith(f"{busy}: step ") and "the load generator on alpha may be CPU-bound" in warning
                                    for warning in comparison["warnings"]), comparison["warnings"])
                shutil.rmtree(self.out)

    def test_an_interrupted_round_is_left_out_and_the_others_are_kept(self):
        process = self.start_ab("--rounds", "8", "--duration", "1")
        process.await_err(r"round 2 of 8")
        process.signal(signal.SIGINT)
        process.finish()
        result = self.result_of(process, None, code=3)
        self.assertEqual(len(self.record()["rounds"]), 1)
        self.assertIn("nterrupted", self.record()["ended"])
        self.assertEqual(self.comparison()["paired"]["complete_rounds"], 1)
        self.assertIn("Nothing was tested", " ".join(result.out.split()))
        self.assertEqual(list(self.dir.glob("*/*")), [])

    def test_interrupted_while_files_are_removed_the_run_counts_and_no_other_begins(self):
        filesystem = faultfs.mounted(self)
        sides = [filesystem.mountpoint / name for name in ("a", "b")]
        for side in sides:
            side.mkdir()
        removing = filesystem.fault("unlink *.LOG hang")
        process = self.start_ab("--anew", "--rounds", "8", vary=f"dir={sides[0]},{sides[1]}")
        removing.await_waiting()
        process.signal(signal.SIGINT)
        harness.wait_until(lambda: not harness.has_pending(process.pid, signal.SIGINT), "the interrupt is taken")
        removing.release()
        process.finish()
        result = self.result_of(process, None, code=3)
        self.assertRegex(result.err, r"(?m)^plimsoll: Interrupted before .* in round 1\. No comparison was made; what was measured is in ")
        self.assertEqual(len(list(self.out.glob("round-*/report.json"))), 1)
        self.assertEqual([list(side.iterdir()) for side in sides], [[], []])

    def test_a_lost_host_ends_the_rounds(self):
        agent = self.agent("alpha")
        process = self.start_ab("--hosts", agent.address, "--rounds", "8", "--duration", "1")
        process.await_err(r"round 2 of 8")
        os.kill(agent.agent_pid, signal.SIGKILL)
        process.finish()
        self.result_of(process, None, code=3)
        self.assertEqual(len(self.record()["rounds"]), 1)
        self.assertRegex(self.record()["ended"], "The rounds ended with .* in round 2: ")
        self.plimsoll("compare", self.out)

    def test_each_side_is_prepared_once_and_others_find_the_agent_busy(self):
        agent = self.agent("alpha")
        process = self.start_ab("--hosts", agent.address, "--rounds", "6", "--duration", "500ms", "--bsize", "8k")
        process.await_err(r"round 3 of 6")
        refused = self.plimsoll("run", "--hosts", agent.address, "--dir", self.dir, code=4)
        self.assertIn("the agent is busy: run ", refused.err)
        process.finish()
        result = self.result_of(process, None, code=0)
        self.assertEqual(agent.err.count(": run "), 2, "sessions")
        self.assertEqual([len(self.steps(side)) for side in "ab"], [12, 12])
        self.assertEqual([step["repetition"] for step in self.steps("a")], [n for n in range(1, 7) for _ in range(2)])
        self.assertEqual(self.record()["rounds"][2]["a_steps"], [4, 2])
        again = self.plimsoll("compare", self.out, "--json")
        self.assertEqual(json.loads(again.out), self.comparison(), result)
        self.assertEqual(list(self.dir.glob("*/*")), [])
        self.run_plan("--hosts", agent.address, *PACE)
        # Nothing is concluded from results that are not those that were measured.
        shutil.copy(self.out / "a" / "journal", self.out / "b" / "journal")
        self.assertIn("b/journal was changed or replaced", self.plimsoll("compare", self.out, code=3).err)
        shutil.rmtree(self.out / "b")
        told = self.plimsoll("compare", self.out, code=3)
        self.assertIn("INCONCLUSIVE: these are not the results that were measured: b is missing", told.err)
        self.assertEqual(told.out, "")

    def test_agents_of_a_killed_controller_remove_the_files_of_both_sides(self):
        agent = self.agent("alpha")
        process = self.start_ab("--hosts", agent.address, "--duration", "60", "--lease", "3s")
        process.await_err(r"round 1 of 8")
        self.assertEqual(len(harness.paths(self.dir, "*/plimsoll-*")), 2)
        process.signal(signal.SIGKILL)
        process.finish()
        harness.wait_until(lambda: not harness.paths(self.dir, "*/plimsoll-*"), "no files")
        self.run_plan("--hosts", agent.address, *PACE)

    def test_the_rounds_of_a_killed_controller_can_be_compared(self):
        process = self.start_ab("--rounds", "20", "--all-rounds", "--lease", "3s")
        process.await_err(r"round 8 of 20")
        # The journals are flushed once a second.
        process.await_err(r"round 11 of 20")
        process.signal(signal.SIGKILL)
        process.finish()
        complete = len(self.record()["rounds"])
        comparison = json.loads(self.plimsoll("compare", self.out, "--json").out)
        self.assertGreaterEqual(comparison["paired"]["complete_rounds"], 6)
        self.assertLessEqual(comparison["paired"]["complete_rounds"], complete)
        self.assertIn("not sealed", comparison["warnings"][-1])
        self.assertEqual(len(self.rows(comparison)["iops"]["rounds"]["ratio"]), comparison["paired"]["complete_rounds"])
        harness.wait_until(lambda: not harness.paths(self.dir, "*/plimsoll-*"), "no files")

    def test_rounds_whose_journals_cannot_be_written_are_compared_all_the_same(self):
        for mode in ((), ("--anew",)):
            with self.subTest(mode=mode):
                # Room for an extent, and for little of a journal.
                result = self.ab("--rounds", "6", "--duration", "800ms", "--file-size", "4k", *mode, code=3,
                                 wrap=["prlimit", "--fsize=4500"])
                self.assertIn("6 complete rounds", result.out)
                self.assertRegex(result.err, r"(?m)^plimsoll: write \S+/(a|round-01-a)/journal: File too large")
                self.assertEqual(len(self.record()["rounds"]), 6)
                shutil.rmtree(self.out)

    def assert_interrupted_before_round_1(self, process, held=None):
        """`held`: what the storage holds until the interrupt has been received."""
        process.signal(signal.SIGINT)
        if held is not None:
            process.await_err(r"^removing the files")
            held.release()
        process.finish()
        result = self.result_of(process, None, code=3)
        self.assertRegex(result.err, r"(?m)^plimsoll: Interrupted before .*round 1\. No comparison was made$")
        self.assertFalse(self.out.exists(), "nothing was measured")

    def test_interrupted_while_the_second_side_prepares(self):
        filesystem = faultfs.mounted(self)
        for side in "ab":
            (filesystem.mountpoint / side).mkdir()
        filling = filesystem.fault("write *b/plimsoll-*.LOG hang")
        process = self.start_ab("--file-size", "1m", vary=f"dir={filesystem.mountpoint / 'a'},{filesystem.mountpoint / 'b'}")
        filling.await_waiting()
        self.assert_interrupted_before_round_1(process, held=filling)
        harness.wait_until(lambda: not harness.paths(filesystem.mountpoint, "*/*"), "no files")

    def test_interrupted_while_the_first_command_runs(self):
        process = self.start_ab("--dir", self.dir, "--toggle", "1s", "--between", ENDLESS, "--allow-commands", vary="none")
        self.await_command(process)
        self.assert_interrupted_before_round_1(process)

    def test_a_side_that_cannot_be_reached_is_named_before_anything_is_measured(self):
        for name in "ab":
            (self.base / f"{name}.yaml").write_text(
                f"workload: {{dir: {self.dir / name}}}\n" + ("hosts: [{address: '127.0.0.1:1'}]\n" if name == "b" else ""))
        result = self.ab(self.base / "a.yaml", self.base / "b.yaml", "--differs", "hosts", vary="none", code=4)
        self.assertRegex(result.err, r"(?m)^plimsoll: No round could begin: side 'b': 127\.0\.0\.1:1: connection refused")
        self.assertFalse(self.out.exists())
        self.assertEqual(list(self.dir.glob("*/*")), [])

    def test_both_sides_together_keep_to_the_caps_of_an_agent(self):
        agent = self.agent("alpha", more=["--max-bytes", "1m"])
        result = self.ab("--hosts", agent.address, "--num-files", "3", code=2)
        self.assertRegex(result.err, r"786,432 bytes of extents .* in addition to 786,432 bytes of the same controller's other session.*--max-bytes")
        self.assertEqual(list(self.dir.glob("*/*")), [])
        self.ab("--hosts", agent.address, "--num-files", "3", "--rounds", "6", "--anew")

    def test_both_sides_are_toggled_within_one_run(self):
        filesystem = faultfs.mounted(self)
        log = self.base / "log"
        delay = self.between(f"echo $1 >> {log}; {filesystem.in_shell('clear')}\n"
                             f"if [ $1 = A ]; then {filesystem.in_shell('add write *.LOG delay_ms=2')}\n"
                             f"else {filesystem.in_shell('add write *.LOG delay_ms=20')}; fi")
        result = self.ab("--dir", filesystem.mountpoint, "--names", "near,far", "--rounds", "7", "--toggle", "700ms",
                         "--bsize", "8k", "--between", f"{delay} {{letter}}", "--allow-commands", vary="none",
                         wrap=harness.ahead())
        steps = self.steps("run")
        self.assertEqual([step["block_size_bytes"] for step in steps], 14 * [4096, 8192])
        self.assertEqual({(step["duration_ns"], step["warmup_ns"]) for step in steps}, {(700_000_000, 0)})
        self.assertEqual("".join(log.read_text().split()), "".join(self.comparison()["paired"]["order"]))
        for figure in FIGURES.split(","):
            self.assertEqual(self.finding(figure, result), "worse", result)

    def between(self, text):
        script = self.base / "between"
        script.write_text(f"#!/bin/sh\n{text}\n")
        script.chmod(0o755)
        return script

    def await_command(self, process):
        harness.wait_until(lambda: any(harness.comm_of(pid) == "tail" for pid in harness.children_of(process.pid)),
                           "the command")

    def test_a_command_runs_before_each_side(self):
        log = self.base / "log"
        script = self.between(f'echo "$1 $2 $3" >> {log}')
        self.ab("--rounds", "6", "--names", "one,two", "--between", f"{script} {{round}} {{letter}} '{{side}} side'",
                "--allow-commands", "--order-seed", "3")
        expected = []
        for number, order in enumerate(self.comparison()["paired"]["order"], 1):
            expected += [f"{number} {letter} {dict(A='one', B='two')[letter]} side" for letter in order]
        self.assertEqual(log.read_text().splitlines(), expected)

    def test_a_command_that_fails_ends_the_rounds(self):
        script = self.between('test "$1" != 2')
        result = self.ab("--between", f"{script} {{round}}", "--allow-commands", code=3)
        self.assertRegex(self.record()["ended"], r"^--between failed before .* in round 2: exit code 1\.$")
        self.assertEqual(len(self.record()["rounds"]), 1)
        self.assertIn("--between failed before", result.err)

    def test_a_command_can_be_interrupted(self):
        process = self.start_ab("--between", ENDLESS, "--allow-commands")
        process.await_err(r"round 1 of 8")
        self.await_command(process)
        process.signal(signal.SIGTERM)
        process.finish()
        result = self.result_of(process, None, code=3)
        self.assertIn("Interrupted before", result.err)
        self.assertFalse(self.out.exists(), "nothing was measured")

    def test_the_option_that_varies_may_differ(self):
        self.ab("--rounds", "6", "--dir", self.dir, vary="sync=dsync,none")
        comparison = self.comparison()
        self.assertEqual([side["label"] for side in comparison["sides"]], ["dsync", "none"])
        self.assertEqual(comparison["options"]["differs"], ["sync"])
        # A busy machine may add warnings of its own.
        self.assertEqual([text for text in comparison["warnings"]
                          if "same load" in text or ("sync" in text and "INCONCLUSIVE" not in text and "CPU-bound" not in text)], [])

    def test_two_plans_name_their_sides(self):
        for name, sync in (("san", "dsync"), ("nfs", "none")):
            (self.base / f"{name}.yaml").write_text(f"workload: {{dir: {self.dir}, sync: {sync}}}\n")
        plans = (self.base / "san.yaml", self.base / "nfs.yaml")
        result = self.ab(*plans, vary="none", code=2)
        self.assertIn("if that is what you compare, pass --differs", result.err)
        result = self.ab(*plans, "--differs", "sync", "--dry-run", vary="none")
        self.assertRegex(result.out, r"(?s)^san:\n.*\nnfs:\n.*Up to 8 rounds")
        self.assertFalse(self.out.exists())

    def test_wrong_input_says_what_to_do(self):
        for arguments, vary, message in (
            (("--rounds", "5"), None, "--rounds 5: from 6 to 60; fewer cannot show a difference at 5 %"),
            ((), "none", "ab needs two plans, or one with --vary OPTION=A,B; 0 plans were given"),
            (("--dir", self.dir), "bsize=4k,8k", "--bsize takes a list; write two plans, and pass both"),
            (("--dir", self.dir), "speed=1,2", "--speed is not an option of a plan"),
            (("--dir", self.dir), "sync=dsync", "expected an option of a plan and its two values"),
            (("--dir", self.dir), "sync=dsync,sink", "sink"),
            ((), f"dir={self.dir},{self.dir}/", "both values name the same directory"),
            (("--between", "true"), None, "--between runs a command on this machine: read it, and pass --allow-commands"),
            (("--stop-on", "max"), None, "--stop-on: 'max' is not one of"),
            (("--differs", "speed"), None, "--differs: 'speed' is not an option of a plan"),
            (("--names", "x"), None, "--names: 1 for 2 sides"),
            (("--toggle", "2s"), None, "--toggle measures both sides in one run: it takes one plan, or none, and no --vary"),
            (("--dir", self.dir, "--toggle", "2s"), "none", "--toggle needs --between"),
            (("--dir", self.dir, "--toggle", "2s", "--between", "true", "--allow-commands",
              "--repeat", "2"), "none",
             "--toggle measures each step once a side and round: leave out --until-steady and --repeat"),
            (("--dir", self.dir, "--toggle", "1ms"), "none", "--toggle: '1ms' is not a time from 500ms to 1h"),
        ):
            with self.subTest(message):
                result = self.ab(*arguments, vary=vary, code=2)
                self.assertIn(message, result.err)
                self.assertFalse(self.out.exists())


if __name__ == "__main__":
    harness.main()
