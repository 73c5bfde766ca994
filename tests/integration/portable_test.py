"""What scripts/portable packs runs where nothing else is: in an empty root, and with programs that are linked dynamically.

PLIMSOLL_PORTABLE names the directory with the archive; it is set by the tests' build. Without an archive the tests are skipped.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import unittest

import harness

BUILT = pathlib.Path(os.environ.get("PLIMSOLL_PORTABLE", pathlib.Path(__file__).resolve().parents[2] / "build" / "portable"))


class Portable(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        archives = sorted(BUILT.glob("plimsoll-*-linux-*.tar.gz"))
        if not archives:
            raise unittest.SkipTest(f"no archive in {BUILT}: run scripts/portable")
        self.archive = archives[-1]
        with tarfile.open(self.archive) as archive:
            archive.extractall(self.base)
        (self.place,) = self.base.glob("plimsoll-*-linux-*")

    def empty_root(self, *programs):
        """A directory with these programs and an empty /data, in which nothing else is; needs root to be entered."""
        if os.geteuid() != 0:
            raise unittest.SkipTest("only root may change the root directory")
        root = self.base / "root"
        (root / "data").mkdir(parents=True)
        for program in programs:
            shutil.copy(self.place / "bin" / program, root)
        return root

    def portable(self, program, *arguments):
        return [str(self.place / "bin" / program), *map(str, arguments)]

    def test_nothing_is_loaded_from_the_system(self):
        for program in ("plimsoll", "plimsoll-agent"):
            shown = subprocess.run(["readelf", "--program-headers", "--dynamic", "--wide", self.place / "bin" / program],
                                   check=True, capture_output=True, text=True).stdout
            self.assertNotIn("INTERP", shown)
            self.assertNotIn("NEEDED", shown)

    def test_an_agent_in_an_empty_root_measures_for_a_controller_of_the_system(self):
        root = self.empty_root("plimsoll-agent")
        agent = self.start(harness.Agent, ["chroot", root, "/plimsoll-agent", "--name", "alpha", "--root", "/data", "--listen",
                                           "127.0.0.1:0"]).await_listening()
        report = self.run_plan("--hosts", agent.address, "--qm", "2", "--duration", "1", dir="/data").report
        self.assertGreater(harness.cluster(report["steps"][0])["writes"], 0)
        self.assert_nothing_left(root / "data")

    def test_a_controller_in_an_empty_root_runs_an_agent_of_the_system(self):
        root = self.empty_root("plimsoll")
        agent = self.agent("alpha")
        process = self.start(harness.Process, ["chroot", root, "/plimsoll", "run", "--hosts", agent.address, "--dir", self.dir,
                                               "--duration", "1", "--warmup", "0", "--file-size", "256k", "--out", "/results"])
        self.result_of(process, root / "results")
        self.assert_nothing_left()

    def test_both_measure_alone_and_names_resolve(self):
        process = self.start(harness.Process, self.portable("plimsoll", "run", "--dir", self.dir, "--duration", "1", "--warmup", "0",
                                                            "--file-size", "256k", "--out", self.base / "results"))
        self.result_of(process, self.base / "results")
        agent = self.agent("alpha")
        port = agent.address.rsplit(":", 1)[1]
        hosts = self.start(harness.Process, self.portable("plimsoll", "hosts", "--hosts", f"localhost:{port}"))
        self.assertRegex(self.result_of(hosts).out, "alpha")

    def test_the_archive_has_its_hash_the_manual_the_unit_and_the_licences(self):
        said, name = pathlib.Path(f"{self.archive}.sha256").read_text().split()
        self.assertEqual((said, name), (hashlib.sha256(self.archive.read_bytes()).hexdigest(), self.archive.name))
        for path in ("share/man/man1/plimsoll.1", "lib/systemd/system/plimsoll-agent.service", "licenses/plimsoll",
                     "bin/mqldt"):
            self.assertTrue((self.place / path).exists(), path)
        linked = subprocess.run(["ninja", "-C", BUILT, "-t", "commands", "bin/plimsoll", "bin/plimsoll-agent"], check=True,
                                capture_output=True, text=True).stdout
        packages = set()
        for library in sorted(set(re.findall(r"/usr/lib/\S+\.a\b", linked))):
            owner = subprocess.run(["dpkg", "-S", library], check=True, capture_output=True, text=True).stdout
            packages.add(owner.split(":")[0])
        self.assertGreater(len(packages), 5)
        self.assertLessEqual(packages, {path.name for path in (self.place / "licenses").iterdir()})


if __name__ == "__main__":
    harness.main()
