"""Offsets of hosts' clocks by lab_clock, which shares no code with the product, with an interval of their own."""

import bisect

import lab_support
from lab_support import harness
import network

PORT = 7999
EVERY_MS = 50
# How far apart the rates of two clocks may be: more than the test sets and the hosts' calibration at boot may add to it.
SLEW = 500e-6
# Questions from so long before and after a moment tell of it.
WINDOW_NS = 3_000_000_000


class SecondClock:
    """Asks one host all the time, from its making until the test's end."""

    def __init__(self, test, machine):
        self.name = machine.name
        output, status = machine.execute(f"lab_clock serve {PORT} </dev/null >/dev/null 2>&1 &")
        test.assertEqual(status, 0, output)
        self._process = test.start(harness.Process, [
            *lab_support.IN_LAB, harness.binary("lab_clock"), "ask", network.address("control", machine.number), str(PORT),
            str(EVERY_MS)])

    def rounds(self):
        """All round trips so far: sent here, received there, sent there, received here."""
        return [tuple(map(int, line.split())) for line in self._process.out.split("\n")[:-1]]

    def await_rounds_after(self, moment_ns):
        """Waits until it was asked for the whole window after a moment of this machine's clock."""
        harness.wait_until(lambda: (rounds := self.rounds()) and rounds[-1][0] > moment_ns + WINDOW_NS,
                           f"answers of {self.name}'s clock")

    def offsets(self):
        return Offsets(self.rounds())


class Offsets:
    """What a host's clock was ahead of this machine's, at any moment that was asked about."""

    def __init__(self, rounds):
        self._rounds = rounds
        self._sent = [each[0] for each in rounds]

    def at(self, moment_ns):
        """Bounds (low, high) of the offset in ns: none of the questions around that moment allows anything else."""
        first = bisect.bisect_left(self._sent, moment_ns - WINDOW_NS)
        last = bisect.bisect_right(self._sent, moment_ns + WINDOW_NS)
        if first == last:
            raise AssertionError(f"nobody asked around {moment_ns}")
        low, high = -float("inf"), float("inf")
        for sent, there_received, there_sent, received in self._rounds[first:last]:
            # The clocks may have parted by that much between the round trip and the moment.
            slack = SLEW * max(abs(moment_ns - sent), abs(moment_ns - received))
            low = max(low, there_sent - received - slack)
            high = min(high, there_received - sent + slack)
        if low > high:
            raise AssertionError(f"the round trips around {moment_ns} contradict one another: {low} > {high}")
        return low, high

    def between(self, from_ns, to_ns):
        """Bounds that hold at both moments, and between them."""
        bounds = [self.at(moment_ns) for moment_ns in (from_ns, to_ns)]
        return min(low for low, _ in bounds), max(high for _, high in bounds)

    def drift_ppm(self, from_ns, to_ns):
        """By how much the host's clock gains, from the middles at two moments."""
        first, last = (sum(self.at(moment_ns)) / 2 for moment_ns in (from_ns, to_ns))
        return (last - first) / (to_ns - from_ns) * 1e6
