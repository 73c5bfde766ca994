"""HA drills of two real agents for tests: on storage that may lie, with hosts that freeze and die by commands."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import sys
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faultfs"))

import faultfs  # noqa: E402
import harness  # noqa: E402

# Passes its arguments to the test, and ends as that says.
TELL = ("import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
        "s.sendall((' '.join(sys.argv[2:]) + '\\n').encode())\nsys.exit(s.makefile().readline().strip() != 'ok')")


def instances_of(agent):
    """Ids of the instances that an agent started and that are there, stopped ones too."""
    return [pid for pid in harness.children_of(agent.agent_pid) if harness.is_alive(pid)]


class Commands:
    """Carries out, in the test's own process, what a drill's commands ask for: `do FAULT ADDRESS`, `undo FAULT ADDRESS`."""

    def __init__(self, test, carry_out):
        self._carry_out = carry_out
        self._path = test.base / "commands"
        self.failures = []
        self._program = test.base / "tell.py"
        self._program.write_text(TELL)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        test.addCleanup(self._end)

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection:
                    words = connection.makefile().readline().split()
                    answer = "ok"
                    try:
                        self._carry_out(*words)
                    except Exception:  # The command fails, and the test says why.
                        self.failures.append(traceback.format_exc())
                        answer = "error"
                    connection.sendall(f"{answer}\n".encode())

    def _end(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(harness.LONG_S)

    def arguments(self, *words):
        return [sys.executable, "-S", "-E", str(self._program), str(self._path), *words]


class DrillTest(harness.PlimsollTest):
    """Two agents, alpha and beta, or pairs of them, on one fault file system, or on the disk."""

    # Takeovers show what the storage does, not how long an instance waits for a CPU.
    agents_ahead = True
    # Of the agents; two and two are a pair.
    labels = ("alpha", "beta")
    lies = True
    # Whether a host that freezes, and loses its locks by that, is kept from writing.
    fences = True
    # So long the storage hears nothing of such a host before it gives its locks up: more than the clocks' error.
    server_lease_s = 0
    # All agents of a test share this machine's kernel.
    kernel = ("--one-kernel",)
    # More options of the agents, by name.
    agent_options = {}

    def setUp(self):
        super().setUp()
        self.below = self.base / "below"
        self.below.mkdir()
        self.fs = faultfs.FaultFs(self, self.below, self.dir) if self.lies else None
        self.agents = {}
        for name in self.labels:
            agent = self.agent(name, more=self.agent_options.get(name, ()))
            self.agents[agent.address] = agent
        self.names = dict(zip(self.agents, self.labels))
        addresses = list(self.agents)
        self.pairs = ["+".join(pair) for pair in zip(addresses[::2], addresses[1::2])]
        self.commands = Commands(self, lambda *words: getattr(self, f"{words[1]}_{words[0]}")(words[2]))
        self._fences = []

    # What commands do to the host that has this address.

    def freeze_do(self, address):
        """Stops all of it; the storage gives its locks up, and (where it `fences`) refuses what it writes later."""
        while self._fences:
            self._fences.pop().release()
        agent = self.agents[address]
        agent.signal(signal.SIGSTOP)
        instances = instances_of(agent)
        for pid in instances:
            os.kill(pid, signal.SIGSTOP)
        for pid in instances:
            harness.wait_until(lambda pid=pid: harness.is_stopped(pid), "an instance to stop")
        time.sleep(self.server_lease_s)
        for pid in instances:
            if self.fences:
                self._fences.append(self.fs.fault(f"write * pid={pid} error=ESTALE"))
            self.fs.expire(pid)

    def freeze_undo(self, address):
        agent = self.agents[address]
        for pid in instances_of(agent):
            os.kill(pid, signal.SIGCONT)
        agent.signal(signal.SIGCONT)

    def poweroff_do(self, address):
        """Kills the agent and, with it, its instances."""
        agent = self.agents[address]
        instances = instances_of(agent)
        agent.signal(signal.SIGKILL)
        agent.finish()
        for pid in instances:
            harness.wait_until(lambda pid=pid: not harness.is_alive(pid), "an instance to end with its agent")

    def poweroff_undo(self, address):
        name = self.names[address]
        self.agents[address] = self.agent(name, listen=address, more=self.agent_options.get(name, ()))

    def start_drill(self, *more, faults=("kill",), rounds=1, by_options=False):
        """Starts a drill with small, quick defaults; pairs of option and value override them. Commands are in the plan, or options."""
        self._results += 1
        out = self.base / f"results-{self._results}"
        plan = self.base / f"plan-{self._results}.yaml"
        lines = [f"workload: {{dir: {self.dir}, file_size: 256k, rate: 500}}", "ha:", f"  pairs: {json.dumps(self.pairs)}"]
        asked = []
        for fault in sorted({"freeze", "poweroff"} & set(faults)):
            commands = {which: self.commands.arguments(which, fault, "{address}") for which in ("do", "undo")}
            if by_options:
                for which, words in commands.items():
                    asked += [f"--{which}", f"{fault}=" + " ".join(f"'{word}'" for word in words)]
                continue
            lines += [] if "  commands:" in lines else ["  commands:"]
            lines.append(f"    - fault: {fault}")
            lines += [f"      {which}: {json.dumps(words)}" for which, words in commands.items()]
        plan.write_text("\n".join(lines) + "\n")
        options = {"--fault": ",".join(faults), "--rounds": rounds, "--window": "200ms", "--lock-poll": "50ms",
                   "--free-poll": "10ms", "--checkpoint": "200ms", "--verify": "1s", "--server-lease": "1s",
                   "--takeover-limit": "20s", "--out": out, "--seed": "7"}
        options.update(zip(more[::2], more[1::2]))
        process = self.start_plimsoll("ha", plan, "--full", "--allow-commands", *self.kernel, *asked,
                                      *(str(word) for option in options.items() for word in option), wrap=harness.ahead())
        process.results = out
        return process

    def finish_drill(self, process, code, timeout_s=180):
        """Its report, and the text in `report["text"]`; checks that nothing is left and that the journal says the same."""
        process.finish(timeout_s)
        self.assertEqual(self.commands.failures, [])
        result = self.result_of(process, None, code)
        report = json.loads((process.results / "report.json").read_text())
        report["text"] = result.out
        if self.fs:
            self.fs.clear()
        self.await_no_instance()
        self.assert_nothing_left()
        again = self.plimsoll("report", "--full", process.results, code=code)
        self.assertEqual(again.out, result.out)
        return report

    def drill(self, *more, code=0, faults=("kill",), rounds=1, by_options=False):
        return self.finish_drill(self.start_drill(*more, faults=faults, rounds=rounds, by_options=by_options), code)

    def await_no_instance(self):
        for agent in self.agents.values():
            harness.wait_until(lambda agent=agent: not instances_of(agent), "no instance is left")

    def refuse_locks(self, process):
        """Makes the storage keep the locks of the active instance, whoever asks, before the first fault comes."""
        rules = [self.fs.fault(f"lock */{name} error=EAGAIN") for name in ("active", "poll")]
        self.assertNotRegex(process.err, r"(?m)^round 1 of ", "the fault came before the rules")
        return rules

    def await_waiting(self, process):
        """Waits until the drill has an active instance, and a standby one that waits for its lock."""
        process.await_err(r"^starting the active instances")
        harness.wait_until(lambda: all(instances_of(agent) for agent in self.agents.values()), "two instances")
        if self.fs is None:
            return
        asked = self.fs.fault("lock */poll delay_ms=1")
        asked.await_hits(3)
        asked.release()

    def clean(self, run, address):
        """Removes what the run left, by one host alone, as soon as no session holds it any more."""
        arguments = ("clean", "--dir", self.dir, "--run", run, "--hosts", address)
        harness.wait_until(lambda: "in use" not in self.plimsoll(*arguments).out, "the sessions of the run to end")
        self.plimsoll(*arguments, "--yes")
        self.assert_nothing_left()
