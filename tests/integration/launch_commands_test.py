"""`--launch ssh` on every command that takes hosts, on a shared file system."""

import json
import os
import re
import signal

import harness
import ssh_hosts


class Commands(ssh_hosts.SshTest):

    size = 2

    def setUp(self):
        super().setUp()
        self.boot()

    def test_hosts_and_storage_show_what_is_there(self):
        out = self.command("hosts", "--dir", "/mnt").out
        for host in self.hosts:
            self.assertRegex(out, rf"(?m)^ +{host.name} ")
        # The clock is asked through ssh as it is otherwise.
        self.assertRegex(out, r"(?m)^ +host1  host1 +[\d.]+ +-?[\d.]+ +[\d.]+ ")
        self.assertIn("/mnt", self.command("storage", "/mnt").out)
        self.await_only_the_cached_agent()

    def test_fsck_checks_between_the_hosts(self):
        # One kernel: nothing is tested between hosts, and that is what it says.
        result = self.command("fsck", "/mnt", "--only", "lock.exclusive", "--json", code=3)
        report = json.loads(result.out)
        self.assertEqual([host["address"] for host in report["hosts"]], ["host1", "host2"])
        self.assertEqual([check["outcome"] for check in report["checks"] if check["name"] == "lock.exclusive"], ["pass"])
        self.await_only_the_cached_agent()

    def test_clean_lists_and_removes_what_a_run_kept(self):
        result = self.over_ssh("--keep-files")
        (command,) = re.findall(r"(?m)^Remove them with: plimsoll (.*)$", result.out)
        self.assertIn("clean --hosts host1,host2 --launch ssh --ssh-command ", command)
        self.assertNotEqual(list(self.dir.iterdir()), [])
        listed = self.command("clean", "--dir", "/mnt")
        self.assertIn("kept", listed.out)
        self.assertNotEqual(list(self.dir.iterdir()), [])
        # As it is printed.
        process = self.start(harness.Process, [
            *self.network.on_controller(), "sh", "-c", f"{harness.binary('plimsoll')} {command}"])
        self.assertEqual(process.finish(), 0, process.err)
        self.await_only_the_cached_agent()

    def test_what_only_shows_removes_no_leftovers(self):
        run = self.start_over_ssh("--duration", "60")
        self.await_running(run)
        for host in self.hosts:
            # All of them before any ends: the agent would clean up when its shell goes, and the shell would start it again.
            pids = [host.agent_pid(), *host.processes()["sh"]]
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in pids:
                    os.kill(pid, number)
        self.result_of(run, run.results, code=3)
        files = sorted(self.dir.rglob("*"))
        self.assertEqual(len([path for path in files if path.suffix == ".LOG"]), 6)
        for arguments in (["hosts", "--dir", "/mnt"], ["storage", "/mnt"], ["run", "--dir", "/mnt", "--dry-run"],
                          ["limit", "--dir", "/mnt", "--require", "p99<1s", "--dry-run"]):
            self.command(*arguments)
            self.assertEqual(sorted(self.dir.rglob("*")), files, arguments)
        drill = ["ha", "--pairs", "host1+host2", *self.launch(), "--dir", "/mnt", "--dry-run"]
        self.plimsoll(*drill, wrap=self.network.on_controller())
        refused = self.plimsoll(*drill, "--data-dir", "/mnt/missing", code=2, wrap=self.network.on_controller())
        for host in self.hosts:
            self.assertIn(f"plimsoll: --data-dir: /mnt/missing does not exist on {host.name}; create it there or pass another "
                          "--data-dir", refused.errors)
        self.assertEqual(sorted(self.dir.rglob("*")), files)
        self.command("clean", "--dir", "/mnt", "--yes")
        self.assertEqual(list(self.dir.iterdir()), [])

    def test_accept_asks_each_host_about_its_own_directory(self):
        plan = self.base / "plan.yaml"
        hosts = ""
        for host in self.hosts:
            (self.dir / host.name).mkdir()
            hosts += f"  - address: {host.name}\n    workload:\n      dir: /mnt/{host.name}\n"
        plan.write_text(f"hosts:\n{hosts}workload:\n  file_size: 256k\n  num_files: 3\n")
        out = self.base / "accepted"
        process = self.start_plimsoll("accept", plan, *self.launch(), "--parts", "storage", "--runs", "1", "--out", out,
                                      wrap=self.network.on_controller())
        # What the storage is decides the verdict.
        self.assertIn(process.finish(), (0, 1, 3), process.err)
        (storage,) = out.rglob("storage.json")
        kept = json.loads(storage.read_text())
        self.assertEqual([(each["host"], each["directory"]["path"]) for each in kept],
                         [("host1", "/mnt/host1"), ("host2", "/mnt/host2")], process.err)
        self.await_nothing_runs()

    def test_ab_starts_its_agents_for_each_side(self):
        result = self.plimsoll("ab", "--hosts", self.names, *self.launch(), "--dir", "/mnt", "--vary", "sync=dsync,none",
                               "--dry-run", wrap=self.network.on_controller())
        self.assertIn("host2", result.out)
        self.await_only_the_cached_agent()


class Drill(ssh_hosts.SshTest):

    size = 2
    options = ("--dir", "/mnt", "--fault", "switch,kill", "--window", "200ms", "--lock-poll", "50ms", "--file-size", "256k",
               "--num-files", "3", "--bsize", "4k", "--rate", "200")

    def setUp(self):
        super().setUp()
        self.boot()

    def start_drill(self, *arguments):
        self.out = self.base / "drill"
        return self.start_plimsoll("ha", "--one-kernel", "--pairs", "host1+host2", *self.launch(), *self.options, "--out", self.out,
                                   *arguments,
                                   wrap=self.network.on_controller())

    def newest_write_ns(self):
        return max((path.stat().st_mtime_ns for path in self.dir.rglob("*.LOG")), default=0)

    def test_a_drill_takes_over_and_leaves_nothing(self):
        process = self.start_drill("--rounds", "2")
        result = self.result_of(process, self.out, process.finish())
        # On a busy machine a clock's error may exceed the length of a takeover.
        reasons = result.report["verdict"]["reasons"]
        self.assertEqual(result.code, 3 if reasons else 0, result)
        for reason in reasons:
            self.assertIn("undetermined within the clock error", reason, result)
        self.assertEqual({one["outcome"] for each in result.report["ha"]["rounds"] for one in each["takeovers"]}, {"taken"})
        self.await_only_the_cached_agent()

    def test_instances_of_a_killed_controller_go_on_until_their_lease_ends(self):
        process = self.start_drill("--rounds", "100", "--takeover-limit", "2s", "--lease", "15s", "--server-lease", "1s")
        process.await_err(r"(?m)^round 1")
        agents = [host.agent_pid() for host in self.hosts]
        instances = [child for agent in agents for child in harness.children_of(agent)]
        self.assertNotEqual(instances, [])
        clients = [pid for pid in harness.children_of(process.pid) if harness.comm_of(pid) == "ssh"]
        self.assertEqual(len(clients), 2)
        process.signal(signal.SIGKILL)
        process.finish()
        for client in clients:
            harness.wait_until(lambda client=client: not harness.is_alive(client), "the end of ssh")
        active = [pid for pid in instances if harness.is_alive(pid)]
        self.assertNotEqual(active, [], "instances end with their lease, not with ssh")
        # They write on: a block that reaches an extent changes the time at which it was written.
        before = self.newest_write_ns()
        harness.wait_until(lambda: self.newest_write_ns() > before, "a write after the end of ssh")
        self.await_nothing_runs()
        for host in self.hosts:
            self.assertEqual(list(host.tmp.iterdir()), [])


if __name__ == "__main__":
    harness.main()
