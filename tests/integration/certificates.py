"""Certificates for tests: good ones from `plimsoll tls init`, wrong ones from the openssl command."""

import subprocess


class Certificates:
    """A directory made by `plimsoll tls init`."""

    def __init__(self, test, name, hosts="127.0.0.1", controller="ops"):
        self.path = test.base / name
        self.hosts, self.controller = hosts.split(","), controller
        test.plimsoll("tls", "init", self.path, "--hosts", hosts, "--controller", controller)

    def options(self, name, ca=None):
        """The three options for the holder of a certificate; `ca`: another one to trust."""
        return [
            "--tls-ca", (ca or self).path / "ca.crt", "--tls-cert", self.path / f"{name}.crt", "--tls-key",
            self.path / f"{name}.key"
        ]

    def agent(self, ca=None):
        return self.options(self.hosts[0], ca)

    def user(self, ca=None):
        return self.options(self.controller, ca)

    def forge(self, name, days=30, usage="clientAuth", san=None):
        """A certificate of this CA with what tls init does not make: other days (negative: expired) or usages."""
        base = self.path / name
        _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{base}.key")
        _openssl("req", "-new", "-key", f"{base}.key", "-subj", f"/CN={name}", "-out", f"{base}.csr")
        lines = [f"subjectAltName={san or 'DNS:' + name}"]
        if usage:
            lines.append(f"extendedKeyUsage={usage}")
        (self.path / f"{name}.ext").write_text("\n".join(lines) + "\n")
        _openssl("x509", "-req", "-in", f"{base}.csr", "-CA", self.path / "ca.crt", "-CAkey", self.path / "ca.key",
                 "-days", str(days), "-extfile", f"{base}.ext", "-out", f"{base}.crt")
        (self.path / f"{name}.key").chmod(0o600)
        return self.options(name)


def _openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)
