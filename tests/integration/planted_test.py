"""What somebody plants in a run's directory while it goes on: nothing outside is touched, and the agent goes on."""

import os
import pathlib
import shutil
import signal
import subprocess

import harness
import namespaces


class Planted(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        self.outside = self.base / "outside"
        (self.outside / "qm1" / "active").mkdir(parents=True)
        (self.outside / "active").mkdir()
        self.precious = [
            self.outside / "S0000000.LOG", self.outside / "active" / "S0000000.LOG",
            self.outside / "qm1" / "active" / "S0000000.LOG", self.outside / ".plimsoll-owner"
        ]
        for path in self.precious:
            path.write_bytes(b"precious")

    def tearDown(self):
        self.assertEqual(sorted(path for path in self.outside.rglob("*") if path.is_file()), sorted(self.precious))
        for path in self.precious:
            self.assertEqual(path.read_bytes(), b"precious")
        super().tearDown()

    def with_planted(self, plant, agent=None, look=None):
        """Plants in a run's step, and ends the run. Returns its result; the agent must take another run after it."""
        agent = agent or self.agent("alpha")
        run = self.start_run("--hosts", agent.address, "--duration", "60", "--sync", "none", "--delay", "1ms")
        self.await_running(run)
        (directory,) = (look or self.dir).glob("plimsoll-*")
        plant(directory)
        run.signal(signal.SIGINT)
        result = self.result_of(run, run.results, code=3)
        self.run_plan("--hosts", agent.address)
        return result

    def assert_left(self, result, text):
        self.assertRegex(" ".join(result.out.split()), rf"Not removed: alpha: .*{text}")

    def test_a_link_in_place_of_an_extent(self):

        def plant(run):
            extent = run / "alpha" / "qm1" / "active" / "S0000000.LOG"
            extent.unlink()
            extent.symlink_to(self.precious[0])

        self.assert_left(self.with_planted(plant), "S0000000.LOG is not the file that this run made")

    def test_a_hard_link_in_place_of_an_extent(self):

        def plant(run):
            extent = run / "alpha" / "qm1" / "active" / "S0000000.LOG"
            extent.unlink()
            os.link(self.precious[0], extent)

        self.assert_left(self.with_planted(plant), "S0000000.LOG is not the file that this run made")

    def test_a_pipe_in_place_of_an_extent(self):

        def plant(run):
            extent = run / "alpha" / "qm1" / "active" / "S0000000.LOG"
            extent.unlink()
            os.mkfifo(extent)

        self.assert_left(self.with_planted(plant), "S0000000.LOG is not the file that this run made")

    def test_links_in_place_of_each_directory(self):
        for below, text in (("alpha/qm1/active", "symbolic links are not followed"),
                            ("alpha/qm1", "symbolic links are not followed"),
                            ("alpha", "is not the directory that this run made")):
            with self.subTest(below=below):

                def plant(run, below=below):
                    target = run / below
                    target.rename(self.base / "moved")
                    target.symlink_to(self.outside)

                self.assert_left(self.with_planted(plant), text)
                shutil.rmtree(self.base / "moved")
                for path in list(self.dir.iterdir()):
                    shutil.rmtree(path)

    def test_a_link_in_place_of_the_runs_directory(self):

        def plant(run):
            run.rename(self.dir / "moved")
            run.symlink_to(self.outside)

        self.with_planted(plant)
        self.assertEqual([path for path in self.dir.rglob("*") if path.suffix == ".LOG"], [])

    def test_everything_removed_under_the_writers(self):
        self.assert_left(self.with_planted(shutil.rmtree), "/alpha was removed while it was in use")
        self.assert_nothing_left()

    def test_a_mount_over_each_directory(self):
        namespaces.need(*namespaces.own_mounts())
        agent = self.agent("alpha", wrap=["unshare", *namespaces.own_mounts()])
        inside = ["nsenter", f"--target={agent.agent_pid}", "--mount", "--root"]
        for below in ("alpha/qm1/active", "alpha/qm1", "alpha", "."):
            with self.subTest(below=below):

                def mount(run, below=below):
                    subprocess.run([*inside, "mount", "--bind", self.outside, run / below], check=True, timeout=60)

                result = self.with_planted(mount, agent=agent)
                self.assertIn("Not removed: alpha: ", " ".join(result.out.split()))
                left = [path for path in self.dir.glob("plimsoll-*")]
                subprocess.run([*inside, "umount", left[0] / below], check=True, timeout=60)
                # Once nothing is in the way, the agent itself clears it at its next start, or at a word.
                self.plimsoll("clean", "--hosts", agent.address, "--dir", self.dir, "--yes")
                self.assert_nothing_left()

    def test_pipes_and_links_where_the_next_start_looks_for_leftovers(self):
        run = self.dir / "plimsoll-0a" / "alpha"
        run.mkdir(parents=True)
        os.mkfifo(run / ".plimsoll-owner")
        other = self.dir / "plimsoll-0b" / "alpha"
        other.mkdir(parents=True)
        (other / ".plimsoll-owner").symlink_to(self.precious[3])
        (self.dir / "plimsoll-0c").symlink_to(self.outside)
        (self.dir / "plimsoll-0d").mkdir()
        (self.dir / "plimsoll-0d" / "alpha").symlink_to(self.outside)
        before = sorted(self.dir.rglob("*"))
        agent = self.agent("alpha")
        listed = self.plimsoll("clean", "--hosts", agent.address, "--dir", self.dir, "--yes", code=3)
        self.assertEqual(len([line for line in listed.errors if "remove it by hand" in line]), 2, listed)
        for run_id in ("0a", "0b"):
            self.plimsoll("clean", "--hosts", agent.address, "--dir", self.dir, "--yes", "--run", run_id, code=3)
        self.run_plan("--hosts", agent.address)
        self.assertEqual(sorted(self.dir.rglob("*")), before)

    def test_a_way_out_in_the_directorys_name(self):
        agent = self.agent("alpha")
        (self.dir / "link").symlink_to(self.outside)
        for name, text in ((f"{self.dir}/../outside", "is outside the directories of the agent's --root"),
                           (f"{self.dir}/link", "symbolic links are not followed"),
                           (f"{self.dir}/link/qm1", "symbolic links are not followed")):
            result = self.run_plan("--hosts", agent.address, dir=pathlib.PurePath(name), code=2)
            self.assertRegex(result.errors[0], f"^plimsoll: alpha: --dir: .*{text}")


if __name__ == "__main__":
    harness.main()
