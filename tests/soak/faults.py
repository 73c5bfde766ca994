"""What a soak does to a session. A fault is chosen by a seeded random source, strikes at its moment, and leaves a cure
with the hosts where it does not end by itself."""

import os
import signal
import time

import harness
import hosts as places


class Fault:
    """One thing that happens `at_s` seconds after a session's start."""

    name = ""
    # Exit codes of `plimsoll run` that it explains, besides 0 and 3.
    codes = ()
    freezes_controller = False

    def __init__(self, choice, where):
        self.at_s = choice.uniform(0, 2.5)
        self.agent = choice.choice(where.agents)
        self.for_s = choice.uniform(0.1, 2.2)

    def __str__(self):
        return f"{self.name} at {self.at_s:.2f} s"

    @staticmethod
    def possible(where):
        return True

    def plan(self):
        """Options that the session needs for it."""
        return []

    def strike(self, run, where):
        """Waits for its moment and happens; not where the session has ended before."""
        if not run.ended_within(max(0.0, run.started_s + self.at_s - time.monotonic())):
            self.happen(run, where)

    def happen(self, run, where):
        raise NotImplementedError


class AgentFault(Fault):

    def __str__(self):
        return f"{self.name} of {self.agent.name} at {self.at_s:.2f} s"


class AgentKilled(AgentFault):
    name = "kill"
    codes = (4,)

    def happen(self, run, where):
        self.agent.signal(signal.SIGKILL)


class AgentTerminated(AgentFault):
    name = "SIGTERM"
    codes = (4,)

    def happen(self, run, where):
        self.agent.signal(signal.SIGTERM)
        self.agent.process.finish()


class AgentFrozen(AgentFault):
    name = "freeze"
    codes = (4,)

    def happen(self, run, where):
        agent = self.agent
        if agent.ended():
            return
        agent.signal(signal.SIGSTOP)
        run.ended_within(self.for_s)
        agent.signal(signal.SIGCONT)


class ControllerKilled(Fault):
    name = "kill of the controller"
    codes = (-9,)

    def happen(self, run, where):
        signal_controller(run, signal.SIGKILL)


class ControllerFrozen(Fault):
    name = "freeze of the controller"
    codes = (4,)
    freezes_controller = True

    def happen(self, run, where):
        signal_controller(run, signal.SIGSTOP)
        run.ended_within(self.for_s)
        wake(run)


class Interrupted(Fault):
    name = "Ctrl-C"
    # Before plimsoll has begun to listen for it, it ends any program.
    codes = (-2,)

    def happen(self, run, where):
        signal_controller(run, signal.SIGINT)


class InterruptedTwice(Fault):
    name = "Ctrl-C twice"
    codes = (130, -2)

    def happen(self, run, where):
        signal_controller(run, signal.SIGINT)
        signal_controller(run, signal.SIGINT)


class Unplugged(AgentFault):
    name = "cable out"
    codes = (4,)

    @staticmethod
    def possible(where):
        return where.network is not None

    def happen(self, run, where):
        number = self.agent.number
        where.network.unplug(number)
        where.cures.append(lambda: where.network.await_reached(number))
        where.cures.append(lambda: where.network.plug_in(number))
        run.ended_within(self.for_s)
        where.network.plug_in(number)


class OneWay(AgentFault):
    """Packets of one direction are dropped, for good."""

    name = "packets lost one way"
    codes = (4,)

    def __init__(self, choice, where):
        super().__init__(choice, where)
        self.hook = choice.choice(("input", "output"))

    @staticmethod
    def possible(where):
        return where.network is not None and places.can_filter()

    def happen(self, run, where):
        where.nft(self.agent.number, "add table inet soak",
                  f"add chain inet soak cut {{ type filter hook {self.hook} priority 0 ; policy drop ; }}")


class DiskFull(AgentFault):
    """Somebody else fills the disk while the extents are made."""

    name = "disk full"
    codes = (2, 4)

    def __init__(self, choice, where):
        super().__init__(choice, where)
        self.at_s = choice.uniform(0, 0.5)

    @staticmethod
    def possible(where):
        return where.mounts

    def plan(self):
        return ["--file-size", "4m"]

    def happen(self, run, where):
        ballast = self.agent.files / "ballast"
        try:
            with open(ballast, "wb") as file:
                where.cures.append(lambda: ballast.unlink(missing_ok=True))
                while True:
                    os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, 1 << 20)
        except OSError:
            pass  # Full, or the agent is gone and its disk with it.


class DiskFault(AgentFault):
    """The agent's file system does for a while what no file system should."""

    codes = (4,)
    rule = ""

    @staticmethod
    def possible(where):
        return where.faulty

    def happen(self, run, where):
        fault = self.agent.faults.fault(f"write *.LOG {self.rule}")
        where.cures.append(self.agent.faults.clear)
        run.ended_within(self.for_s)
        fault.release()


class SlowWrites(DiskFault):
    name = "slow writes"
    rule = "delay_ms=150"


class HungWrites(DiskFault):
    name = "hung writes"
    rule = "hang"


class FailingWrites(DiskFault):
    name = "failing writes"
    codes = (2, 4)

    def __init__(self, choice, where):
        super().__init__(choice, where)
        self.rule = f"error={choice.choice(('EIO', 'ESTALE', 'EROFS', 'EDQUOT', 'ENOSPC'))}"


KINDS = [AgentKilled, AgentTerminated, AgentFrozen, ControllerKilled, ControllerFrozen, Interrupted, InterruptedTwice,
         Unplugged, OneWay, DiskFull, SlowWrites, HungWrites, FailingWrites]


def choose(choice, where):
    """None to three faults that can happen here, at their moments."""
    kinds = [kind for kind in KINDS if kind.possible(where)]
    return [kind(choice, where) for kind in choice.sample(kinds, choice.choice((0, 1, 1, 1, 2, 2, 3)))]


def signal_controller(run, number):
    """To plimsoll itself, not to what put it into its network."""
    for pid in (run.pid, *harness.children_of(run.pid)):
        if harness.comm_of(pid) == "plimsoll":
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
            return


def wake(run):
    signal_controller(run, signal.SIGCONT)
