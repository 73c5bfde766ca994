"""The whole job as an ordinary user: runs, leases, leftovers, and what it says where it lacks permission."""

import os
import pathlib
import shutil
import signal
import unittest

import harness

USER = 65534
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]


class Unprivileged(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            # Then all other tests are this one already.
            raise unittest.SkipTest("becoming another user needs root")
        # The programs where that user can reach them.
        programs = self.base / "bin"
        programs.mkdir()
        for name in ("plimsoll", "plimsoll-agent"):
            shutil.copy(harness.binary(name), programs)
        for path in (self.base, self.dir, self.runtime):
            os.chown(path, USER, USER)
        self.addCleanup(os.environ.__setitem__, "PLIMSOLL_BIN", os.environ["PLIMSOLL_BIN"])
        os.environ["PLIMSOLL_BIN"] = str(programs)

    def agent_as_user(self, name, **options):
        agent = self.agent(name, wrap=AS_USER, **options)
        status = pathlib.Path(f"/proc/{agent.agent_pid}/status").read_text()
        self.assertRegex(status, rf"(?m)^Uid:\t{USER}\t{USER}\t{USER}\t{USER}$")
        self.assertRegex(status, r"(?m)^CapEff:\t0+$")
        return agent

    def test_a_run_on_this_host(self):
        result = self.run_plan("--qm", "2", "--bsize", "4k,64k", wrap=AS_USER)
        self.assertEqual(result.report["run"]["state"], "complete")
        self.assert_nothing_left()

    def test_a_run_over_agents_whose_files_are_the_users(self):
        alpha, beta = self.agent_as_user("alpha"), self.agent_as_user("beta", listen=f"unix:{self.base}/beta.sock")
        report = self.run_plan("--hosts", f"{alpha.address},{beta.address}", "--qm", "2", "--warmup", "100ms",
                               "--keep-files", wrap=AS_USER).report
        self.assertEqual(len(report["hosts"]), 2)
        files = list(self.dir.rglob("*"))
        self.assertEqual(len([path for path in files if path.suffix == ".LOG"]), 12)
        self.assertEqual({path.stat().st_uid for path in files}, {USER})
        self.plimsoll("clean", "--hosts", f"{alpha.address},{beta.address}", "--dir", self.dir, "--run",
                      report["run"]["id"], "--yes", wrap=AS_USER)
        self.assert_nothing_left()

    def test_the_lease_of_a_killed_controller(self):
        agent = self.agent_as_user("alpha")
        run = self.start_run("--hosts", agent.address, "--duration", "60", wrap=AS_USER)
        self.await_running(run)
        run.signal(signal.SIGKILL)
        run.finish()
        self.await_nothing_left()
        self.run_plan("--hosts", agent.address, wrap=AS_USER)

    def test_leftovers_of_a_killed_agent(self):
        agent = self.agent_as_user("alpha")
        run = self.start_run("--hosts", agent.address, "--duration", "60", wrap=AS_USER)
        self.await_running(run)
        agent.signal(signal.SIGKILL)
        agent.finish()
        self.result_of(run, run.results, code=3)
        self.assertNotEqual(list(self.dir.iterdir()), [])
        self.agent_as_user("alpha").await_err("removed leftovers of a previous agent")
        self.assert_nothing_left()

    def test_a_directory_that_it_may_not_write_is_named_before_anything_is_tried(self):
        closed = self.dir / "closed"
        closed.mkdir(mode=0o755)  # root's
        agent = self.agent_as_user("alpha")
        for more in ([], ["--dry-run"]):
            result = self.run_plan("--hosts", agent.address, *more, dir=closed, wrap=AS_USER, code=2)
            self.assertEqual(result.errors, [
                f"plimsoll: alpha: --dir: write access to {closed}: Permission denied (13)"
            ])
        self.assertEqual(list(closed.iterdir()), [])

    def test_a_root_that_it_may_not_reach_is_named(self):
        hidden = self.base / "hidden"
        (hidden / "data").mkdir(parents=True)
        hidden.chmod(0o700)
        process = self.start(harness.Process,
                             [*AS_USER, harness.binary("plimsoll-agent"), "--root", hidden / "data"])
        self.assertEqual(process.finish(), 2)
        self.assertRegex(process.err, rf"--root {hidden}/data: Permission denied")


if __name__ == "__main__":
    harness.main()
