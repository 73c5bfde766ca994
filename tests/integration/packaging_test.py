"""The agent as a service: how hard its unit is, and that a whole session works under its system-call filter."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import unittest

import harness

UNIT = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "plimsoll-agent.service"
# Debian's own, which sees Debian's python3-seccomp.
PYTHON = "/usr/bin/python3"
FILTERED = [PYTHON, "-B", str(pathlib.Path(__file__).with_name("seccomp_exec.py")), str(UNIT)]
# Tenths of systemd's exposure level, from 0 (best) to 100.
THRESHOLD = 20


def analyze(*arguments):
    return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False, timeout=60)


class Unit(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        if shutil.which("systemd-analyze") is None:
            raise unittest.SkipTest("systemd-analyze is not installed")

    def copy(self, change):
        """The unit with its text changed, in a place of its own."""
        path = self.base / UNIT.name
        path.write_text(change(UNIT.read_text()))
        return path

    def score(self, path):
        return analyze("security", "--offline=true", f"--threshold={THRESHOLD}", str(path))

    def test_its_exposure_is_low(self):
        done = self.score(UNIT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"Overall exposure level for plimsoll-agent.service: [01]\.\d OK")

    def test_a_weaker_unit_would_not_pass(self):
        weaker = self.copy(lambda text: re.sub(r"(?m)^(SystemCallFilter|CapabilityBoundingSet)=.*\n", "", text))
        self.assertNotEqual(self.score(weaker).returncode, 0)

    def test_the_agent_may_ask_the_kernel_whose_a_connection_is(self):
        # Without netlink it reads all of /proc/net/tcp instead, for each connection over loopback.
        families = re.findall(r"(?m)^RestrictAddressFamilies=(.*)$", UNIT.read_text())
        self.assertEqual([set(line.split()) for line in families], [{"AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK"}])

    def test_systemd_understands_every_line(self):
        unit = self.copy(lambda text: text.replace("ExecStart=plimsoll-agent", "ExecStart=" + harness.binary(
            "plimsoll-agent")))
        done = analyze("verify", str(unit))
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_it_is_installed_with_the_agent(self):
        build = pathlib.Path(os.environ["PLIMSOLL_BIN"]).parent
        if shutil.which("cmake") is None or not (build / "cmake_install.cmake").exists():
            raise unittest.SkipTest("no build tree with its cmake beside the programs")
        subprocess.run(["cmake", "--install", build, "--component", "agent", "--prefix", self.dir / "usr"], check=True,
                       capture_output=True, timeout=harness.LONG_S)
        installed = {str(path.relative_to(self.dir)) for path in self.dir.rglob("*") if path.is_file()}
        self.assertLessEqual(
            {"usr/bin/plimsoll-agent", "usr/lib/systemd/system/plimsoll-agent.service",
             "usr/lib/sysusers.d/plimsoll-agent.conf"}, installed)


class SystemCallFilter(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        if shutil.which("systemd-analyze") is None:
            raise unittest.SkipTest("systemd-analyze is not installed")
        if subprocess.run([PYTHON, "-c", "import seccomp"], capture_output=True, check=False).returncode:
            raise unittest.SkipTest("python3-seccomp is not installed")

    def probe(self, action):
        """Lowers its own priority, which anybody may, but not under the filter."""
        process = self.start(harness.Process,
                             [*FILTERED, action, PYTHON, "-c", "import os; print('before'); os.nice(1)"])
        return process.finish(), process

    def test_the_filter_is_in_force(self):
        code, process = self.probe("errno")
        self.assertEqual(code, 1)
        self.assertIn("PermissionError: [Errno 1]", process.err)
        code, _ = self.probe("kill")
        self.assertEqual(code, -signal.SIGSYS)

    def filtered_agent(self, action, *more):
        return self.agent("alpha", wrap=[*FILTERED, action], more=more)

    def whole_session(self, agent):
        result = self.run_plan("--hosts", agent.address, "--qm", "3", "--cpu-load", "1", "--bsize", "4k,64k", "--warmup",
                               "200ms", "--stall", "1ms", "--rate", "200", "--duration", "1200ms")
        self.assertEqual(result.report["run"]["state"], "complete")
        scope = harness.cluster(result.report["steps"][0])
        self.assertEqual(scope["untraced_writes"], 0)
        self.assertTrue(result.report["hosts"][0]["mount"]["fs_type"])
        return result

    def leftovers(self, action):
        """An agent is killed in a run; the next one removes what it left, one more lists it first."""
        agent = self.filtered_agent(action)
        run = self.start_run("--hosts", agent.address, "--duration", "60")
        self.await_running(run)
        agent.signal(signal.SIGKILL)
        agent.finish()
        self.result_of(run, run.results, code=3)
        self.assertNotEqual(list(self.dir.iterdir()), [])
        keeper = self.filtered_agent(action, "--keep-leftovers")
        self.assertIn("this agent", self.plimsoll("clean", "--hosts", keeper.address, "--dir", self.dir).out)
        keeper.signal(signal.SIGTERM)
        self.assertEqual(keeper.finish(), 0)
        self.filtered_agent(action).await_err("removed leftovers of a previous agent")
        self.assert_nothing_left()

    def sync_of(self, agent, *arguments):
        """The last column of the agent's row: the bound on its wall clock's error."""
        lines = self.plimsoll("hosts", "--hosts", agent.address, *arguments).out.splitlines()
        (row,) = [line for line in lines if agent.address in line]
        self.assertEqual(len(row.split()), 7, row)
        return row.split()[-1]

    def test_a_whole_session_makes_no_call_that_the_filter_forbids(self):
        agent = self.filtered_agent("kill")
        self.whole_session(agent)
        sync = self.sync_of(agent, "--dir", self.dir)
        plain = self.agent("alpha")
        self.assertEqual(sync == "-", self.sync_of(plain) == "-", "whether the kernel has the clock as synchronised")
        self.assertTrue(agent.running(), agent.err)
        agent.signal(signal.SIGTERM)
        self.assertEqual(agent.finish(), 0)
        plain.end()
        self.leftovers("kill")

    def test_a_whole_session_works_as_the_unit_runs_it(self):
        agent = self.filtered_agent("errno")
        self.whole_session(agent)
        self.assert_nothing_left()
        self.assertNotRegex(agent.err, "not permitted")


if __name__ == "__main__":
    harness.main()
