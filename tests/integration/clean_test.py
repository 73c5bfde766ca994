"""`plimsoll clean`: shows what runs left, removes what may go, and nothing else."""

import re
import signal

import harness


class Clean(harness.PlimsollTest):

    def leave(self, *arguments, name="alpha"):
        """A run whose agent is killed in its step. Returns the run's id; its directory stays."""
        before = set(self.dir.iterdir())
        agent = self.agent(name)
        run = self.start_run("--hosts", agent.address, "--duration", "60", *arguments)
        self.await_running(run)
        (made,) = set(self.dir.iterdir()) - before
        agent.signal(signal.SIGKILL)
        agent.finish()
        self.result_of(run, run.results, code=3)
        return made.name.removeprefix("plimsoll-")

    def keeper(self, name="alpha"):
        """An agent that leaves what it finds at its start."""
        return self.agent(name, more=["--keep-leftovers"])

    def clean(self, *arguments, code=0):
        return self.plimsoll("clean", "--dir", self.dir, *arguments, code=code)

    def test_lists_first_and_removes_on_request(self):
        run_id = self.leave()
        agent = self.keeper()
        listed = self.clean("--hosts", agent.address)
        self.assertRegex(listed.out, rf"(?m)^alpha +{run_id} +alpha +\d+ (s|min) +3 +768 KiB  this agent$")
        self.assertIn("1 directory with 768 KiB can be removed: add --yes. Nothing was touched.", listed.out)
        self.assertEqual(len(list(self.dir.rglob("*.LOG"))), 3)
        self.assertNotIn("session of", agent.err)
        removed = self.clean("--hosts", agent.address, "--yes")
        self.assertIn(f"alpha: removed {self.dir}/plimsoll-{run_id}/alpha (3 files, 768 KiB)", removed.out)
        self.assert_nothing_left()
        self.assertEqual(self.clean("--hosts", agent.address, "--yes").out,
                         f"No run has left anything in {self.dir}.\n")
        self.assertIn("No directory of run", self.clean("--hosts", agent.address, "--yes", "--run", run_id).out)
        self.run_plan("--hosts", agent.address)

    def test_long_names_keep_the_columns_in_their_place(self):
        name = "a-rather-long-storage-client-name-01.example.co"
        self.leave(name=name)
        agents = [self.keeper(name), self.keeper("beta")]
        runs = [self.leave()]
        listed = self.clean("--hosts", ",".join(agent.address for agent in agents)).out.splitlines()
        rows = [line for line in listed if "768 KiB" in line and "can be removed" not in line]
        self.assertEqual(len(rows), 2, listed)
        for row in rows:
            self.assertEqual(row.index("768 KiB") + 7, listed[0].index("size") + 4, listed)
            self.assertEqual(row.rindex(row.split("  ")[-1].strip()), listed[0].index("owner"), listed)
        self.assertIn(runs[0], "".join(rows))

    def test_without_hosts_this_machine_is_cleaned(self):
        run = self.start_run("--duration", "60")
        self.await_running(run)
        (child,) = harness.children_of(run.pid)
        run.signal(signal.SIGSTOP)
        harness.os.kill(child, signal.SIGKILL)
        run.signal(signal.SIGKILL)
        run.finish()
        self.assertIn("Nothing was touched", self.clean().out)
        self.assertEqual(len(list(self.dir.rglob("*.LOG"))), 3)
        dry = self.plimsoll("run", "--dir", self.dir, "--dry-run")
        self.assertIn("Nothing was touched", dry.out)
        self.assertEqual(len(list(self.dir.rglob("*.LOG"))), 3, "a dry run removes nothing")
        self.clean("--yes")
        self.assert_nothing_left()

    def test_what_is_in_use_stays(self):
        agent = self.agent("alpha")
        run = self.start_run("--hosts", agent.address, "--duration", "60")
        self.await_running(run)
        (directory,) = self.dir.iterdir()
        run_id = directory.name.removeprefix("plimsoll-")
        # An agent of the same name and roots: the same owner.
        twin = self.keeper()
        self.assertRegex(self.clean("--hosts", twin.address).out, rf"(?m)^alpha +{run_id} .* this agent, in use$")
        for more in ((), ("--run", run_id)):
            result = self.clean("--hosts", twin.address, "--yes", *more, code=3)
            self.assertEqual(result.errors, [f"plimsoll: {directory}/alpha is in use: it belongs to a run that is still active"])
        self.assertEqual(len(list(directory.rglob("*.LOG"))), 3)
        self.assertTrue(run.running())
        run.signal(signal.SIGINT)
        self.result_of(run, run.results, code=3)
        self.assert_nothing_left()

    def test_what_was_kept_goes_only_by_its_name(self):
        agent = self.agent("alpha")
        kept = [self.run_plan("--hosts", agent.address, "--keep-files") for _ in range(2)]
        first, second = (result.report["run"]["id"] for result in kept)
        # The report of each says where its files are, and how they go.
        self.assertIn(f"\nFiles kept in {self.dir}/plimsoll-{first}/\n", kept[0].out)
        self.assertIn(f"\nRemove them with: plimsoll clean --hosts {agent.address} --dir {self.dir} --run {first} --yes\n",
                      kept[0].out)
        listed = self.clean("--hosts", agent.address, "--yes")
        self.assertRegex(listed.out, rf"(?m)^alpha +{first} .* this agent, kept$")
        self.assertIn("needs --run ID", listed.out)
        self.assertEqual(len(list(self.dir.rglob("*.LOG"))), 6)
        self.clean("--hosts", agent.address, "--yes", "--run", first)
        self.assertEqual([path.name for path in self.dir.iterdir()], [f"plimsoll-{second}"])

    def test_the_command_that_removes_what_was_kept_works_as_it_is_printed_whatever_the_directory_is_called(self):
        agent = self.agent("alpha")
        odd = self.dir / "it's $(touch said); touch said #log"
        odd.mkdir()
        kept = self.run_plan("--hosts", agent.address, "--keep-files", dir=odd)
        (command,) = re.findall(r"(?m)^Remove them with: plimsoll (.*)$", kept.out)
        process = self.start(harness.Process, ["sh", "-c", f"cd {self.base} && {harness.binary('plimsoll')} {command}"])
        self.assertEqual(process.finish(), 0, process.err)
        self.assertEqual(list(odd.iterdir()), [])
        self.assertFalse((self.base / "said").exists())

    def test_another_agents_is_listed_and_never_removed(self):
        run_id = self.leave()
        beta = self.keeper("beta")
        self.assertRegex(self.clean("--hosts", beta.address).out, rf"(?m)^beta +{run_id} +alpha .* another agent$")
        for more in ((), ("--run", run_id)):
            result = self.clean("--hosts", beta.address, "--yes", *more, code=3)
            self.assertEqual(result.errors, [
                f"plimsoll: {self.dir}/plimsoll-{run_id}/alpha belongs to the agent of alpha: run `plimsoll clean` with that agent "
                "in --hosts, started with the --name and --root that it had"
            ])
        self.assertEqual(len(list(self.dir.rglob("*.LOG"))), 3)
        # Several agents see one storage: it is its owner who tells of it, and who removes it.
        alpha = self.keeper("alpha")
        listed = self.clean("--hosts", f"{beta.address},{alpha.address}")
        self.assertRegex(listed.out, rf"(?m)^alpha +{run_id} +alpha .* this agent$")
        self.assertEqual(listed.out.count(run_id), 1)
        self.clean("--hosts", f"{beta.address},{alpha.address}", "--yes")
        self.assert_nothing_left()

    def test_what_can_be_removed_is_even_where_the_rest_stays(self):
        mine, theirs = self.leave(), self.leave(name="gamma")
        agent = self.keeper()
        result = self.clean("--hosts", agent.address, "--yes", code=3)
        self.assertIn(f"alpha: removed {self.dir}/plimsoll-{mine}/alpha", result.out)
        self.assertEqual([path.name for path in self.dir.iterdir()], [f"plimsoll-{theirs}"])
        self.assertRegex(result.errors[0], "/gamma belongs to the agent of gamma: ")

    def test_what_no_run_made_stays_and_is_named(self):
        run_id = self.leave()
        notes = self.dir / f"plimsoll-{run_id}" / "alpha" / "qm1" / "active" / "notes.txt"
        notes.write_text("precious")
        log = notes.with_name("S0000009.LOG")
        log.write_text("a queue manager's log" * 1000)
        agent = self.keeper()
        result = self.clean("--hosts", agent.address, "--yes", code=3)
        self.assertRegex(result.errors[0], rf"^plimsoll: alpha: .* remains: {log} was not written by this run; it is left")
        self.assertEqual(notes.read_text(), "precious")
        self.assertEqual(sorted(path.name for path in notes.parent.iterdir()), ["S0000009.LOG", "notes.txt"])
        log.unlink()
        notes.unlink()
        self.clean("--hosts", agent.address, "--yes")
        self.assert_nothing_left()

    def test_a_busy_agent_cleans_nothing(self):
        self.leave()
        agent = self.keeper()
        run = self.start_run("--hosts", agent.address, "--duration", "60")
        self.await_running(run)
        result = self.clean("--hosts", agent.address, "--yes", code=4)
        self.assertRegex(result.errors[-1], "^plimsoll: alpha: busy with run ")
        run.signal(signal.SIGINT)
        self.result_of(run, run.results, code=3)

    def test_wrong_input_is_refused(self):
        agent = self.agent("alpha")
        self.assertIn("--run ../x is not a run id", self.clean("--hosts", agent.address, "--run", "../x", code=2).err)
        self.assertIn("no directory of run 0f", self.clean("--hosts", agent.address, "--run", "0f", code=2).err)
        outside = self.plimsoll("clean", "--hosts", agent.address, "--dir", "/", code=2)
        self.assertRegex(outside.err, "^plimsoll: alpha: --dir: / is outside the directories of the agent's --root")
        self.assertIn("does not exist", self.plimsoll("clean", "--dir", self.base / "missing", code=2).err)
        self.assertIn("--dir", self.plimsoll("clean", code=2).err)
        down = f"unix:{self.base}/nobody.sock"
        self.assertIn(f"{down}: no agent is listening", self.clean("--hosts", down, code=4).err)


if __name__ == "__main__":
    harness.main()
