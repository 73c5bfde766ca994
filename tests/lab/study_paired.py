"""How much a delay in the network shifts p50, from rounds of `plimsoll ab --toggle`, and whether that is what it should be.

The speed of an emulated host changes from minute to minute with the machine's other load, so that runs minutes apart cannot resolve
a millisecond. Two steps within seconds differ by the delay and by little else.
"""

import dataclasses
import datetime
import math
import statistics
from typing import Optional

# How often the median of one shift may lie outside of its interval by chance alone. A study has some ten shifts.
CHANCE = 0.001
# With fewer rounds, all of them lie on one side of the median more often than that.
LEAST_ROUNDS = math.ceil(1 - math.log2(CHANCE))


def interval_of_median(values, chance):
    """Two of the values, between which the median of what they are drawn from lies but for this chance.

    By their ranks alone (as many as not lie below it), so that a few wild ones do no harm. Without bounds where they are too few.
    """
    values, outside, rank = sorted(values), 0.0, 0
    while rank < len(values) // 2:
        outside += 2 * math.comb(len(values), rank) / 2 ** len(values)
        if outside > chance:
            break
        rank += 1
    return (values[rank - 1], values[-rank]) if rank > 0 else (-math.inf, math.inf)


@dataclasses.dataclass
class Estimate:
    """A median, and the interval that contains the true one but for CHANCE; infinite where there are too few values."""
    ms: float
    low_ms: float
    high_ms: float

    @staticmethod
    def of(values_ms):
        return Estimate(statistics.median(values_ms) if values_ms else math.nan, *interval_of_median(values_ms, CHANCE))

    def times(self, factor):
        return Estimate(factor * self.ms, factor * self.low_ms, factor * self.high_ms)

    def __str__(self):
        return f"{self.ms:.2f} ({self.low_ms:.2f} to {self.high_ms:.2f})" if math.isfinite(self.high_ms) else "too few rounds"


def _span_s(step):
    """Begin and end of a step's measured time, in seconds since 1970."""
    begin_s = datetime.datetime.fromisoformat(step["start"][:26] + "+00:00").timestamp()
    return begin_s, begin_s + step["measured_ns"] / 1e9


def _p50_ms(step):
    (cluster,) = [scope for scope in step["scopes"] if scope["kind"] == "cluster"]
    p50_ns = cluster["latency"].get("p50_ns")
    return p50_ns / 1e6 if p50_ns else None


def _ping_ms(step, pings):
    """Median of the batches that lie wholly within the step; None where there is none."""
    begin_s, end_s = _span_s(step)
    inside = [ms for batch_begin_s, batch_end_s, times_ms in pings if begin_s <= batch_begin_s and batch_end_s <= end_s
              for ms in times_ms]
    return statistics.median(inside) if inside else None


def differences_ms(ab, report, pings):
    """Side B less side A by round, of p50 and of ping: two lists, each of the rounds in which both sides have a value.

    `ab` and `report` are ab.json and its run's report.json; `pings` are batches [begin_s, end_s, [ms, ...]].
    """
    found = [], []
    for round_ in ab["rounds"]:
        # Each side of a round is one step, because each comparison has one block size.
        a, b = (report["steps"][round_[key][0]] for key in ("a_steps", "b_steps"))
        for values, differences in zip(((_p50_ms(a), _p50_ms(b)), (_ping_ms(a, pings), _ping_ms(b, pings))), found):
            if None not in values:
                differences.append(values[1] - values[0])
    return found


def p50_row(comparison):
    """What compare.json has on p50; None where a step has too few writes for it."""
    (block_size,) = comparison["block_sizes"]
    (pair,) = block_size["pairs"]
    return next((row for row in pair["rows"] if row["figure"] == "p50"), None)


@dataclasses.dataclass
class Shift:
    """What a delay of `delay_us`, added each way, adds to p50, and by ping to `round_trips` round trips."""
    queue_managers: int
    block_bytes: int
    delay_us: int
    round_trips: int
    p50: Estimate
    ping: Estimate
    comparison: Optional[dict]  # p50_row of plimsoll's own comparison

    @property
    def expected_ms(self):
        """As set: each round trip pays the delay once each way."""
        return 2 * self.round_trips * self.delay_us / 1000

    @property
    def verdict(self):
        low_ms, high_ms = min(self.expected_ms, self.ping.low_ms), max(self.expected_ms, self.ping.high_ms)
        alone = self.queue_managers == 1
        # Several writers may wait for one another while the network delays them: it may show less, never more.
        if self.p50.low_ms > high_ms or (alone and self.p50.high_ms < low_ms):
            return "FAIL"
        # Where no shift at all, or twice as much, would do as well, for the writes or for ping, nothing is proven; nor where
        # ping has less than was set.
        shows = self.ping.low_ms > 0 and self.ping.high_ms >= self.expected_ms and (self.p50.low_ms > 0 or not alone)
        return "PASS" if shows and max(self.p50.high_ms, self.ping.high_ms) < 2 * self.expected_ms else "INCONCLUSIVE"

    def __str__(self):
        return (f"{self.block_bytes // 1024:>3} KiB, {self.queue_managers} QM, + {self.delay_us / 1000:g} ms each way: p50 shifts "
                f"by {self.p50} ms; {self.expected_ms:g} as set, {self.ping} by ping")
