"""`--launch` by a command and in pods, with a client that runs the agents on this machine: what works, and what ends early in each
state of a run. launch_test.py and launch_broken_test.py have the same over a real sshd."""

import json
import os
import pathlib
import re
import signal
import sys

import harness

STAND_IN = pathlib.Path(__file__).with_name("stand_in_client.py")


class Client(harness.PlimsollTest):
    """A machine with the client."""

    def setUp(self):
        super().setUp()
        self.tools = self.base / "tools"
        self.tools.mkdir()
        self.client = self.tools / "kubectl"
        self.client.write_text(f"#!{sys.executable} -B\n{STAND_IN.read_text()}")
        self.client.chmod(0o755)
        (self.tools / "programs").write_text(os.path.dirname(harness.binary("plimsoll-agent")))

    def calls(self):
        return (self.tools / "calls").read_text().splitlines()

    def clients(self, process, count=2):
        """Ids of the clients of a controller, in the order of the hosts, once there are so many."""

        def look():
            found = [pid for pid in harness.children_of(process.pid) if harness.comm_of(pid) == "kubectl"]
            return sorted(found) if len(found) == count else None

        return harness.wait_until(look, f"{count} clients")

    def agent_of(self, client):
        return harness.wait_until(
            lambda: [pid for pid in harness.children_of(client) if harness.comm_of(pid) == "plimsoll-agent"], "its agent")[0]

    def await_nothing(self, agents=()):
        for agent in agents:
            harness.wait_until(lambda agent=agent: not harness.is_alive(agent), "the end of an agent")
        self.await_nothing_left()
        harness.wait_until(lambda: not list(self.runtime.iterdir()), "no socket on this machine")


class Launched:
    """For each launcher with such a client."""

    def start_launched(self, *arguments, hosts="host[1-2]"):
        return self.start_run("--hosts", hosts, *self.launch(), *arguments)

    def launched(self, *arguments, code=0, hosts="host[1-2]"):
        process = self.start_launched(*arguments, hosts=hosts)
        return self.finished(process, process.results, code)

    def start_measuring(self, *arguments):
        run = self.start_launched("--duration", "60", *arguments)
        self.await_running(run)
        clients = self.clients(run)
        return run, clients, [self.agent_of(client) for client in clients]

    def refused(self, expected, *arguments, code=4, hosts="host1"):
        result = self.launched(*arguments, code=code, hosts=hosts)
        errors = [line for line in result.errors if not line.startswith("starting agents over kubectl")]
        self.assertEqual(len(errors), 1, result)
        self.assertRegex(errors[0], f"^plimsoll: {expected}", result)
        self.assertFalse(result.results.exists())
        self.await_nothing()

    def assert_host2_was_lost(self, run):
        result = self.result_of(run, run.results, code=3)
        self.assertEqual([host["label"] for host in result.report["hosts"] if "lost" in host], ["host2"])
        self.assertRegex(result.err, r"(?m)^plimsoll: host host2 is lost: ")
        return result

    def test_a_run_measures_and_leaves_nothing(self):
        result = self.launched("--full")
        self.assertEqual([host["label"] for host in result.report["hosts"]], ["host1", "host2"])
        for host in result.report["hosts"]:
            # Never taken for the controller's own clock, though it is one here.
            self.assertGreater(host["clock"]["error_ns"], 0, host)
        self.await_nothing()

    def test_sixteen_hosts_measure_and_leave_nothing(self):
        run = self.start_launched("--duration", "2", hosts="host[1-16]")
        run.finish(240)
        result = self.result_of(run, run.results)
        self.assertEqual([host["label"] for host in result.report["hosts"]], [f"host{n}" for n in range(1, 17)])
        self.await_nothing()

    def test_commands_that_ask_leave_nothing(self):
        out = self.plimsoll("hosts", "--hosts", "host[1-2]", *self.launch(), "--dir", self.dir).out
        self.assertRegex(out, r"(?m)^ +host2 ")
        self.assertIn(str(self.dir), self.plimsoll("storage", self.dir, "--hosts", "host1", *self.launch()).out)
        self.plimsoll("hosts", "--hosts", "host1", *self.launch())
        self.await_nothing()

    def test_a_client_killed_while_hosts_prepare(self):
        run = self.start_launched("--file-size", "1g", "--num-files", "3")
        harness.wait_until(lambda: len(harness.paths(self.dir, "*/*/qm1/active/*.LOG")) == 2, "extents of both")
        clients = self.clients(run)
        agents = [self.agent_of(client) for client in clients]
        os.kill(clients[1], signal.SIGKILL)
        result = self.result_of(run, code=4)
        self.assertRegex(result.err, r"(?m)^plimsoll: host2 .*was lost while preparing$")
        self.await_nothing(agents)

    def test_a_client_killed_while_hosts_measure(self):
        run, clients, agents = self.start_measuring("--on-host-loss", "abort")
        os.kill(clients[1], signal.SIGKILL)
        result = self.assert_host2_was_lost(run)
        self.assertRegex(result.err, r"(?m)^plimsoll: host2: kubectl ended with signal 9; its agent ends with it; what it left, if it was "
                                     r"killed, is removed by: plimsoll clean --hosts host2 --launch .* --dir \S+ --yes$")
        self.await_nothing(agents)

    def test_a_controller_killed_while_hosts_measure(self):
        run, clients, agents = self.start_measuring()
        run.signal(signal.SIGKILL)
        run.finish()
        self.await_nothing([*clients, *agents])

    def test_a_killed_agents_files_are_removed_by_the_command_that_is_printed(self):
        run, _, agents = self.start_measuring("--on-host-loss", "abort")
        os.kill(agents[1], signal.SIGKILL)
        result = self.assert_host2_was_lost(run)
        self.assertRegex(result.err, r"(?m)^plimsoll: host2: kubectl ended with exit code 137: command terminated with exit code 137; ")
        self.assertNotEqual(list(self.dir.iterdir()), [])
        # The last: that of the report, if it has one, is as good.
        (command, *_) = re.findall(r"plimsoll (clean --hosts host2.* --yes)", result.err)
        process = self.start(harness.Process, ["sh", "-c", f"{harness.binary('plimsoll')} {command}"])
        self.assertEqual(process.finish(), 0, process.err)
        self.await_nothing(agents)

    def test_an_interrupted_run_reports_and_leaves_nothing(self):
        run, _, agents = self.start_measuring()
        run.signal(signal.SIGINT)
        self.result_of(run, run.results, code=3)
        self.await_nothing(agents)

    def test_a_directory_that_the_host_does_not_have(self):
        result = self.plimsoll("run", "--hosts", "host1", *self.launch(), "--dir", "/missing", "--out", self.base / "r", code=2)
        self.assertIn("plimsoll: --dir: /missing does not exist on host1; create it there or pass another --dir", result.errors)

    def test_a_host_that_is_not_there(self):
        self.refused(r'gone1: no agent answered: .*\(kubectl ended with exit code 1: Error from server \(NotFound\): pods "gone1" not found\)$',
                     hosts="gone1")

    def test_an_agent_that_is_not_installed(self):
        (self.tools / "programs").write_text("/missing")
        self.refused(r"host1: no agent answered: plimsoll-agent [\d.]+ must be in the PATH there \(kubectl ended with exit code 126: "
                     r'error: exec: "plimsoll-agent": executable file not found in \$PATH; command terminated with exit code 126\)$')

    def test_what_a_shell_on_the_way_would_read_is_refused(self):
        self.refused(r"host1: the agent's option, '--name=\$\(id\)', may be read by a shell on its way to the agent: ",
                     "--agent-option=--name=$(id)", code=2)

    def test_an_option_that_the_agent_refuses(self):
        self.refused(r"host1: .*--no-such-option", "--agent-option=--no-such-option", code=2)

    def test_a_banner_is_named(self):
        self.refused(r"banner1: something else than the agent prints on its standard output: a banner, .*'Welcome to banner1", hosts="banner1")


class Command(Launched, Client):
    """`--launch 'CLIENT exec -i {host} --'`."""

    def launch(self):
        return ["--launch", f"'{self.client}' exec -i {{host}} --"]

    def test_a_terminal_in_between_is_named(self):
        result = self.plimsoll("hosts", "--hosts", "host1", "--launch", f"{self.client} exec -it {{host}} --", code=(2, 4))
        self.assertRegex(result.err, r"(?m)^plimsoll: host1: .*terminal \(pty\)")

    def test_texts_that_are_no_launcher(self):
        for how, expected in (("rsh", "a command has {host} in it"), ("{host}", "the program cannot be {host}"),
                              ("podman 'exec {host}", "a quote is not closed")):
            with self.subTest(how):
                result = self.plimsoll("hosts", "--hosts", "host1", "--launch", how, code=2)
                self.assertEqual(len(result.errors), 1, result)
                self.assertIn(expected, result.err)
        result = self.plimsoll("hosts", "--hosts", "host1", "--launch", "/missing/podman exec -i {host}", code=4)
        self.assertRegex(result.err, r"^plimsoll: host1: start /missing/podman: No such file or directory \(2\): check --launch")
        self.assertIn("--launch command needs hosts", self.plimsoll("run", "--dir", self.dir, *self.launch(), code=2).err)


class Kubernetes(Launched, Client):
    """`--launch kubernetes`."""

    def launch(self):
        return ["--launch", "kubernetes", "--kubectl", self.client]

    def write_pods(self, **phases):
        pods = [{"metadata": {"name": name, "labels": {"app": "x"}}, "spec": {"nodeName": f"node-of-{name}"}, "status": {"phase": phase}}
                for name, phase in phases.items()]
        (self.tools / "pods.json").write_text(json.dumps({"kind": "List", "items": pods}))

    def test_pods_are_chosen_by_their_labels(self):
        self.write_pods(pod2="Running", pod1="Running", pod3="Pending")
        chosen = [*self.launch(), "--selector", "app=x", "--namespace", "mq", "--context", "lab", "--container", "agent"]
        run = self.start_run(*chosen)
        result = self.finished(run, run.results)
        self.assertEqual([host["label"] for host in result.report["hosts"]], ["pod1", "pod2"])
        self.assertEqual([host["node"] for host in result.report["hosts"]], ["node-of-pod1", "node-of-pod2"])
        self.assertRegex(" ".join(result.out.split()), r"pod1 at pod1, node node-of-pod1: plimsoll-agent")
        self.assertEqual(self.calls()[0], "--context=lab --namespace=mq get pods --selector=app=x --output=json")
        self.assertRegex(self.calls()[1], r"^--context=lab --namespace=mq exec -i pod[12] --container=agent -- plimsoll-agent --stdio ")
        self.assertRegex(self.plimsoll("hosts", *chosen).out, r"(?m)^ +pod2 +pod2 +node-of-pod2 ")
        self.assertIn("pod[1-2]", self.plimsoll("storage", self.dir, *chosen).out)
        self.await_nothing()

    def test_named_pods_have_their_nodes_where_they_may_be_read(self):
        self.write_pods(pod1="Running")
        result = self.launched(hosts="pod1")
        self.assertEqual([host["node"] for host in result.report["hosts"]], ["node-of-pod1"])
        self.assertIn("get pods pod1 --output=json", self.calls())
        # One host alone has nothing to test between hosts.
        checked = self.plimsoll("fsck", self.dir, "--hosts", "pod1", *self.launch(), "--json", code=3)
        self.assertEqual([host["node"] for host in json.loads(checked.out)["hosts"]], ["node-of-pod1"])
        checked = self.plimsoll("fsck", self.dir, "--hosts", "host1", *self.launch(), "--json", code=3)
        self.assertNotIn("node", json.loads(checked.out)["hosts"][0])
        result = self.launched(hosts="host1")
        self.assertNotIn("node", result.report["hosts"][0])
        self.await_nothing()

    def test_labels_that_no_running_pod_has(self):
        self.write_pods(pod1="Pending")
        result = self.plimsoll("hosts", *self.launch(), "--selector", "app=x", code=2)
        self.assertEqual(result.errors, ["plimsoll: --selector app=x: no such pod is running; it may be in another --namespace"])

    def test_without_pods(self):
        result = self.plimsoll("run", *self.launch(), "--dir", self.dir, code=2)
        self.assertIn("name them with --hosts, or choose them with --selector", result.err)


if __name__ == "__main__":
    harness.main()
