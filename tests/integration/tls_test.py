"""Who may speak over the network: certificates, good and wrong, and what either side says of them."""

import os
import re
import shutil
import signal
import socket
import ssl
import stat
import unittest
import warnings

import harness
from certificates import Certificates


class TlsTest(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        self.good = Certificates(self, "good")

    def tls_agent(self, name="alpha", options=None, more=()):
        return self.agent(name, more=[*(options or self.good.agent()), *more])

    def refused(self, agent, options, controllers_line, agents_line, address=None):
        """A run that ends with exit code 4 and one line; the agent says why, too."""
        result = self.plimsoll("run", "--dir", self.dir, "--hosts", address or agent.address, *options, code=4)
        self.assertEqual(len(result.errors), 1, result)
        self.assertRegex(result.errors[0],
                         f"^plimsoll: {re.escape(address or agent.address)}: not trusted: .*{controllers_line}")
        agent.await_err(rf"warning refused \S.*{agents_line}")
        self.assertEqual(result.out, "")
        self.assert_nothing_left()


class Trust(TlsTest):

    def test_a_run_over_tls_is_whole(self):
        agents = [self.tls_agent(name, more=["--allow", "ops"]) for name in ("alpha", "beta")]
        result = self.run_plan("--hosts", ",".join(agent.address for agent in agents), *self.good.user())
        self.assertEqual([host["label"] for host in result.report["hosts"]], ["alpha", "beta"])
        self.assertGreater(harness.cluster(result.report["steps"][0])["writes"], 0)
        self.assert_nothing_left()
        for agent in agents:
            self.assertNotIn("refused", agent.err)
            self.assertNotIn("not encrypted", agent.err)
        self.assertIn("  alpha ", self.plimsoll("hosts", "--hosts", agents[0].address, *self.good.user()).out)

    def test_an_address_that_others_reach_needs_no_insecure(self):
        alpha = self.agent("alpha", listen="0.0.0.0:0", more=self.good.agent())
        port = alpha.address.rpartition(":")[2]
        self.run_plan("--hosts", f"127.0.0.1:{port}", *self.good.user())
        self.assertNotIn("not encrypted", alpha.err)

    def test_a_run_of_this_machine_alone_takes_no_notice_of_the_options(self):
        self.run_plan(*self.good.user())

    def test_a_controller_of_another_ca(self):
        other = Certificates(self, "other")
        self.refused(self.tls_agent(), other.user(ca=self.good), "refused this controller's certificate.*issuer is CN=Plimsoll CA",
                     r"not of this agent's CA \(--tls-ca\)")

    def test_an_agent_of_another_ca(self):
        other = Certificates(self, "other")
        self.refused(self.tls_agent(), self.good.user(ca=other), "agent's certificate is not of the CA in --tls-ca",
                     "does not trust this agent's certificate: unknown CA")

    def test_a_controllers_certificate_that_has_expired(self):
        self.refused(self.tls_agent(), self.good.forge("old", days=-1), r"--tls-cert\) expired on \d{4}-\d\d-\d\d$",
                     "its certificate has expired")

    def test_an_agents_certificate_that_has_expired(self):
        alpha = self.tls_agent(options=self.good.forge("127.1", days=-1, usage="serverAuth", san="IP:127.0.0.1"))
        self.assertRegex(alpha.err, r"--tls-cert \S+ expired on \d{4}-\d\d-\d\d: controllers will refuse it")
        self.refused(alpha, self.good.user(), r"the agent's certificate expired on \d{4}-\d\d-\d\d$",
                     "does not trust this agent's certificate: certificate expired")

    def test_an_agents_certificate_for_another_name(self):
        alpha = self.tls_agent(options=self.good.forge("elsewhere", usage="serverAuth"))
        self.refused(alpha, self.good.user(), "the agent's certificate is for elsewhere, not for 127.0.0.1",
                     "does not trust this agent's certificate: bad certificate")

    def test_an_agents_certificate_that_does_not_say_that_it_serves(self):
        alpha = self.tls_agent(options=self.good.forge("mute", usage=None, san="IP:127.0.0.1"))
        result = self.plimsoll("run", "--dir", self.dir, "--hosts", alpha.address, *self.good.user(), code=4)
        self.assertEqual(len(result.errors), 1, result)
        self.assertIn("not trusted: the agent's certificate is not for a server", result.err)
        self.assert_nothing_left()

    def test_an_agents_certificate_with_its_address_as_a_dns_name(self):
        alpha = self.tls_agent(options=self.good.forge("odd", usage="serverAuth", san="DNS:127.0.0.1"))
        self.refused(alpha, self.good.user(), "the agent's certificate is for nobody, not for 127.0.0.1", "")

    def test_names_of_other_kinds_do_not_count_as_allowed(self):
        alpha = self.tls_agent(more=["--allow", "ops", "--allow", "ops@example", "--allow", "10.0.0.9"])
        for name, san in (("uri", "URI:ops"), ("mail", "email:ops@example"), ("address", "DNS:10.0.0.9")):
            with self.subTest(san=san):
                self.refused(alpha, self.good.forge(name, san=san), r"none of this controller's names \(\)",
                             f"controller CN={name}: none of its names is among")

    def test_no_tls_session_is_resumed(self):
        """A session that is resumed shows a certificate whose dates nobody looks at again."""
        alpha = self.tls_agent()
        host, port = alpha.address.split(":")
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(self.good.path / "ca.crt")
            context.load_cert_chain(self.good.path / "ops.crt", self.good.path / "ops.key")
            context.set_alpn_protocols(["h2"])
            context.minimum_version = context.maximum_version = version
            session = None
            for _ in range(3):
                with socket.create_connection((host, int(port)), timeout=harness.LONG_S) as raw:
                    with context.wrap_socket(raw, server_hostname=host, session=session) as tls:
                        self.assertEqual(tls.recv(9)[3], 4, "HTTP/2's SETTINGS")
                        self.assertFalse(tls.session_reused, version)
                        session = tls.session

    def test_a_controllers_certificate_that_serves_alone(self):
        line = "is not for a client"
        agents_line = r"is not for a controller \(no client authentication\)"
        alpha = self.tls_agent()
        self.refused(alpha, self.good.agent(), line, agents_line)
        # One that says nothing of its use, and would pass for OpenSSL.
        self.refused(alpha, self.good.forge("any", usage=None), line, "controller CN=any: its certificate " + agents_line)

    def test_a_controller_that_is_not_among_those_allowed(self):
        alpha = self.tls_agent(more=["--allow", "ops", "--allow", "night.example"])
        self.refused(alpha, self.good.forge("dev"),
                     r"none of this controller's names \(dev\) is among those that the agent was started with \(--allow\)",
                     r"controller CN=dev: none of its names is among this agent's --allow \(dev\)")
        self.run_plan("--hosts", alpha.address, *self.good.user())
        self.run_plan("--hosts", alpha.address, *self.good.forge("Night.Example"))

    def test_a_controller_without_tls_at_an_agent_with_it(self):
        self.refused(self.tls_agent(), [], "the agent requires TLS; pass --tls-ca, --tls-cert and --tls-key",
                     "it connected without TLS, and this agent requires TLS")

    def test_a_controller_with_tls_at_an_agent_without_it(self):
        self.refused(self.agent("alpha"), self.good.user(), "the agent has no TLS",
                     "it connected with TLS, and this agent was started without --tls-cert")

    def connect(self, agent, certificate=None, versions=None):
        """A handshake by Python's own TLS; raises what goes wrong, and reads what comes."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self.good.path / "ca.crt")
        context.set_alpn_protocols(["h2"])
        if certificate:
            context.load_cert_chain(self.good.path / f"{certificate}.crt", self.good.path / f"{certificate}.key")
        if versions:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the old ones are old
                context.minimum_version, context.maximum_version = versions
            context.set_ciphers("ALL:@SECLEVEL=0")
        host, port = agent.address.split(":")
        with socket.create_connection((host, int(port)), timeout=harness.LONG_S) as raw:
            with context.wrap_socket(raw, server_hostname=host) as tls:
                return tls.version(), tls.recv(9)

    def test_nothing_is_answered_without_a_certificate(self):
        alpha = self.tls_agent()
        try:
            answer = self.connect(alpha)[1]
        except OSError:
            answer = b""
        self.assertEqual(answer, b"")
        alpha.await_err("warning refused 127.0.0.1:[0-9]+: it has no certificate$")

    def test_tls_1_2_and_up(self):
        alpha = self.tls_agent()
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            spoken, settings = self.connect(alpha, "ops", (version, version))
            self.assertEqual(spoken.replace(".", "_"), version.name)
            self.assertEqual(settings[3], 4, "HTTP/2's SETTINGS")
        with self.assertRaises(OSError):
            self.connect(alpha, "ops", (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1))
        alpha.await_err("warning refused 127.0.0.1:[0-9]+: its TLS is older than 1.2")


class Reload(TlsTest):

    def replace(self, source, name):
        """Puts a certificate and its key in the place of the agent's, as an administrator would."""
        for suffix in ("key", "crt"):
            fresh = self.base / f"fresh.{suffix}"
            shutil.copy(self.good.path / f"{source}.{suffix}", fresh)
            os.replace(fresh, self.good.path / f"{name}.{suffix}")

    def test_certificates_are_renewed_while_a_run_goes_on(self):
        alpha = self.tls_agent(options=self.good.forge("alpha", usage="serverAuth", san="IP:127.0.0.1"))
        run = self.start_run("--hosts", alpha.address, "--duration", "60", *self.good.user())
        self.await_running(run)
        self.good.forge("elsewhere", usage="serverAuth")
        self.replace("elsewhere", "alpha")
        alpha.await_err("the TLS files have changed and are used from now on; the certificate is good until 20")

        def refuses():
            result = self.start_plimsoll("hosts", "--hosts", alpha.address, *self.good.user())
            return result.finish() == 4 and "is for elsewhere, not for 127.0.0.1" in result.err

        harness.wait_until(refuses, "the new certificate is shown")
        # The run that was there is not disturbed.
        self.assertTrue(run.running())
        run.signal(signal.SIGINT)
        result = self.result_of(run, run.results, code=3)
        self.assertEqual(result.report["run"]["state"], "interrupted")
        self.assertEqual(result.report["hosts"][0].get("lost_reason", ""), "")
        self.assert_nothing_left()

    def test_another_ca_takes_over(self):
        other = Certificates(self, "other")
        alpha = self.tls_agent()
        self.plimsoll("hosts", "--hosts", alpha.address, *self.good.user())
        both = (self.good.path / "ca.crt").read_text() + (other.path / "ca.crt").read_text()
        (self.base / "ca.new").write_text(both)
        os.replace(self.base / "ca.new", self.good.path / "ca.crt")
        alpha.await_err("the TLS files have changed and are used from now on")

        def accepts():
            # A controller of the new CA, and one of the old.
            codes = [
                self.start_plimsoll("hosts", "--hosts", alpha.address, *options).finish()
                for options in (other.user(ca=self.good), self.good.user())
            ]
            return codes == [0, 0]

        harness.wait_until(accepts, "both CAs are trusted")

    def test_files_that_do_not_fit_together_change_nothing(self):
        alpha = self.tls_agent()
        (self.good.path / "127.0.0.1.crt").write_text("no certificate")
        alpha.await_err("the TLS files have changed and are not good; the ones before stay in use: --tls-cert .*127.0.0.1.crt: ")
        self.run_plan("--hosts", alpha.address, *self.good.user())
        shutil.copy(self.good.path / "ops.crt", self.good.path / "127.0.0.1.crt")
        alpha.await_err("stay in use: --tls-key .*: it is not the key of the certificate ")
        self.run_plan("--hosts", alpha.address, *self.good.user())


class Options(harness.PlimsollTest):

    def refused(self, *arguments, program="plimsoll-agent", code=2):
        process = self.start(harness.Process, [harness.binary(program), *arguments])
        self.assertEqual(process.finish(), code, process.err)
        self.assertEqual(len(process.err.splitlines()), 1, process.err)
        return process.err

    def test_all_three_options_or_none(self):
        for program, command in (("plimsoll-agent", ["--root", self.dir]), ("plimsoll", ["run", "--dir", self.dir]),
                                 ("plimsoll", ["hosts", "--hosts", "a"])):
            line = self.refused(*command, "--tls-ca", "ca.crt", program=program)
            self.assertIn("--tls-cert and --tls-key are missing", line)

    def test_wrong_files_are_named(self):
        good = Certificates(self, "good")
        agent = ["--root", self.dir]
        missing = ["--tls-ca", "nowhere.crt", *good.agent()[2:]]
        self.assertRegex(self.refused(*agent, *missing), "--tls-ca nowhere.crt: No such file")
        swapped = [*good.agent()[:4], "--tls-key", good.path / "ops.key"]
        self.assertRegex(self.refused(*agent, *swapped), "--tls-key .*/ops.key: it is not the key of the certificate")
        no_ca = ["--tls-ca", good.path / "ops.crt", *good.agent()[2:]]
        self.assertRegex(self.refused(*agent, *no_ca), "--tls-ca .*/ops.crt: it is not the certificate of a CA")
        (good.path / "ops.key").chmod(0o604)
        self.assertRegex(self.refused("hosts", "--hosts", "a", *good.user(), program="plimsoll"), "--tls-key .*chmod 600")

    def test_options_that_do_not_go_together(self):
        good = Certificates(self, "good")
        self.assertIn("--allow", self.refused("--root", self.dir, "--allow", "ops"))
        self.assertIn("unix:", self.refused("--root", self.dir, "--listen", f"unix:{self.base}/s", *good.agent()))

    def test_tls_init_makes_what_it_says_and_writes_nothing_over(self):
        place = self.base / "pki"
        first = self.plimsoll("tls", "init", place, "--hosts", "alpha,10.0.0.1:7462,[::1]", "--controller", "ops")
        names = ["ca", "alpha", "10.0.0.1", "__1", "ops"]
        files = {place / f"{name}.{suffix}" for name in names for suffix in ("crt", "key")}
        self.assertEqual(set(place.iterdir()), files)
        self.assertEqual(stat.S_IMODE(place.stat().st_mode), 0o700)
        for file in files:
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600 if file.suffix == ".key" else 0o644)
            self.assertIn(f"created {file}\n", first.out)
        self.assertIn("plimsoll-agent --root DIR --listen alpha:7461", first.out)
        self.assertIn("plimsoll run --hosts alpha,10.0.0.1,[::1] ", first.out)
        before = {file: file.read_bytes() for file in files}
        second = self.plimsoll("tls", "init", place, "--hosts", "alpha,beta", "--controller", "ops")
        self.assertIn(f"unchanged: {place}/alpha.key\n", second.out)
        self.assertIn(f"created {place}/beta.crt\n", second.out)
        self.assertEqual({file: file.read_bytes() for file in files}, before)

    def test_tls_init_refuses_what_it_cannot_do_well(self):
        open_place = self.base / "open"
        open_place.mkdir(mode=0o755)
        cases = [
            ([open_place, "--hosts", "a"], "accessible to other users"),
            ([self.base / "x" / "y", "--hosts", "a"], f"the directory above {self.base}/x/y does not exist: make it"),
            ([__file__, "--hosts", "a"], f"{__file__} is not a directory: name a directory, which is made if it is missing"),
            ([f"{__file__}/x", "--hosts", "a"], f"{__file__}/x is below a file: name a directory, which is made"),
            ([self.base / "x", "--hosts", "a,ca"], "names that differ"),
            ([self.base / "x", "--hosts", "a", "--controller", "a"], "names that differ"),
            ([self.base / "x", "--hosts", "unix:/run/a"], "Unix socket"),
            ([self.base / "x", "--hosts", "a", "--controller", "b,DNS:c"], "is not one host's name"),
            ([self.base / "x", "--hosts", "a", "--days", "0"], "--days"),
        ]
        for arguments, text in cases:
            self.assertIn(text, self.refused("tls", "init", *arguments, program="plimsoll"))
        self.assertFalse((self.base / "x").exists())
        self.plimsoll("tls", "init", self.base / "y", "--hosts", "a")
        (self.base / "y" / "a.key").unlink()
        self.assertIn("a.crt exists without", self.refused("tls", "init", self.base / "y", "--hosts", "a", program="plimsoll"))

    def test_tls_init_issues_from_no_ca_of_another_user(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("giving files to another user needs root")
        place = self.base / "theirs"
        self.plimsoll("tls", "init", place, "--hosts", "a")
        arguments = ("tls", "init", place, "--hosts", "a,b")
        os.chown(place, 65534, 65534)
        self.assertIn("belongs to another user (65534)", self.refused(*arguments, program="plimsoll"))
        os.chown(place, 0, 0)
        # Planted while the directory was open to others.
        for name in ("ca.crt", "ca.key"):
            os.chown(place / name, 65534, 65534)
            self.assertIn(f"{name} is not a file of this user alone", self.refused(*arguments, program="plimsoll"))
            os.chown(place / name, 0, 0)
        (place / "ca.key").rename(self.base / "ca.key")
        (place / "ca.key").symlink_to(self.base / "ca.key")
        self.assertIn("ca.key: ", self.refused(*arguments, program="plimsoll"))
        self.assertFalse((place / "b.crt").exists())
        (self.base / "ca.key").rename(place / "ca.key")
        self.plimsoll(*arguments)
        self.assertTrue((place / "b.crt").exists())


if __name__ == "__main__":
    harness.main()
