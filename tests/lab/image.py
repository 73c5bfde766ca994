"""Makes what a host boots: a Debian kernel, and an initramfs with busybox, NFS's programs and the agent.

Packages are fetched and unpacked, never installed: a kernel that is installed would change how the machine itself boots.
What was made is kept by what it was made of, so that only a new agent or a new package makes it again.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parent
PROJECT = SOURCE.parents[1]
PLACE = PROJECT / "build" / "lab"

# Unpacked, beside the kernel. The libraries that they need and that are not named here come from the machine.
PACKAGES = ("busybox-static", "nfs-kernel-server", "libnfsidmap1", "libevent-core-2.1-7", "libtirpc3", "libtirpc-common",
            "libwrap0", "libkeyutils1", "iproute2", "libsqlite3-0", "netbase", "rpcbind")
PROGRAMS = {  # in the initramfs: where it is found
    "sbin/rpc.nfsd": "usr/sbin/rpc.nfsd", "sbin/rpc.mountd": "usr/sbin/rpc.mountd", "sbin/exportfs": "usr/sbin/exportfs",
    "sbin/nfsdcld": "usr/sbin/nfsdcld", "sbin/rpcbind": "sbin/rpcbind",
    # busybox has commands of the same names, which its shell prefers: these are called by their paths.
    "opt/tc": "sbin/tc", "opt/ip": "bin/ip",
}
MODULES = ("virtio_pci", "virtio_net", "virtio_blk", "virtio_console", "ext4", "nfsd", "nfs", "nfsv3", "nfsv4", "sch_netem", "dm-flakey",
           "dm-delay")
# Of the full kernel only.
SAN_MODULES = ("ocfs2", "ocfs2_stack_o2cb", "ocfs2_dlmfs", "ocfs2_dlm")


class LabError(Exception):
    """What a person can mend; its text says how."""


def run(*argv, **more):
    done = subprocess.run([str(each) for each in argv], capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        raise LabError(f"{' '.join(map(str, argv))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def program_directory():
    """The directory of the programs that the hosts run: PLIMSOLL_BIN, or the release build."""
    named = os.environ.get("PLIMSOLL_BIN")
    return pathlib.Path(named).resolve() if named else PROJECT / "build" / "release" / "bin"


def agent_binaries():
    """The same, where it is the release build made when missing."""
    place = program_directory()
    if os.environ.get("PLIMSOLL_BIN"):
        return place
    if not (place / "plimsoll-agent").exists():
        run("cmake", "--preset", "release", cwd=PROJECT)
    run("cmake", "--build", "--preset", "release", "--target", "plimsoll", "plimsoll-agent", cwd=PROJECT)
    return place


def _kernel_package(full):
    listed = run("apt-cache", "depends", "linux-image-amd64" if full else "linux-image-cloud-amd64")
    return re.search(r"Depends: (linux-image-\S+)", listed).group(1)


def unpack(packages):
    """The directories of the packages' files. Asks apt once: it takes a second each time."""
    versions = dict(re.findall(r"^(\S+):\n(?:  .*\n)*?  Candidate: (\S+)", run("apt-cache", "policy", *packages), re.MULTILINE))
    for package in packages:
        if versions.get(package, "(none)") == "(none)":
            raise LabError(f"apt knows no package {package}: run apt-get update")
    return [_unpack(package, versions[package]) for package in packages]


def _unpack(package, version):
    place = PLACE / "packages" / f"{package}_{version.replace(':', '%3a')}"
    if place.exists():
        return place
    making = place.with_name(place.name + ".new")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    run("apt-get", "download", "-q", package, cwd=making)
    (archive,) = making.glob("*.deb")
    run("dpkg-deb", "-x", archive, making)
    archive.unlink()
    making.rename(place)
    return place


class Image:
    """`kernel` and `initramfs`: paths for the emulator."""

    def __init__(self, full=False):
        self.full = full
        kernel_package, *self._roots = unpack([_kernel_package(full), *PACKAGES])
        (self.kernel,) = (kernel_package / "boot").glob("vmlinuz-*")
        self._release = self.kernel.name.removeprefix("vmlinuz-")
        self._modules = kernel_package / "lib" / "modules" / self._release
        self._agent = agent_binaries() / "plimsoll-agent"
        if not self._agent.exists():
            raise LabError(f"{self._agent} is not there: build it, or name its directory in PLIMSOLL_BIN")
        self._extras = [self._agent.with_name(name) for name in ("lab_clock", "lab_lock", "standin_qm")]
        self.initramfs = PLACE / f"initramfs-{self._key()}"
        if not self.initramfs.exists():
            self._make()

    def _key(self):
        """Names what the initramfs is made of."""
        digest = hashlib.sha256(self._release.encode())
        for path in [self._agent, *self._extras, self._agent.with_name("libmqm_r.so"), SOURCE / "image.py", *sorted((SOURCE / "guest").iterdir())]:
            if path.exists():
                digest.update(path.read_bytes())
        for root in self._roots:
            digest.update(root.name.encode())
        return digest.hexdigest()[:16]

    def _find(self, path):
        for root in [*self._roots, pathlib.Path("/")]:
            if (root / path).exists():
                return root / path
        raise LabError(f"no package holds {path}")

    def _copy_program(self, source, target):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
        places = ":".join(str(root / "usr/lib/x86_64-linux-gnu") + ":" + str(root / "lib/x86_64-linux-gnu")
                          for root in self._roots)
        listed = run("ldd", source, env={**os.environ, "LD_LIBRARY_PATH": places})
        if "not found" in listed:
            raise LabError(f"{source} misses libraries:\n{listed}")
        for name, path in re.findall(r"^\s*(?:(\S+) => )?(/\S+) \(0x", listed, re.MULTILINE):
            place = self._tree / ("lib64" if not name else "lib") / pathlib.Path(name or path).name
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.exists():
                shutil.copy2(pathlib.Path(path).resolve(), place)

    def _copy_modules(self):
        wanted = [*MODULES, *(SAN_MODULES if self.full else ())]
        dependencies = dict(re.findall(r"^(\S+): ?(.*)$", self._module_list(), re.MULTILINE))
        by_name = {pathlib.Path(path).stem.replace("_", "-"): path for path in dependencies}
        place = self._tree / "lib" / "modules" / self._release
        # crc32c and its like are asked for by name when a file system is mounted.
        for name in [*wanted, "crc32c_generic", "libcrc32c", "dm-mod", "failover", "net_failover"]:
            path = by_name.get(name.replace("_", "-"))
            if path is None:
                continue  # built in
            for each in [path, *dependencies[path].split()]:
                target = place / each
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self._modules / each, target)
        for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
            if (self._modules / name).exists():
                shutil.copy2(self._modules / name, place / name)
        run("depmod", "-b", self._tree, self._release)

    def _module_list(self):
        if not (self._modules / "modules.dep").exists():
            run("depmod", "-b", self._modules.parents[2], self._release)
        return (self._modules / "modules.dep").read_text()

    def _make(self):
        self._tree = PLACE / "tree"
        shutil.rmtree(self._tree, ignore_errors=True)
        for name in ("bin", "dev", "etc", "lib", "mnt", "opt", "proc", "run", "sbin", "sys", "tmp", "usr/bin", "var/lib/nfs", "var/log"):
            (self._tree / name).mkdir(parents=True)
        busybox = self._tree / "bin" / "busybox"
        shutil.copy2(self._find("bin/busybox"), busybox)
        for applet in run(busybox, "--list").split():
            if applet != "busybox":
                (self._tree / "bin" / applet).symlink_to("busybox")
        for target, source in PROGRAMS.items():
            self._copy_program(self._find(source), self._tree / target)
        self._copy_program(self._agent, self._tree / "usr/bin/plimsoll-agent")
        for extra in self._extras:
            if extra.exists():
                self._copy_program(extra, self._tree / "usr/bin" / extra.name)
        for name in ("netconfig", "protocols", "services", "rpc"):
            try:
                shutil.copy2(self._find(f"etc/{name}"), self._tree / "etc" / name)
            except LabError:
                pass
        (self._tree / "etc/passwd").write_text("root:x:0:0:root:/:/bin/sh\n_rpc:x:100:65534:rpcbind:/run:/bin/false\nnobody:x:65534:65534:nobody:/:/bin/sh\n")
        (self._tree / "etc/group").write_text("root:x:0:\nnogroup:x:65534:\n")
        (self._tree / "etc/nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files\n")
        self._copy_modules()
        for path in (SOURCE / "guest").iterdir():
            shutil.copy2(path, self._tree / path.name)
            (self._tree / path.name).chmod(0o755)
        making = self.initramfs.with_suffix(".new")
        with open(making, "wb") as out:
            names = subprocess.run(["find", ".", "-print0"], cwd=self._tree, capture_output=True, check=True).stdout
            subprocess.run(["cpio", "--null", "--create", "--format=newc", "--owner=0:0", "--quiet"], cwd=self._tree,
                           input=names, stdout=out, check=True)
        making.rename(self.initramfs)
        for old in PLACE.glob("initramfs-*"):
            if old != self.initramfs:
                old.unlink()
        shutil.rmtree(self._tree)
