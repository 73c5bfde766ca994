"""Two agents, alpha and beta, and a run that is brought into a state and held there, so that something can go wrong in it.

beta is the host that it happens to. Everything that holds a state comes from outside: delays and hangs of the fault file
system, a long way to alpha, signals.
"""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "faultfs")]

import faultfs  # noqa: E402
import harness  # noqa: E402
import namespaces  # noqa: E402

# A machine that is busy with other things takes that much longer for anything.
SLACK_S = 25


class Scene(harness.PlimsollTest):
    """One row of the table as a test: `runTest` is given by the row."""

    def __init__(self, row):
        super().__init__("runTest")
        self.row = row
        # With faketime an agent may not wait but spin, and would leave no CPU to anybody.
        self.agents_ahead = row.fault.group != "clock"

    def runTest(self):
        self.set_up_hosts()
        try:
            self.bring_to(self.row.state)
            self.row.play(self)
        finally:
            # Nothing that hangs can be ended.
            self.fs.clear()

    def id(self):
        return f"{self.row.fault.key}, {self.row.state}"

    # The hosts and the run.

    def set_up_hosts(self):
        self.fs = faultfs.mounted(self)
        self.dir = self.fs.mountpoint
        self.network = None
        on_alpha, on_beta, self.on_controller, listen = [], [], [], ["127.0.0.1:0"] * 2
        if self.row.fault.network:
            self.network = namespaces.Network(2)
            self.addCleanup(self.network.remove)
            on_alpha, on_beta = self.network.on_host(1), self.network.on_host(2)
            self.on_controller = self.network.on_controller()
            listen = [f"{address}:7461" for address in self.network.hosts]
        more = ["--insecure"] if self.network else []
        self.alpha = self.agent("alpha", listen=listen[0], wrap=on_alpha, more=more)
        self.beta = self.agent("beta", listen=listen[1], wrap=[*on_beta, *self.row.fault.beta_wrap(self)],
                               more=[*more, "--stop-wait", "1s"])
        self.alpha_address, self.beta_address = self.alpha.address, self.beta.address
        if self.row.state == "armed":
            self.alpha_address = self.by_link_proxy(self.alpha_address, "--delay", "0.15")
        if self.row.fault.narrow:
            self.beta_address = self.by_link_proxy(self.beta_address, "--back", str(self.row.fault.narrow))
        self.out = self.base / "results"
        if self.row.fault.results_on_faultfs:
            self.results_fs = faultfs.mounted(self, "results-fs")
            self.out = self.results_fs.mountpoint / "results"

    def by_link_proxy(self, address, *arguments):
        proxy = self.start(harness.Process, [*self.on_controller, *harness.ahead(), sys.executable, "-B", HERE / "link_proxy.py", address,
                                             *arguments])
        return "127.0.0.1:" + harness.wait_until(lambda: proxy.out.strip(), "the port of a link proxy")

    def duration_s(self):
        return self.row.duration_s()

    def start_the_run(self):
        self.run_process = self.start_plimsoll("run", "--hosts", f"{self.alpha_address},{self.beta_address}", "--dir", self.dir,
                                               "--out", self.out, "--full", *self.row.arguments(),
                                               wrap=[*self.on_controller, *harness.ahead()])
        return self.run_process

    # The states.

    def bring_to(self, state):
        self.hold = None
        getattr(self, f"bring_to_{state}")()

    def bring_to_preparing(self):
        self.hold = self.fs.fault("write */beta/*.LOG after=2 delay_ms=250")
        self.start_the_run()
        self.hold.await_hits(2)

    def bring_to_ready(self):
        self.hold = self.fs.fault("write */alpha/*.LOG delay_ms=250")
        self.start_the_run()
        self.await_doing(self.beta, "ready")

    def bring_to_armed(self):
        # The lead to a start is ten times the round trip: three seconds here. The controller knows that all are armed when
        # it tells of the step.
        self.start_the_run()
        self.await_doing(self.beta, "armed")
        self.run_process.await_err("^step 1/")

    def bring_to_running(self):
        self.start_the_run()
        self.await_running(self.run_process)

    def bring_to_draining(self):
        # Three writes fill the extents, some are measured, and then one hangs.
        self.hold = self.fs.fault("write */beta/*.LOG after=23 count=1 hang interruptible" + self.row.fault.after_the_hang)
        self.start_the_run()
        self.hold.await_waiting()
        self.await_doing(self.beta, "draining")

    def let_go(self):
        """Ends what holds the state; does nothing the second time."""
        if self.hold is not None:
            self.hold.release()
            self.hold = None

    def let_beta_go(self):
        """The same, but for what holds alpha."""
        if self.row.state != "ready":
            self.let_go()

    def doing(self, agent):
        """What an agent says that it is at."""
        asked = self.start_plimsoll("hosts", "--hosts", agent.address, wrap=self.on_controller)
        asked.finish()
        match = re.search(r"busy with .*\((.*)\)$", asked.out, re.MULTILINE)
        return match.group(1) if match else "idle"

    def await_doing(self, agent, state):
        harness.wait_until(lambda: self.doing(agent).startswith(state), f"the state {state} of an agent")

    # What is left and what comes after.

    def end_of_run(self, code, seconds=0):
        """The finished run; `seconds` is how long it may take from now, beside what a busy machine needs."""
        self.run_process.finish(seconds + SLACK_S)
        return self.result_of(self.run_process, self.out, code)

    def journal_report(self):
        """The report that the journal alone gives."""
        again = self.start_plimsoll("report", "--json", self.out)
        again.finish()
        return harness.schema.parse(again.out)

    def assert_journal_holds(self, report):
        """What the report was made from is in the journal: the same comes out of it again."""
        again = self.journal_report()
        for step, other in zip(report["steps"], again["steps"]):
            self.assertEqual(step["scopes"], other["scopes"])
            self.assertEqual(step["in_flight"], other["in_flight"])
        self.assertEqual(report["verdict"], again["verdict"])

    def restore_network(self):
        for number in (1, 2):
            self.network.plug_in(number)
        subprocess.run([*self.network.on_host(2), "nft", "flush", "ruleset"], check=False, timeout=60,
                       capture_output=True)
        for number in (1, 2):
            self.network.await_reached(number)

    def await_clean(self):
        self.await_nothing_left(self.fs.backing, SLACK_S)

    def assert_takes_the_next_run(self, *agents):
        addresses = ",".join(agent.address for agent in agents)
        self.plimsoll("run", "--hosts", addresses, "--dir", self.dir, "--out", self.base / "next", "--file-size", "64k",
                      "--duration", "200ms", "--warmup", "0", "--min-free", "0", "-q", wrap=self.on_controller)
        self.await_clean()

    def restart_beta(self):
        """A new agent with the name and roots of the one that was killed."""
        on_beta = self.network.on_host(2) if self.network else []
        self.beta.end()
        self.beta = self.agent("beta", listen=self.beta.address, wrap=on_beta,
                               more=["--insecure"] if self.network else [])
