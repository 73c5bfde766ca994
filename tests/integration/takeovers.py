"""What Plimsoll itself adds to a takeover, from a drill's report."""

import statistics

# Grant seen to first durable write, less the replay.
OWN_LIMIT_NS = 500_000_000


def polled_ns(takeover):
    """How long the lock had been free when the standby was granted it: two moments of one host's clock. 0 where it is not known."""
    return takeover["to_granted"]["ns"] - takeover["to_free"]["ns"] if "to_free" in takeover else 0


def assert_little_is_added(test, report, lock_poll_ns, typical=statistics.median):
    """From fault to free lock is the storage's, and the replay the log's. The rest is at most 500 ms, and one polling interval.

    `typical` takes one of several takeovers: `min` where the hosts are emulated and other work slows them down.
    """
    taken = [one for each in report["ha"]["rounds"] for one in each["takeovers"] if one["outcome"] == "taken"]
    test.assertTrue(taken, report["ha"]["rounds"])
    # One takeover may wait for a CPU, or for a slow write of its storage: half of them do not.
    own_ns = typical([one["own"]["ns"] for one in taken])
    test.assertGreater(own_ns, 0)
    test.assertLess(own_ns, OWN_LIMIT_NS, [one["own"] for one in taken])
    # The call that found the lock free and the one that was granted it take time of their own.
    test.assertLess(typical([polled_ns(one) for one in taken]), lock_poll_ns + OWN_LIMIT_NS, taken)
