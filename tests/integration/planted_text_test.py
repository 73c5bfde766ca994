"""Names that an unprivileged user chose reach terminals and logs as text alone."""

import shutil

import harness

# Clears the screen, sets the title, and pretends to be a line of ours.
EVIL = "\x1b[2J\x1b]0;x\x07"
LINE = "a\nplimsoll: PASS"


class PlantedText(harness.PlimsollTest):

    def assert_plain(self, *texts):
        for text in texts:
            self.assertEqual([c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)], [], repr(text))
            self.assertNotIn("plimsoll: PASS", [line.strip() for line in text.splitlines()], repr(text))

    def hold_an_extent(self):
        """A process with an evil name holds what looks like a queue manager's log, below a directory with an evil name."""
        directory = self.dir / (LINE + EVIL)
        directory.mkdir()
        program = self.base / ("\x1b[31m\nz")
        shutil.copy(shutil.which("sleep"), program)
        with open(directory / "S0000001.LOG", "wb") as extent:
            return self.start(harness.Process, [program, "1000"], pass_fds=[extent.fileno()])

    def test_a_process_and_a_path_in_the_warnings_of_a_run(self):
        holder = self.hold_an_extent()
        harness.wait_until(lambda: harness.comm_of(holder.pid).startswith("\x1b"), "the process has its name")
        run = self.run_plan()
        self.assertIn("S0000001.LOG", run.err)
        self.assert_plain(run.out, run.err)

    def test_a_root_in_the_errors_of_a_run_that_cannot_start(self):
        root = self.base / (LINE + EVIL)
        root.mkdir()
        agent = self.agent("alpha", root=root)
        elsewhere = self.plimsoll("run", "--hosts", agent.address, "--dir", self.dir, code=2)
        self.assertIn("plimsoll: alpha: ", elsewhere.err)
        self.assertIn("PASS", elsewhere.err, "it tells the root")
        refused = self.plimsoll("run", "--hosts", agent.address, "--dir", root, code=2)
        self.assertIn("holds a character that does not show", refused.err)
        self.assert_plain(elsewhere.out, elsewhere.err, refused.out, refused.err)

    def test_a_root_in_the_answers_and_the_log_of_an_agent(self):
        root = self.base / (LINE + EVIL)
        root.mkdir()
        agent = self.agent("alpha", root=root)
        hosts = self.plimsoll("hosts", "--hosts", agent.address, "--dir", root)
        self.assertIn("  directory ", hosts.out)
        clean = self.plimsoll("clean", "--hosts", agent.address, "--dir", self.dir, code=2)
        self.assertIn("plimsoll: alpha: --dir: ", clean.err)
        storage = self.plimsoll("storage", root, "--hosts", agent.address)
        self.assert_plain(hosts.out, hosts.err, clean.out, clean.err, storage.out, storage.err)
        self.assert_plain(agent.err)


if __name__ == "__main__":
    harness.main()
