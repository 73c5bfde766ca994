"""How much later a write comes with a delay in the network, and whether that is what it should be."""

import dataclasses

# Of how often chance alone may put one shift outside of its error. A study has some twenty shifts.
CHANCE = 0.001

@dataclasses.dataclass
class Shift:
    """`ms` of p50, of `expected_ms` that were set, which are `ping_ms` as ping has it."""
    block_bytes: int
    delay_us: int
    round_trips: int
    expected_ms: float
    ping_ms: float
    ms: float

    @property
    def expected_bounds_ms(self):
        """The delay as it was set and as ping has it, the smaller first."""
        return sorted((self.expected_ms, self.ping_ms))


@dataclasses.dataclass
class RunsShift(Shift):
    """Between runs: what it may be off by is stated."""
    error_ms: float
    queue_managers: int

    @property
    def bounds_ms(self):
        """Where it has to be: the delay, and the error beyond it."""
        low, high = self.expected_bounds_ms
        return low - self.error_ms, high + self.error_ms

    @property
    def verdict(self):
        low, high = self.bounds_ms
        # Writers that wait for one another anyway wait for the network in the same time: it may show less, not more.
        if self.ms > high or (self.queue_managers == 1 and self.ms < low):
            return "FAIL"
        # Bounds so wide that no shift at all, or twice as much, would do as well prove nothing.
        return "PASS" if high < 2 * self.expected_ms and (low > 0 or self.queue_managers > 1) else "INCONCLUSIVE"

    def __str__(self):
        low, high = self.bounds_ms
        must = f"{low:.2f} to {high:.2f}" if self.queue_managers == 1 else f"at most {high:.2f}"
        return (f"{self.block_bytes // 1024:>3} KiB, {self.queue_managers} QM, {self.delay_us / 1000:g} ms each way: p50 "
                f"{self.ms:+.2f} ms, must be {must} ({self.expected_ms:g} as set, {self.ping_ms:.2f} by ping, error "
                f"{self.error_ms:.2f})")


@dataclasses.dataclass
class ToggledShift(Shift):
    """Within a step, of one queue manager: it lies between `low_ms` and `high_ms` all but surely.

    So does what ping has between its bounds; it was measured in the same seconds. It is of `delay_us` each way more than there
    were before, which was `from_us`.
    """
    from_us: int
    low_ms: float
    high_ms: float
    ping_low_ms: float
    ping_high_ms: float

    @property
    def each_ms(self):
        """For each millisecond that was added each way: median, and its bounds."""
        return [1000 * ms / self.delay_us for ms in (self.ms, self.low_ms, self.high_ms)]

    @property
    def expected_bounds_ms(self):
        return [min(self.expected_ms, self.ping_low_ms), max(self.expected_ms, self.ping_high_ms)]

    @property
    def verdict(self):
        low, high = self.expected_bounds_ms
        if self.high_ms < low or self.low_ms > high:
            return "FAIL"
        # Where no shift at all, or twice as much, would do as well, for the writes or for ping, nothing is proven.
        told = min(self.low_ms, self.ping_low_ms) > 0 and max(self.high_ms, self.ping_high_ms) < 2 * self.expected_ms
        return "PASS" if told else "INCONCLUSIVE"

    def __str__(self):
        to_us = self.from_us + self.delay_us
        return (f"{self.block_bytes // 1024:>3} KiB, 1 QM, from + {self.from_us / 1000:g} to + {to_us / 1000:g} ms each way "
                f"within a step: p50 {self.ms:+.2f} ms, {self.low_ms:.2f} to {self.high_ms:.2f} ({self.expected_ms:g} as set, "
                f"{self.ping_ms:.2f} by ping, {self.ping_low_ms:.2f} to {self.ping_high_ms:.2f})")
