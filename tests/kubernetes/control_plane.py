"""A Kubernetes control plane on loopback: real etcd, API server, controllers and scheduler; kwok in the place of kubelets."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import harness  # noqa: E402

PROGRAMS = pathlib.Path(__file__).resolve().parents[2] / "build" / "kubernetes" / "bin"
TOKEN = "loopback"
# All of them start on a machine that is busy with other tests.
START_S = 180


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class ControlPlane:
    """Starts with the test that makes it, and ends with it."""

    def __init__(self, test):
        self._test = test
        self.place = test.base / "cluster"
        self.place.mkdir()
        self._processes = {}
        self.kubeconfig = self.place / "kubeconfig"
        for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok", "../built"):
            if not (PROGRAMS / name).exists():
                raise unittest.SkipTest(f"there is no {PROGRAMS / name}: scripts/check kubernetes builds Kubernetes' programs")
        self._start_server()
        account = self.place / "account.key"
        for name, more in (("kube-controller-manager", ["--service-account-private-key-file", account]), ("kube-scheduler", [])):
            self._start(name, "--kubeconfig", self.kubeconfig, "--leader-elect=false", "--secure-port=0", *more)
        self._start("kwok", "--kubeconfig", self.kubeconfig, "--config", PROGRAMS.parent / "kwok.yaml", "--manage-all-nodes=true",
                    "--server-address", f"127.0.0.1:{free_port()}")

    def _start(self, name, *arguments):
        self._processes[name] = self._test.start(harness.Process, [PROGRAMS / name, *arguments], cwd=self.place)

    def stop_kubelets(self):
        """Pods are scheduled from now on, and nothing more becomes of them."""
        self._processes.pop("kwok").end()

    def _start_server(self):
        key, account = self.place / "account.pub", self.place / "account.key"
        subprocess.run(["openssl", "genrsa", "-out", account, "2048"], check=True, capture_output=True)
        subprocess.run(["openssl", "rsa", "-in", account, "-pubout", "-out", key], check=True, capture_output=True)
        (self.place / "tokens.csv").write_text(f'{TOKEN},admin,1,"system:masters"\n')
        etcd, peers, port = (free_port() for _ in range(3))
        self._start("etcd", "--data-dir", self.place / "etcd", "--unsafe-no-fsync", "--listen-client-urls",
                    f"http://127.0.0.1:{etcd}", "--advertise-client-urls", f"http://127.0.0.1:{etcd}", "--listen-peer-urls",
                    f"http://127.0.0.1:{peers}", "--initial-advertise-peer-urls", f"http://127.0.0.1:{peers}",
                    "--initial-cluster", f"default=http://127.0.0.1:{peers}")
        self._start(
            "kube-apiserver", "--etcd-servers", f"http://127.0.0.1:{etcd}", "--bind-address", "127.0.0.1", "--endpoint-reconciler-type",
            "none", "--secure-port", port, "--cert-dir", self.place / "certificates", "--token-auth-file",
            self.place / "tokens.csv", "--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.96.0.0/16",
            "--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", key,
            "--service-account-signing-key-file", account)
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}}],
            "users": [{"name": "test", "user": {"token": TOKEN}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]}))

        harness.wait_until(lambda: self.try_kubectl("get", "--raw", "/readyz").stdout == "ok", "an API server that is ready", START_S)

    @property
    def environment(self):
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.place),
                "PATH": f"{PROGRAMS}:{os.path.dirname(harness.binary('plimsoll'))}:{os.environ['PATH']}"}

    def try_kubectl(self, *arguments, stdin=None):
        for name, process in self._processes.items():
            if not process.running():
                raise AssertionError(f"{name} ended:\n{process.err[-3000:]}")
        return subprocess.run([PROGRAMS / "kubectl", *map(str, arguments)], env=self.environment, input=stdin, text=True,
                              capture_output=True, timeout=harness.LONG_S, check=False)

    def kubectl(self, *arguments, stdin=None):
        done = self.try_kubectl(*arguments, stdin=stdin)
        self._test.assertEqual(done.returncode, 0, (arguments, done.stderr))
        # Admission warns of what it would refuse.
        self._test.assertEqual(done.stderr, "", arguments)
        return done.stdout

    def apply(self, *objects):
        """Text of YAML, or objects."""
        text = "\n---\n".join(each if isinstance(each, str) else json.dumps(each) for each in objects)
        self.kubectl("apply", "-f", "-", stdin=text)

    def get(self, kind, *arguments):
        return json.loads(self.kubectl("get", kind, *arguments, "-o", "json"))["items"]

    def add_node(self, name, zone, **labels):
        self.apply({"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": name, "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone, **labels}}})
