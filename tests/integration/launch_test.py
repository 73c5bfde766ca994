"""`--launch ssh`: hosts with nothing installed, each with a real sshd, and every way in which that can go wrong."""

import os
import pathlib
import re
import signal
import stat

import harness
import ssh_hosts

EM_AARCH64 = 183
UID = 4711


class Launch(ssh_hosts.SshTest):
    """What works, on one host."""

    def test_a_run_copies_the_agent_measures_and_leaves_only_the_copy(self):
        self.boot()
        result = self.over_ssh()
        (host,) = result.report["hosts"]
        self.assertEqual((host["label"], host["address"]), ("host1", "host1"))
        self.assertGreater(harness.cluster(result.report["steps"][0])["writes"], 0)
        self.await_only_the_cached_agent()
        cached = self.hosts[0].cached
        self.assertEqual(cached.read_bytes(), self.agent_file().read_bytes())
        self.assertEqual(stat.S_IMODE(cached.stat().st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(cached.parent.stat().st_mode), 0o700)
        before = cached.stat()
        self.over_ssh()
        self.over_ssh("--no-copy", copy=False)
        self.assertEqual((cached.stat().st_ino, cached.stat().st_mtime_ns), (before.st_ino, before.st_mtime_ns))
        self.await_only_the_cached_agent()

    def test_a_damaged_copy_is_replaced(self):
        self.boot()
        self.command("hosts")
        cached = self.hosts[0].cached
        cached.write_bytes(cached.read_bytes()[:-1])
        self.command("hosts")
        self.assertEqual(cached.read_bytes(), self.agent_file().read_bytes())
        self.await_only_the_cached_agent()

    def test_a_server_that_forwards_nothing(self):
        self.boot(config="AllowStreamLocalForwarding no\nAllowTcpForwarding no\nDisableForwarding yes")
        self.over_ssh()
        self.await_only_the_cached_agent()

    def test_launch_clean_removes_the_copy_too(self):
        self.boot()
        self.over_ssh("--launch-clean")
        self.await_only_the_cached_agent(cached=False)

    def test_a_cache_elsewhere(self):
        self.boot()
        self.command("hosts", "--launch-cache", "/root/elsewhere")
        self.assertEqual(self.hosts[0].files()[0], "home/elsewhere")
        self.command("hosts", "--launch-cache", "/root/elsewhere", "--no-copy", "--launch-clean", copy=False)
        self.assertEqual(self.hosts[0].files(), [])

    def test_what_a_login_prints_and_what_an_interactive_configuration_asks_for_do_no_harm(self):
        host = self.hosts[0]
        (host.home / ".bashrc").write_text("echo 'welcome to host1'; echo 'plimsoll' >&2\n")
        (host.home / ".sshd/banner").write_text("Permission denied (to strangers)\n")
        with open(self.user / "config", "a", encoding="utf-8") as config:
            config.write("Host *\n  ControlMaster auto\n  ControlPath ~/.ssh/%C\n  RequestTTY force\n  RemoteCommand top\n"
                         "  LogLevel QUIET\n  ForwardX11 yes\n  ClearAllForwardings yes\n")
        self.boot(config="Banner /root/.sshd/banner")
        self.over_ssh()
        (host.home / ".bashrc").unlink()
        self.await_only_the_cached_agent()

    def test_a_killed_agents_files_are_removed_by_the_host_itself(self):
        self.boot()
        run = self.start_over_ssh("--duration", "60", "--launch-clean")
        self.await_running(run)
        os.kill(self.hosts[0].agent_pid(), 9)
        result = self.result_of(run, run.results, code=3)
        self.assertRegex(result.err, r"(?m)^plimsoll: host host1 is lost: ")
        self.assertRegex(result.err, r"(?m)^plimsoll: host1: its agent ended, killed by signal 9$")
        self.await_only_the_cached_agent(cached=False)

    def test_an_ordinary_user_with_another_shell(self):
        host = self.hosts[0]
        passwd = host.home / ".sshd/passwd"
        passwd.write_text(pathlib.Path("/etc/passwd").read_text() + f"mqm:x:{UID}:{UID}::/root:/root/.sshd/shell\n")
        # It takes a command, and knows nothing else of a POSIX shell.
        shell = host.home / ".sshd/shell"
        shell.write_text('#!/bin/sh\n[ "$2" = "exec sh" ] && exec sh\necho "$2: not found" >&2\nexit 1\n')
        shell.chmod(0o755)
        for path in (host.home, self.dir):
            path.chmod(0o755)
            os.chown(path, UID, UID)
        host.tmp.chmod(0o1777)
        (self.user / "config").write_text((self.user / "config").read_text().replace("User root", "User mqm"))
        self.boot(shell="mount --bind /root/.sshd/passwd /etc/passwd")
        run = self.start_over_ssh("--duration", "60")
        self.await_running(run)
        self.assertEqual(os.stat(f"/proc/{host.agent_pid()}").st_uid, UID)
        self.assertEqual({path.stat().st_uid for path in self.dir.rglob("*.LOG")}, {UID})
        run.signal(signal.SIGINT)
        self.result_of(run, run.results, code=3)
        self.await_only_the_cached_agent()

    def test_the_hosts_half_runs_in_bash_too(self):
        self.boot(shell="mount --bind /bin/bash /usr/bin/dash")
        self.over_ssh("--launch-clean")
        self.await_only_the_cached_agent(cached=False)

    def test_a_host_with_a_port_of_its_own(self):
        self.hosts[0].boot((self.user / "key.pub").read_text(), config="Port 2222")
        known = self.user / "known_hosts"
        known.write_text(known.read_text().replace(self.hosts[0].address, f"[{self.hosts[0].address}]:2222"))
        result = self.plimsoll("hosts", "--hosts", "host1:2222", *self.launch(), wrap=self.network.on_controller())
        self.assertIn("host1:2222", result.out)


class Failures(ssh_hosts.SshTest):
    """What does not work: one line that names the host, what is wrong, and the way out."""

    def refused(self, expected, *arguments, code=4, copy=True, dir="/mnt"):
        """Tries a run; its error is one line that matches. Nothing is left but a cached agent, if that."""
        result = self.over_ssh(*arguments, code=code, copy=copy, dir=dir)
        errors = [line for line in result.errors if not line.startswith("starting agents over ssh")]
        self.assertEqual(len(errors), 1, result)
        self.assertRegex(errors[0], f"^plimsoll: {expected}", result)
        self.assertFalse(result.results.exists())
        if self.hosts[0].booted:
            self.await_nothing_runs()
        self.await_nothing_left()
        harness.wait_until(lambda: not list(self.runtime.iterdir()), "no socket on this machine")
        for file in self.hosts[0].files():
            self.assertRegex(file, r"^home/.cache(/plimsoll(/[\d.]+(/plimsoll-agent)?)?)?$")
        if "the agent does not run there" in expected or "may not run" in expected:
            self.assertEqual(self.hosts[0].files(), ["home/.cache"])

    def test_a_wrong_key(self):
        self.hosts[0].boot(self.hosts[0].host_key)
        self.refused(r"host1: ssh cannot log in without asking for a password: .*`ssh-copy-id host1`.*"
                     r" \(ssh: root@10\.77\.0\.1: Permission denied \(publickey.*\)\.\)$")

    def test_an_unknown_host_key(self):
        self.boot()
        self.know([])
        self.refused(r"host1: its host key is unknown: connect once by hand, `ssh host1`.*"
                     r" \(ssh: Host key verification failed\.\)$")

    def test_a_changed_host_key(self):
        self.boot()
        known = self.user / "known_hosts"
        known.write_text(f"{self.hosts[0].address} {(self.user / 'key.pub').read_text()}")
        self.refused(r"host1: its host key is not the one that this user knows: .*`ssh-keygen -R host1`.*"
                     r" \(ssh: Host key verification failed\.\)$")

    def test_nobody_listens(self):
        self.refused(r"host1: no ssh server listens there: .* \(ssh: ssh: connect to host 10\.77\.0\.1 port 22: "
                     r"Connection refused\)$")

    def test_a_name_that_is_not_known(self):
        (self.user / "config").write_text("")
        self.refused(r"host1: name not found: ")

    def test_a_command_that_is_forced(self):
        self.boot(config="ForceCommand /bin/echo 'maintenance'")
        self.refused(r"host1: no POSIX shell answers there: .* \(it printed: maintenance\)$")

    def test_a_cache_in_which_programs_may_not_run(self):
        self.boot(shell="mkdir /root/.cache; mount -t tmpfs -o noexec none /root/.cache")
        self.refused(r"host1: programs may not run in the cache directory \(noexec\?\): .*--launch-cache.*Permission denied")

    def test_a_cache_without_space(self):
        self.boot(shell="mkdir /root/.cache; mount -t tmpfs -o size=1m none /root/.cache")
        self.refused(r"host1: no space for the agent: .*--launch-cache.*No space left on device")

    def test_a_cache_that_is_read_only(self):
        self.boot(shell="mkdir /root/.cache; mount -t tmpfs -o ro none /root/.cache")
        self.refused(r"host1: the agent cannot be stored: .*--launch-cache.*Read-only file system")

    def test_a_cache_that_others_may_write(self):
        (self.hosts[0].home / ".cache/plimsoll").mkdir(parents=True)
        (self.hosts[0].home / ".cache/plimsoll").chmod(0o777)
        self.boot()
        self.refused(r"host1: /root/.cache/plimsoll, above the cache directory, belongs to another user, or others may write there")

    def test_an_agent_for_another_machine(self):
        self.boot()
        agent = bytearray(self.agent_file().read_bytes())
        agent[18:20] = EM_AARCH64.to_bytes(2, "little")
        self.agent_file().write_bytes(agent)
        self.refused(r"host1: it is x86_64, the agent is for aarch64: build .* put it there as /root/.cache/plimsoll/[\d.]+/plimsoll-agent, ")

    def test_an_agent_that_does_not_run_there(self):
        self.boot(shell="mount --bind /dev/null \"$(ls /usr/lib/*/libgrpc++.so.1.*.* | head -n 1)\"")
        self.refused(r"host1: the agent does not run there; it is linked dynamically: scripts/portable ")

    def test_no_agent_that_may_be_copied(self):
        self.boot()
        self.refused(r"host1: it has no agent [\d.]+ in /root/.cache/plimsoll/.*/plimsoll-agent is linked dynamically .*"
                     r"scripts/portable .*--launch-agent", copy=False)
        self.refused(r"host1: it has no agent [\d.]+ in /root/.cache/plimsoll/.*: leave out --no-copy", "--no-copy", copy=False)

    def test_a_directory_that_the_host_does_not_have(self):
        self.boot()
        self.refused(r"--dir: /mnt/missing does not exist on host1; create it there or pass another --dir$", dir="/mnt/missing", code=2)

    def test_a_missing_directory_is_named_as_the_command_line_names_it(self):
        self.boot()
        for command in ("storage", "fsck"):
            errors = self.command(command, "/mnt/missing", code=2).err
            self.assertRegex(errors, r"(?m)^plimsoll: DIR: /mnt/missing does not exist on host1; create it there or pass another DIR$")
        errors = self.command("run", "--qm-dirs", "/mnt,/mnt/missing", "--dry-run", code=2).err
        self.assertRegex(errors, r"(?m)^plimsoll: /mnt/missing does not exist on host1; create it there or name another directory$")

    def test_a_directory_that_is_a_file(self):
        self.boot()
        self.refused(r"--dir: /etc/passwd is not a directory on host1$", dir="/etc/passwd", code=2)

    def test_a_tmp_that_is_read_only_is_in_the_way_of_an_agent_without_a_directory_alone(self):
        self.boot(shell="mount -t tmpfs -o ro none /tmp")
        self.over_ssh()
        errors = self.command("hosts", code=4).err
        self.assertRegex(errors, r"(?m)^plimsoll: host1: cannot make a directory in /tmp for an agent without --dir: .*"
                                 r"\(mkdir: .*Read-only file system\)$")
        self.await_nothing_runs()

    def test_an_ssh_that_is_not_there(self):
        result = self.plimsoll("hosts", "--hosts", "host1", "--launch", "ssh", "--ssh-command", "/missing/ssh -4", code=4)
        self.assertRegex(result.err, r"^plimsoll: host1: start /missing/ssh: No such file or directory \(2\): install OpenSSH")

    def test_options_that_make_no_sense(self):
        for arguments, expected in (
            (["--no-copy"], "--no-copy has a meaning only with --launch ssh"),
            (["--launch", "ssh", "--ssh-command", "'ssh"], "--ssh-command: "),
            (["--launch", "ssh", "--launch-cache", "cache"], "--launch-cache cache is not an absolute path"),
            (["--launch", "ssh", "--launch-agent", "/missing"], "--launch-agent: open /missing: No such file"),
            (["--launch", "ssh", "--launch-agent", __file__], "is not a program for Linux"),
            (["--launch", "ssh", "--no-copy", "--launch-agent", "x"], "drop one"),
            (["--launch", "ssh", "--tls-ca", "ca.crt"], "--launch ssh needs no TLS"),
            (["--launch", "rsh"], "--launch"),
        ):
            with self.subTest(arguments):
                result = self.plimsoll("hosts", "--hosts", "host1", *arguments, code=2)
                self.assertEqual(len(result.errors), 1, result)
                self.assertIn(expected, result.err)
        self.assertIn("--launch ssh needs hosts", self.plimsoll("run", "--dir", self.dir, "--launch", "ssh", code=2).err)
        for command, expected in (
            (["ha", "--pairs", "host1+host2", "--fault", "reboot", "--do", "reboot=true", "--allow-commands"],
             "--fault reboot and poweroff end an agent that --launch ssh has started"),
            (["fsck", self.dir, "--hosts", "host1,host2", "--level", "full", "--kill-host", "true", "--allow-commands"],
             "--kill-host ends the agent that --launch ssh has started"),
        ):
            with self.subTest(command):
                place = ["--dir", self.dir] if command[0] == "ha" else []
                result = self.plimsoll(*command, *place, "--launch", "ssh", code=2)
                self.assertEqual(len(result.errors), 1, result)
                self.assertIn(expected, result.err)
        result = self.plimsoll("run", "--hosts", "unix:/run/s", "--dir", self.dir, *self.launch(), code=2)
        self.assertIn("unix:/run/s: --launch ssh takes names of hosts, not sockets", result.err)


class Interrupted(harness.PlimsollTest):
    """Ctrl-C, with clients of ssh that hang: no host is needed."""

    def client(self):
        """One that SIGTERM does not end; of host1 as if that were ready until the end of the input, of others silent. It then does
        nothing until the controller kills it."""
        client = self.base / "client"
        client.write_text(f"#!/bin/sh\ntrap '' TERM\ncase \"$*\" in *' host1 '*) echo plimsoll-launch ready; "
                          f"cat >{self.base}/sent; : >{self.base}/ended ;; esac\nexec sleep 120\n")
        client.chmod(0o755)
        return ["--launch", "ssh", "--ssh-command", client, "--no-copy"]

    def assert_host1_is_named(self, *command):
        process = self.start_plimsoll(*command, *self.client(), "--dir", "/mnt")
        process.await_err(r"1 of 2 ready")
        process.signal(signal.SIGINT)
        harness.wait_until((self.base / "ended").exists, "the end of the client's input")
        process.signal(signal.SIGINT)
        self.assertEqual(process.finish(), 3, process.err)
        self.assertRegex(process.err, r"(?m)^plimsoll: interrupted: nothing was ")
        self.assertRegex(process.err, r"(?m)^plimsoll: host1: the agent did not end in time: ")
        self.assertNotIn("host2: the agent", process.err)

    def test_a_host_on_which_something_may_run_is_named_though_the_run_never_began(self):
        self.assert_host1_is_named("run", "--hosts", "host[1-2]")

    def test_a_host_on_which_something_may_run_is_named_though_the_drill_never_began(self):
        self.assert_host1_is_named("ha", "--pairs", "host1+host2")

    def test_hosts_and_storage_end_their_agents(self):
        for command in (["hosts"], ["storage", "/mnt"]):
            with self.subTest(command):
                process = self.start_plimsoll(*command, "--hosts", "host2", *self.client())
                process.await_err(r"0 of 1 ready")
                process.signal(signal.SIGINT)
                self.assertEqual(process.finish(), 3, process.err)
                self.assertEqual(process.err.splitlines()[-1], "plimsoll: interrupted while the agents were started")
                harness.wait_until(lambda: not list(self.runtime.iterdir()), "no socket on this machine")


class JumpHost(ssh_hosts.SshTest):

    size = 2

    def test_a_host_behind_a_jump_host(self):
        first, second = self.hosts
        authorized = (self.user / "key.pub").read_text()
        first.boot(authorized)
        second.boot(authorized, config=f"AllowUsers root@{first.address}")
        with open(self.user / "config", "a", encoding="utf-8") as config:
            config.write("Host host2\n  ProxyJump host1\n")
        result = self.run_plan("--hosts", "host2", *self.launch(), dir="/mnt", wrap=self.network.on_controller())
        self.assertEqual([host["label"] for host in result.report["hosts"]], ["host2"])
        self.await_nothing_runs()
        self.assertEqual(first.files(), [])


class Slow(ssh_hosts.PairTest):

    def test_no_agent_starts_before_every_host_has_one_and_progress_says_who_is_awaited(self):
        go_on = self.base / "go-on"
        os.mkfifo(go_on)  # whoever opens it for reading waits for a writer
        client = self.base / "ssh"
        client.write_text(f'#!/bin/sh\ncase "$*" in *" host2 "*) : <{go_on} ;; esac\n'
                          f'exec /usr/bin/ssh -F {self.user}/config "$@"\n')
        client.chmod(0o755)
        run = self.start_run("--hosts", self.names, "--launch", "ssh", "--ssh-command", client, "--launch-agent",
                             self.agent_file(), dir="/mnt", wrap=self.network.on_controller())
        run.await_err(r"^starting agents over ssh: 1 of 2 ready, 1 connecting \(host2\)$")
        self.assertEqual(set(self.hosts[0].processes()), {"sh"})
        go_on.write_text("")
        result = self.result_of(run, run.results)
        self.assertEqual([host["label"] for host in result.report["hosts"]], ["host1", "host2"])
        self.await_only_the_cached_agent()


class Early(ssh_hosts.PairTest):
    """What ends early; launch_broken_test.py has the other states of a run."""

    def test_a_client_killed_while_hosts_measure(self):
        run = self.start_measuring("--on-host-loss", "abort")
        os.kill(self.await_clients(run)[1], signal.SIGKILL)
        result = self.assert_host2_was_lost(run)
        self.assertRegex(result.err, r"(?m)^plimsoll: host2: ssh ended with signal 9; its agent ends with it$")

    def test_a_controller_killed_while_hosts_measure(self):
        run = self.start_measuring()
        clients = self.await_clients(run)
        run.signal(signal.SIGKILL)
        run.finish()
        for client in clients:
            harness.wait_until(lambda client=client: not harness.is_alive(client), "the end of ssh")
        self.await_only_the_cached_agent()
        # The journal that it left gives a report.
        self.plimsoll("report", run.results, code=3)


class FourHosts(ssh_hosts.SshTest):

    size = 4

    def test_four_hosts_at_once(self):
        self.boot()
        result = self.over_ssh("--full")
        self.assertEqual([host["label"] for host in result.report["hosts"]], [f"host{n}" for n in range(1, 5)])
        for host in result.report["hosts"]:
            self.assertGreater(host["clock"]["error_ns"], 0, host)
        self.await_only_the_cached_agent()

    def test_hosts_that_fail_are_all_named_and_the_others_leave_nothing(self):
        authorized = (self.user / "key.pub").read_text()
        self.hosts[0].boot(authorized)
        self.hosts[1].boot(self.hosts[0].host_key)
        self.hosts[2].boot(authorized, shell="mkdir /root/.cache; mount -t tmpfs -o noexec none /root/.cache")
        result = self.over_ssh(code=4)
        errors = [line for line in result.errors if not line.startswith("starting agents over ssh")]
        self.assertEqual([re.match(r"plimsoll: (host\d): ", line).group(1) for line in errors], ["host2", "host3", "host4"])
        for host in self.hosts[:3]:
            harness.wait_until(lambda host=host: not host.processes(), f"no process on {host.name}")
        # A command that shows each host by itself shows those that there are.
        result = self.command("hosts", code=4)
        self.assertRegex(result.out, r"(?m)^ +host1 ")
        self.assertEqual(len([line for line in result.errors if re.match(r"plimsoll: host[234]: ", line)]), 3, result)


if __name__ == "__main__":
    harness.main()
