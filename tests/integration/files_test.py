"""Where a run's files stand, what they are called, how large they are, and that they go again."""

import signal
import stat

import harness


class Files(harness.PlimsollTest):

    def run_directory(self, report):
        return self.dir / f"plimsoll-{report['run']['id']}"

    def test_kept_files_stand_in_a_directory_for_each_writer(self):
        alpha, beta = self.agent("alpha"), self.agent("beta")
        report = self.run_plan("--hosts", f"{alpha.address},{beta.address}", "--qm", "2", "--num-files", "4",
                               "--file-size", "96k", "--keep-files").report
        run = self.run_directory(report)
        files = {str(path.relative_to(run)): path.stat() for path in run.rglob("*.LOG")}
        self.assertEqual(
            sorted(files),
            [f"{host}/qm{qm}/active/S000000{number}.LOG"
             for host in ("alpha", "beta") for qm in (1, 2) for number in range(4)])
        for name, info in files.items():
            self.assertEqual(info.st_size, 96 * 1024, name)
            self.assertGreaterEqual(info.st_blocks * 512, 96 * 1024, f"{name} is not written in full")
            self.assertEqual(stat.S_IMODE(info.st_mode) & 0o022, 0, f"{name} can be written by others")
        self.assertEqual([path.name for path in self.dir.iterdir()], [run.name])

    def test_extents_are_called_by_the_prefix_that_was_asked_for(self):
        report = self.run_plan("--filePrefix", "MQ", "--keep-files").report
        self.assertEqual(sorted(path.name for path in self.run_directory(report).rglob("*.LOG")),
                         ["MQ0000000.LOG", "MQ0000001.LOG", "MQ0000002.LOG"])

    def test_no_two_pages_on_the_disk_are_alike_and_none_is_empty(self):
        report = self.run_plan("--qm", "2", "--keep-files", "--bsize", "8k").report
        pages = []
        for path in self.run_directory(report).rglob("*.LOG"):
            data = path.read_bytes()
            pages += [data[at:at + 4096] for at in range(0, len(data), 4096)]
        self.assertEqual(len(pages), 2 * 3 * 64)
        self.assertEqual(len(set(pages)), len(pages))
        self.assertNotIn(bytes(4096), pages)

    def test_files_are_there_while_a_run_writes_and_gone_after_it(self):
        run = self.start_run("--duration", "60")
        self.await_running(run)
        self.assertEqual(len(list(self.dir.glob("plimsoll-*/*/qm1/active/S000000[012].LOG"))), 3)
        run.signal(signal.SIGINT)
        self.result_of(run, run.results, code=3)
        self.assert_nothing_left()

    def test_files_of_others_beside_a_run_stay_as_they_are(self):
        mine = self.dir / "S0000000.LOG"
        mine.write_bytes(b"not Plimsoll's")
        self.run_plan()
        self.assertEqual([path.name for path in self.dir.iterdir()], [mine.name])
        self.assertEqual(mine.read_bytes(), b"not Plimsoll's")

    def test_an_agent_removes_at_its_start_what_its_killed_self_left(self):
        agent = self.agent("alpha")
        run = self.start_run("--hosts", agent.address, "--duration", "30")
        self.await_running(run)
        agent.signal(signal.SIGKILL)
        agent.finish()
        self.result_of(run, run.results, code=3)
        self.assertNotEqual(list(self.dir.iterdir()), [])
        other = self.agent("beta")
        self.assertNotEqual(list(self.dir.iterdir()), [], "another agent's files were removed")
        other.end()
        again = self.agent("alpha")
        again.await_err("removed leftovers of a previous agent: .*/alpha$")
        self.assert_nothing_left()

    def test_an_agent_leaves_kept_files_alone_at_its_start(self):
        agent = self.agent("alpha")
        self.run_plan("--hosts", agent.address, "--keep-files")
        kept = sorted(self.dir.rglob("*.LOG"))
        agent.signal(signal.SIGKILL)
        agent.finish()
        self.agent("alpha")
        self.assertEqual(sorted(self.dir.rglob("*.LOG")), kept)
        self.assertEqual(len(kept), 3)


if __name__ == "__main__":
    harness.main()
