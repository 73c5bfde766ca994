"""What a run shows while it is under way: the table on a terminal (tmux plays it), lines elsewhere, and colour."""

import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import unittest

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faultfs"))

import faultfs  # noqa: E402

FIGURES = r"p50 [\d.,]+  p99 [\d.,]+  max [\d.,]+ ms"
SECOND = re.compile(rf"^step (\d+)/\d+  \S+ \S+  (warm-up )?(\S+) s/(\S+) s  ([\d.,]+) IO/s  [\d.,]+ MB/s  (?:response )?{FIGURES}", re.M)


class Terminal:
    """A terminal of tmux in which a shell runs one command and then waits."""

    servers = 0

    def __init__(self, test, argv, columns, rows):
        # A server of its own: the one before may still be ending.
        Terminal.servers += 1
        self._socket = test.base / f"tmux-{Terminal.servers}"
        environment = {**test.environment, "TERM": "xterm-256color"}
        environment.pop("TMUX", None)
        environment.pop("NO_COLOR", None)
        # The shell outlives a Ctrl-C, which goes to the run.
        script = f"trap : INT; echo before the run; {shlex.join(map(str, argv))}; echo exit code $?; exec cat"
        self._environment = environment
        self._tmux("-f", "/dev/null", "-u", "new-session", "-d", "-x", columns, "-y", rows, "sh", "-c", script)
        self._open = True
        test.addCleanup(self.close)
        self._keep = os.environ.get("PLIMSOLL_SCREENS")
        self._kept = 0
        self._name = test.id().split(".")[-1]

    def _tmux(self, *arguments):
        return subprocess.run(["tmux", "-S", self._socket, *map(str, arguments)], env=self._environment, check=True,
                              capture_output=True, text=True, timeout=harness.LONG_S).stdout

    def close(self):
        if self._open:
            self._tmux("kill-server")
        self._open = False

    def resize(self, columns, rows):
        self._tmux("resize-window", "-x", columns, "-y", rows)

    def keys(self, *keys):
        self._tmux("send-keys", *keys)

    def screen(self):
        """What is shown, a line each."""
        return self._tmux("capture-pane", "-p").rstrip("\n").split("\n")

    def history(self):
        """What is shown and what was scrolled off."""
        return self._tmux("capture-pane", "-p", "-S", "-")

    def colours(self):
        return self._tmux("capture-pane", "-p", "-e")

    def flag(self, name):
        return self._tmux("display-message", "-p", f"#{{{name}}}").strip()

    def await_text(self, pattern):
        """Waits until the screen shows the pattern; returns the screen. PLIMSOLL_SCREENS: a directory that keeps it."""

        def look():
            lines = self.screen()
            return lines if re.search(pattern, "\n".join(lines), re.M) else None

        try:
            lines = harness.wait_until(look, f"/{pattern}/ on the terminal")
        except AssertionError as error:
            raise AssertionError(f"{error}\n" + "\n".join(self.screen())) from None
        if self._keep:
            self._kept += 1
            pathlib.Path(self._keep, f"{self._name}-{self._kept}.txt").write_text("\n".join(lines) + "\n")
        return lines


class OnATerminal(harness.PlimsollTest):
    agents_ahead = True
    # Where nothing stalls as a disk does: only the stalls that a test makes are on the screen.
    in_memory = True

    def setUp(self):
        super().setUp()
        try:
            subprocess.run(["tmux", "-V"], check=True, capture_output=True)
        except OSError:
            self.skipTest("tmux is not there")

    def run_on_terminal(self, agents, *arguments, size=(80, 24)):
        self._results += 1
        return Terminal(self, [
            *harness.ahead(), harness.binary("plimsoll"), "run", "--hosts", ",".join(agent.address for agent in agents),
            "--dir", self.dir, "--file-size", "256k", "--out", self.base / f"out-{self._results}", *arguments
        ], *size)

    def test_an_acceptance_shows_the_whole_above_the_part_that_is_under_way(self):
        terminal = Terminal(self, [
            harness.binary("plimsoll"), "accept", "--dir", self.dir, "--file-size", "64k", "--num-files", "2", "--rate", "20",
            "--arrival", "even", "--duration", "8s", "--warmup", "0", "--require", "p50<5s", "--parts", "load", "--runs", "2",
            "--out", self.base / "accepted"
        ], 80, 24)
        for number in (1, 2):
            lines = terminal.await_text(rf"\Apart {number} of 2: load, run {number}, about \d+s left\n")
            self.assertEqual(terminal.flag("alternate_on"), "1")
            self.assertLessEqual(len(lines), 24)
        terminal.await_text(r"^exit code \d$")
        self.assert_restored(terminal)

    def assert_restored(self, terminal):
        self.assertEqual(terminal.flag("alternate_on"), "0")
        self.assertEqual(terminal.flag("cursor_flag"), "1")
        # The report is below what was there before, and nothing of the table is between.
        history = terminal.history()
        self.assertLess(history.index("before the run"), history.index("\nVerdict "), history)
        self.assertNotIn("oldest write", history)
        self.assertNotIn("▁", history)
        return history

    def test_a_table_of_the_hosts_fits_every_size_and_makes_room_for_the_report(self):
        agents = [self.agent(f"node{number}") for number in range(1, 15)]
        terminal = self.run_on_terminal(agents, "--duration", "18", "--warmup", "4", "--bsize", "4k,16k", "--rate", "50",
                                        "--require", "p90<10s", "--require", harness.FAILS, "--require", "steady",
                                        "--require", "stalls==0")
        screen = terminal.await_text(r"^step 1 of 2  4 KiB  warm-up [1-3] of 4 s[^$]*^all 14 hosts +[1-9]")
        # Criteria are looked at less often than figures; what fails stays so.
        terminal.await_text(rf"^  {harness.FAILS} +failing")
        # What only a drawing for that size has: how high its chart is, and which columns and hosts fit.
        for columns, rows, drawn in ((80, 24, r"^worst first +IO/s +MB/s[^$]*^and \d+ more hosts$"),
                                     (120, 40, r"^p99 of.*\n([ ▁▂▃▄▅▆▇█·]+\n){4}\n"),
                                     (200, 60, r"^p99 of.*\n([ ▁▂▃▄▅▆▇█·]+\n){6}\n"),
                                     (40, 10, r"^worst first +IO/s +p99 ms +max ms$"),
                                     (80, 24, r"^worst first +IO/s +MB/s[^$]*^and \d+ more hosts$")):
            terminal.resize(columns, rows)
            screen = terminal.await_text(r"\Astep 1 of 2  4 KiB  measuring [1-9]\d* of 18 s[^$]*" + drawn)
            self.assertLessEqual(len(screen), rows)
            self.assertTrue(all(len(line) <= columns for line in screen), screen)
            hosts = [line for line in screen if line.startswith("node")]
            more = [int(match.group(1)) for line in screen if (match := re.match(r"and (\d+) (?:more )?hosts", line))]
            self.assertEqual(len(hosts) + sum(more), 14, screen)
            if columns < 80:
                continue
            text = "\n".join(screen)
            self.assertRegex(text, r"step ends in \d+ s, run ends in about \d+ s")
            self.assertRegex(text, rf"(?m)^  {harness.FAILS} +failing +[\d,]+ writes  step 1, node")
            self.assertRegex(text, r"(?m)^  steady +undecided")
            if rows >= 40:
                self.assertEqual(len(hosts), 14, screen)
                self.assertRegex(text, "[▁▂▃▄▅▆▇█]{3}")
        terminal.await_text(r"\Astep 2 of 2  16 KiB  measuring")
        terminal.await_text(r"^exit code 1$")
        history = self.assert_restored(terminal)
        self.assertRegex(history, r"(?m)^Verdict +FAIL")

    def test_a_host_that_stalls_is_first_and_its_stall_is_listed(self):
        agents = [self.agent(name) for name in ("alpha", "beta", "gamma")]
        terminal = self.run_on_terminal(agents, "--duration", "60", "--warmup", "0", "--rate", "100", size=(100, 30))
        terminal.await_text(r"^all 3 hosts +[1-9]")
        agents[1].signal(signal.SIGSTOP)
        terminal.await_text(r"^all 3 hosts.*\nbeta .* silent [3-9] s$")
        agents[1].signal(signal.SIGCONT)
        # The silence began before the suspension, with the last message before it.
        terminal.await_text(r"^stalls  \d+ so far in this step\n(?:  at .*\n)*  at +\d+\.\d s +[2-9]\.\d{3} s +beta/qm1")
        # However late the table gets to it, the run is still on; nothing waits for its end.
        terminal.keys("C-c")
        terminal.await_text(r"^exit code 3$")
        self.assert_restored(terminal)

    def test_ctrl_c_restores_the_terminal_and_reports(self):
        agents = [self.agent(name) for name in ("alpha", "beta")]
        terminal = self.run_on_terminal(agents, "--duration", "60", "--warmup", "0", "--rate", "100")
        terminal.await_text(r"^both hosts +[1-9]")
        terminal.keys("C-c")
        terminal.await_text(r"^exit code 3$")
        self.assertRegex(self.assert_restored(terminal), "INCONCLUSIVE: interrupted")

    def test_a_terminal_that_takes_no_output_costs_no_lease(self):
        agents = [self.agent(name) for name in ("alpha", "beta")]
        terminal = self.run_on_terminal(agents, "--duration", "10", "--warmup", "0", "--rate", "100", "--lease", "2s")
        terminal.await_text(r"^both hosts +[1-9]")
        terminal.keys("C-s")
        self.await_nothing_left()
        terminal.keys("C-q")
        terminal.await_text(r"^exit code 0$")
        self.assert_restored(terminal)

    def test_an_agent_that_is_killed_restores_the_terminal_and_the_loss_stays_readable(self):
        agents = [self.agent(name) for name in ("alpha", "beta")]
        terminal = self.run_on_terminal(agents, "--duration", "10", "--warmup", "0", "--rate", "100")
        terminal.await_text(r"^both hosts +[1-9]")
        agents[1].signal(signal.SIGKILL)
        terminal.await_text(r"^exit code [34]$")
        self.assertRegex(self.assert_restored(terminal), r"(?m)^plimsoll: host beta is lost: ")

    def test_a_controller_that_is_aborted_or_suspended_leaves_the_terminal_as_it_was(self):
        agent = self.agent("alpha")
        for sent, expected in (("ABRT", "134"), ("QUIT", "131")):
            with self.subTest(signal=sent):
                terminal = self.run_on_terminal([agent], "--duration", "60", "--warmup", "0", "--rate", "100",
                                                "--lease", "20s")
                terminal.await_text(r"^alpha +[1-9]")
                pane = int(terminal.flag("pane_pid"))
                (controller,) = harness.children_of(pane)
                os.kill(controller, signal.SIGTSTP)
                harness.wait_until(lambda: harness.is_stopped(controller), "the controller is suspended")
                self.assertEqual((terminal.flag("alternate_on"), terminal.flag("cursor_flag")), ("0", "1"))
                os.kill(controller, signal.SIGCONT)
                harness.wait_until(lambda: terminal.flag("alternate_on") == "1", "the table is shown again")
                os.kill(controller, getattr(signal, f"SIG{sent}"))
                terminal.await_text(rf"^exit code {expected}$")
                self.assertEqual((terminal.flag("alternate_on"), terminal.flag("cursor_flag")), ("0", "1"))
                terminal.close()
                self.await_nothing_left()


class AsLines(harness.PlimsollTest):
    agents_ahead = True
    in_memory = True

    def test_every_second_has_its_line_the_warm_up_and_the_last_one_too(self):
        agents = [self.agent(name) for name in ("alpha", "beta")]
        run = self.run_plan("--hosts", ",".join(agent.address for agent in agents), "--duration", "3", "--warmup", "2",
                            "--bsize", "4k,16k", "--rate", "200", wrap=harness.ahead())
        shown = [(match.group(1), bool(match.group(2)), match.group(3)) for match in SECOND.finditer(run.err)]
        of_a_step = [(True, "1"), (True, "2"), (False, "1"), (False, "2"), (False, "3")]
        self.assertEqual(shown, [(step, *second) for step in ("1", "2") for second in of_a_step], run.err)
        # They are the report's figures.
        for step in run.report["steps"]:
            lines = [match for match in SECOND.finditer(run.err) if match.group(1) == str(step["number"]) and not match.group(2)]
            (series,) = [each for each in step["series"] if each["kind"] == "cluster"]
            self.assertEqual([round(float(line.group(5).replace(",", ""))) for line in lines],
                             # What comes after the end is the write that was in flight then.
                             series["writes"][:len(lines)])

    def test_a_line_stays_readable_with_twelve_hosts(self):
        agents = [self.agent(f"a-rather-long-storage-client-{number:02}.example.com") for number in range(1, 13)]
        run = self.run_plan("--hosts", ",".join(agent.address for agent in agents), "--duration", "2", "--rate", "20",
                            wrap=harness.ahead())
        lines = [line for line in run.errors if line.startswith("step 1/")]
        self.assertTrue(lines)
        for line in lines:
            # The name is cut, and tells which host it is.
            self.assertRegex(line, r"  worst \S*…\S*(0[1-9]|1[0-2])\S*: p99 [\d.]+ max [\d.]+")
            self.assertLess(len(line), 170, line)

    def test_preparing_shows_how_far_it_is(self):
        fs = faultfs.mounted(self)
        agents = ",".join(self.agent(name, root=fs.mountpoint).address for name in ("alpha", "beta"))
        fs.fault("write *beta/*.LOG delay_ms=150")
        run = self.run_plan("--hosts", agents, "--file-size", "8m", "--duration", "1", dir=fs.mountpoint, code=(0, 3),
                            wrap=harness.ahead())
        before = run.err[:run.err.index("step 1/")]
        shown = re.findall(r"(?m)^preparing  (\S+) \S+ of 48 MiB \((\d+) %\)  slowest beta: (\d+) %$", before)
        self.assertGreater(len(shown), 1, run.err)
        self.assertTrue(any(0 < int(beta) < int(all_hosts) < 100 for _, all_hosts, beta in shown), shown)

    def test_a_stall_is_a_line_of_its_own(self):
        agents = [self.agent(name) for name in ("alpha", "beta")]
        run = self.start_run("--hosts", ",".join(agent.address for agent in agents), "--duration", "15", "--rate", "100",
                             wrap=harness.ahead())
        self.await_running(run)
        agents[1].signal(signal.SIGSTOP)
        run.await_err(r"^step 1/.*  beta silent for [3-9] s")
        agents[1].signal(signal.SIGCONT)
        # On a busy machine alpha may stall meanwhile.
        run.await_err(r"^stall at \d+\.\d s for \d\.\d{3} s: (2 hosts, )?(alpha/qm1, )?beta/qm1(, alpha/qm1)?$")
        self.result_of(run, run.results)


class Colour(harness.PlimsollTest):
    in_memory = True
    runs_ahead = True

    def verdict(self, *arguments, environment=None):
        process = self.start(harness.Process, [harness.binary("plimsoll"), "report", "--print-only", *arguments],
                             env={**self.environment, **(environment or {})})
        process.finish()
        return process.out.splitlines()[0]

    def test_verdicts_and_errors_are_coloured_where_they_should_be(self):
        run = self.run_plan("--duration", "1", "--require", harness.FAILS, code=1)
        plain = "Verdict   FAIL: " + harness.FAILS
        painted = "Verdict   \x1b[31mFAIL\x1b[0m: " + harness.FAILS
        self.assertTrue(self.verdict(run.results).startswith(plain))
        self.assertTrue(self.verdict(run.results, "--color=always").startswith(painted))
        self.assertTrue(self.verdict(run.results, "--color", "always", environment={"NO_COLOR": "1"}).startswith(painted))
        self.assertTrue(self.verdict(run.results, "--color", "never").startswith(plain))
        self.assertTrue((run.results / "report.txt").read_text().startswith(plain))
        self.assertRegex(self.plimsoll("report", "--color=always", self.base / "none", code=2).err, "^\x1b\\[31mplimsoll:\x1b\\[0m ")
        self.assertRegex(self.plimsoll("report", "--color=sometimes", run.results, code=2).err, "^plimsoll: .*auto")

    def test_a_terminal_gets_colour_unless_it_is_refused(self):
        run = self.run_plan("--duration", "1", "--require", harness.FAILS, code=1)
        for more, coloured in (((), True), (("NO_COLOR=1",), False), (("TERM=dumb",), False)):
            with self.subTest(more=more):
                shown = subprocess.run(
                    ["script", "-qec", shlex.join(["env", "-u", "NO_COLOR", "TERM=xterm", *more, harness.binary("plimsoll"),
                                                   "report", "--print-only", str(run.results)]), "/dev/null"],
                    stdin=subprocess.DEVNULL, capture_output=True, text=True, env=self.environment,
                    timeout=harness.LONG_S).stdout
                self.assertEqual("\x1b[31mFAIL\x1b[0m" in shown, coloured, shown)


if __name__ == "__main__":
    harness.main()
