"""What scripts/portable packs runs where nothing else is: in an empty root, as a container image, and with programs that are linked dynamically.

tests/lab/package_test.py installs the .deb on a system with systemd.

PLIMSOLL_PORTABLE names the directory with the archive; it is set by the tests' build. Without an archive the tests are skipped.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import unittest

import harness
import namespaces

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
        for path in ("share/man/man1/plimsoll.1", "lib/systemd/system/plimsoll-agent.service", "bin/mqldt", "bin/xdisk",
                     "share/doc/plimsoll/copyright", "share/doc/plimsoll-agent/copyright"):
            self.assertTrue((self.place / path).exists(), path)
        linked = subprocess.run(["ninja", "-C", BUILT, "-t", "commands", "bin/plimsoll", "bin/plimsoll-agent"], check=True,
                                capture_output=True, text=True).stdout
        packages = {"libre2-dev"}  # named by -lre2
        for library in sorted(set(re.findall(r"/usr/lib/\S+\.a\b", linked))):
            owner = subprocess.run(["dpkg", "-S", library], check=True, capture_output=True, text=True).stdout
            packages.add(owner.split(":")[0])
        self.assertGreater(len(packages), 5)
        for program in ("plimsoll", "plimsoll-agent"):
            there = {path.name for path in (self.place / "share/doc" / program / "licenses").iterdir()}
            self.assertLessEqual(packages, there)

    def test_each_hash_is_that_of_its_file(self):
        for path in [*BUILT.glob("plimsoll*.tar.gz"), *BUILT.glob("plimsoll*.deb"), *BUILT.glob("plimsoll*.rpm"),
                     *BUILT.glob("plimsoll*.oci.tar")]:
            said, name = pathlib.Path(f"{path}.sha256").read_text().split()
            self.assertEqual((said, name), (hashlib.sha256(path.read_bytes()).hexdigest(), path.name))


class Image(harness.PlimsollTest):
    """The archive of scripts/portable --image, read as the Open Container Initiative's specification has it."""

    def setUp(self):
        super().setUp()
        archives = sorted(BUILT.glob("plimsoll-*-linux-*.oci.tar"))
        if not archives:
            raise unittest.SkipTest(f"no image in {BUILT}: run scripts/portable --image")
        self.archive = archives[-1]
        self.place = self.base / "image"
        with tarfile.open(self.archive) as archive:
            archive.extractall(self.place)
        self.assertEqual(json.loads((self.place / "oci-layout").read_text()), {"imageLayoutVersion": "1.0.0"})
        (entry,) = json.loads((self.place / "index.json").read_text())["manifests"]
        self.manifest = json.loads(self.blob(entry))
        self.config = json.loads(self.blob(self.manifest["config"]))
        (self.layer,) = self.manifest["layers"]

    def blob(self, descriptor):
        """The blob that a descriptor names, whose size and digest must be as it says."""
        content = (self.place / "blobs" / descriptor["digest"].replace(":", "/")).read_bytes()
        self.assertEqual(len(content), descriptor["size"])
        self.assertEqual(f"sha256:{hashlib.sha256(content).hexdigest()}", descriptor["digest"])
        return content

    def test_its_layer_is_the_one_that_its_configuration_names(self):
        unpacked = gzip.decompress(self.blob(self.layer))
        self.assertEqual(self.config["rootfs"]["diff_ids"], [f"sha256:{hashlib.sha256(unpacked).hexdigest()}"])
        with tarfile.open(fileobj=io.BytesIO(unpacked)) as layer:
            members = {member.name: member for member in layer}
        self.assertEqual({member.name for member in members.values() if member.uid or member.gid}, set())
        self.assertEqual({name.rpartition("/")[2] for name in members if name.startswith("usr/bin/")},
                         {"plimsoll", "plimsoll-agent", "mqldt", "xdisk"})
        self.assertEqual((members["tmp"].mode, members["data"].mode), (0o1777, 0o775))
        self.assertIn("usr/share/doc/plimsoll/copyright", members)

    def test_its_user_is_a_number_that_is_not_root_in_group_0(self):
        # By a name, runAsNonRoot of Kubernetes could not see that it is not root.
        self.assertRegex(self.config["config"]["User"], r"^[1-9]\d*:0$")
        self.assertEqual(self.config["config"]["Entrypoint"], ["/usr/bin/plimsoll"])
        self.assertIn("PATH=/usr/bin", self.config["config"]["Env"])

    def test_any_user_of_group_0_measures_in_it(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("only root may change the root directory")
        root = self.base / "root"
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(self.blob(self.layer)))) as layer:
            layer.extractall(root, numeric_owner=True)
        # As in a container: /proc is there. The user is a number as OpenShift assigns it, which no image knows.
        (root / "proc").mkdir()
        process = self.start(harness.Process, [
            "unshare", *namespaces.own_mounts(), "sh", "-c", f'mount -t proc proc {root}/proc && exec "$@"', "sh", "chroot",
            "--userspec=1000430000:0", "--groups=", root, *self.config["config"]["Entrypoint"], "run", "--dir", "/data", "--duration",
            "1", "--warmup", "0", "--file-size", "256k", "--out", "/tmp/results"])
        self.result_of(process, root / "tmp" / "results")
        self.assert_nothing_left(root / "data")


class Rpm(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        for program in ("rpm", "rpmlint", "rpm2cpio", "cpio"):
            if shutil.which(program) is None:
                raise unittest.SkipTest(f"{program} is not installed: scripts/check portable installs it")
        self.archives = {path.name.rsplit("-", 2)[0]: path for path in BUILT.glob("plimsoll*.rpm")}
        if set(self.archives) != {"plimsoll", "plimsoll-agent"}:
            raise unittest.SkipTest(f"no packages in {BUILT}: run scripts/portable")

    def query(self, program, *arguments):
        return subprocess.run(["rpm", "-qp", *arguments, self.archives[program]], check=True, capture_output=True,
                              text=True).stdout

    def test_they_need_a_shell_and_nothing_else(self):
        for program, wanted in (("plimsoll", set()), ("plimsoll-agent", {"/bin/sh"})):
            needed = {line for line in self.query(program, "--requires").splitlines() if not line.startswith("rpmlib(")}
            self.assertEqual(needed, wanted, program)

    def test_the_agents_configuration_outlives_an_upgrade(self):
        self.assertEqual(self.query("plimsoll-agent", "--configfiles").split(), ["/etc/default/plimsoll-agent"])

    def test_the_agents_scripts_know_installing_upgrading_and_removing(self):
        scripts = self.query("plimsoll-agent", "--scripts")
        self.assertRegex(scripts, r"postinstall scriptlet[^$]*systemctl try-restart plimsoll-agent")
        self.assertRegex(scripts, r"preuninstall scriptlet")
        # Told 1, it is an upgrade, and what runs goes on; told 0, the last version goes.
        script = self.base / "preuninstall"
        script.write_text(scripts.split("preuninstall scriptlet (using /bin/sh):\n")[1].split("postuninstall scriptlet")[0])
        called = self.base / "called"
        tools = self.base / "tools"
        tools.mkdir()
        (tools / "systemctl").write_text(f'#!/bin/sh\necho "$@" >>{called}\n')
        (tools / "systemctl").chmod(0o755)
        script.write_text(script.read_text().replace("/run/systemd/system", str(self.base)))
        for told, expected in (("1", False), ("0", True)):
            subprocess.run(["sh", script, told], check=True, env={"PATH": f"{tools}:/usr/bin:/bin"})
            self.assertEqual(called.exists(), expected, told)
        self.assertEqual(called.read_text(), "disable --now plimsoll-agent.service\n")

    def test_the_lint_finds_only_what_is_meant(self):
        found = subprocess.run(["rpmlint", *self.archives.values()], capture_output=True, text=True, check=False).stdout
        errors = set(re.findall(r": E: (\S+)", found))
        # They are linked statically on purpose, and signed by whoever hands them out.
        self.assertLessEqual(errors, {"statically-linked-binary", "no-signature", "no-packager-tag"}, found)
        self.assertIn("statically-linked-binary", errors)

    def test_what_they_hold_runs_in_an_empty_root(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("only root may change the root directory")
        root = self.base / "root"
        (root / "data").mkdir(parents=True)
        for name in ("tmp", "proc"):
            (root / name).mkdir()
        for archive in self.archives.values():
            unpacked = subprocess.run(["rpm2cpio", archive], check=True, capture_output=True).stdout
            subprocess.run(["cpio", "--extract", "--make-directories", "--quiet"], input=unpacked, cwd=root, check=True)
        self.assertTrue((root / "etc/default/plimsoll-agent").exists())
        # As in a container: /proc is there.
        process = self.start(harness.Process, ["unshare", *namespaces.own_mounts(), "sh", "-c",
                                               f'mount -t proc proc {root}/proc && exec "$@"', "sh", "chroot", root,
                                               "/usr/bin/plimsoll", "run", "--dir", "/data", "--duration", "1", "--warmup", "0",
                                               "--file-size", "256k", "--out", "/results"])
        self.result_of(process, root / "results")
        self.assert_nothing_left(root / "data")


if __name__ == "__main__":
    harness.main()
