"""The Debian packages that scripts/portable makes, installed, upgraded and removed on a system with systemd and a kernel of its own."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import image
import lab_support
import harness  # found by lab_support

PORTABLE = image.PROJECT / "build" / "portable"
# An emulated system takes its time: it has failed only when its console shows nothing new for so long.
SILENT_S = 600

# Runs as a service of that system; each part says that it is done. What is expected is said where it is not so.
SCRIPT = r"""#!/bin/bash
exec >/dev/console 2>&1 </dev/null
finish() { echo "package-test: end $1"; sync; systemctl poweroff --force; exit; }
trap 'finish "failed in line $LINENO: $BASH_COMMAND"' ERR
set -eE -o pipefail
state() { systemctl is-active plimsoll-agent || true; }
expect() { [ "$1" = "$2" ] || { echo "package-test: expected '$2', found '$1'"; return 1; }; }

export DEBIAN_FRONTEND=noninteractive
dpkg -i /packages/old/*.deb
expect "$(state)" inactive
expect "$(systemctl is-enabled plimsoll-agent || true)" disabled
getent passwd plimsoll
plimsoll --version
plimsoll-agent --version
expect "$(readlink /usr/bin/mqldt)" plimsoll
expect "$(readlink /usr/bin/xdisk)" plimsoll
echo "package-test: installed"

mkdir -p /mnt/mqlog
chown plimsoll:plimsoll /mnt/mqlog
systemctl enable --now plimsoll-agent
grep -q -m 1 "listens on" < <(journalctl --follow --lines all --unit plimsoll-agent)
expect "$(state)" active
cd /root
plimsoll run --hosts 127.0.0.1:7461 --dir /mnt/mqlog --qm 1 --bsize 4k --file-size 256k --warmup 0 --duration 1 --out /root/result
grep -q '"writes"' /root/result/report.json
expect "$(ls -A /mnt/mqlog)" ""
old=$(systemctl show --property MainPID --value plimsoll-agent)
expect "$(stat -c %U "/proc/$old")" plimsoll
echo "package-test: measured"

echo "# changed here" >>/etc/default/plimsoll-agent
dpkg --force-confdef --force-confold -i /packages/new/*.deb
expect "$(dpkg-query -W -f '${Version}' plimsoll-agent)" "$(cat /packages/new/version)"
expect "$(tail -1 /etc/default/plimsoll-agent)" "# changed here"
expect "$(state)" active
new=$(systemctl show --property MainPID --value plimsoll-agent)
[ "$new" != "$old" ]
echo "package-test: upgraded"

dpkg --remove plimsoll-agent plimsoll
expect "$(systemctl show --property LoadState --value plimsoll-agent)" not-found
[ ! -e "/proc/$new" ]
[ ! -e /usr/bin/plimsoll-agent ]
[ ! -e /usr/bin/plimsoll ]
[ -e /etc/default/plimsoll-agent ]
dpkg --purge plimsoll-agent
[ ! -e /etc/default/plimsoll-agent ]
echo "package-test: removed"
finish ok
"""
UNIT = """[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash /package-test
[Install]
WantedBy=multi-user.target
"""


def system():
    """The directory of a Debian system with systemd; made once."""
    place = image.PLACE / "system"
    if not place.exists():
        making = place.with_suffix(".new")
        shutil.rmtree(making, ignore_errors=True)
        image.run("mmdebstrap", "--quiet", "--variant=essential", "--include=systemd-sysv", "bookworm", making)
        making.rename(place)
    return place


class DebianPackages(unittest.TestCase):

    def setUp(self):
        lab_support.need_lab()
        if shutil.which("mmdebstrap") is None:
            raise unittest.SkipTest("mmdebstrap is not installed")
        self.archives = sorted(PORTABLE.glob("plimsoll*.deb"))
        if not self.archives:
            raise unittest.SkipTest(f"no packages in {PORTABLE}: run scripts/portable")
        directory = tempfile.TemporaryDirectory(prefix="plimsoll-package-")
        self.addCleanup(directory.cleanup)
        self.place = pathlib.Path(directory.name)

    def newer(self, archive, place):
        """The same package with a higher version."""
        tree = self.place / "repacked"
        image.run("dpkg-deb", "-R", archive, tree)
        control = tree / "DEBIAN" / "control"
        text = control.read_text()
        version = re.search(r"(?m)^Version: (.*)$", text).group(1) + ".1"
        control.write_text(re.sub(r"(?m)^Version: .*$", f"Version: {version}", text))
        image.run("dpkg-deb", "-Zgzip", "-b", tree, place)
        (place / "version").write_text(version + "\n")
        shutil.rmtree(tree)

    def disk(self):
        """A file system with the system, the packages and the script."""
        added = self.place / "added"
        for name in ("old", "new"):
            (added / "packages" / name).mkdir(parents=True)
        for archive in self.archives:
            shutil.copy(archive, added / "packages" / "old")
            self.newer(archive, added / "packages" / "new")
        (added / "package-test").write_text(SCRIPT)
        unit = added / "etc/systemd/system/package-test.service"
        unit.parent.mkdir(parents=True)
        unit.write_text(UNIT)
        wants = unit.parent / "multi-user.target.wants"
        wants.mkdir()
        (wants / unit.name).symlink_to(f"../{unit.name}")
        tree = self.place / "tree"
        image.run("cp", "-a", system(), tree)
        image.run("cp", "-a", f"{added}/.", tree)
        disk = self.place / "disk"
        with open(disk, "wb") as file:
            file.truncate(1 << 30)
        image.run("mke2fs", "-q", "-t", "ext4", "-F", "-d", tree, disk)
        return disk

    @staticmethod
    def await_end(emulator, console):
        """Returns when the system has ended, or hangs."""
        size = -1
        while size < (size := console.stat().st_size if console.exists() else 0):
            try:
                emulator.wait(SILENT_S)
                return
            except subprocess.TimeoutExpired:
                pass

    def test_they_are_installed_measure_are_upgraded_and_removed(self):
        made = image.Image()
        console = self.place / "console"
        emulator = subprocess.Popen(
            ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-machine", "q35", "-cpu", "max", "-m", "768", "-nodefaults",
             "-display", "none", "-no-reboot", "-serial", f"file:{console}", "-kernel", made.kernel, "-initrd", made.initramfs,
             "-append", "console=ttyS0 quiet panic=-1 no_timer_check mitigations=off lab.root=/dev/vda",
             "-drive", f"file={self.disk()},format=raw,if=virtio,cache=unsafe"])
        try:
            self.await_end(emulator, console)
        finally:
            emulator.kill()
            emulator.wait()
        shown = console.read_text(errors="replace")
        parts = re.findall(r"(?m)^package-test: (.*?)\s*$", shown)
        self.assertEqual(parts, ["installed", "measured", "upgraded", "removed", "end ok"], shown[-6000:])


if __name__ == "__main__":
    harness.main()
