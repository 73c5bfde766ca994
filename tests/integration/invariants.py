"""Checks each report for contradictions, however its run ended."""

PERCENTILES = ["p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "p99_99_ns"]


def _name(scope):
    return tuple(scope[key] for key in ("kind", "host", "qm", "storage"))


class _Check:
    """Collects what does not hold, so that one look shows all of it."""

    def __init__(self):
        self.broken = []

    def that(self, holds, *what):
        if not holds:
            self.broken.append(" ".join(map(str, what)))

    def equal(self, left, right, *what):
        self.that(left == right, *what, f"({left} and {right})")


def _check_latency(check, latency, where):
    """Percentiles rise between minimum and maximum; average, sum and count agree; operations that were measured took time."""
    values = [latency[name] for name in PERCENTILES]
    check.equal(values, sorted(values), where, "percentiles rise")
    check.that(values[-1] <= latency["max_ns"], where, "no percentile is above the maximum", latency)
    if latency["count"] == 0:
        return
    check.that(latency["sum_ns"] > 0 and latency["max_ns"] > 0, where, "what was measured took time", latency)
    check.that(latency["min_ns"] <= latency["avg_ns"] <= latency["max_ns"], where, "min <= avg <= max", latency)
    check.that(latency["min_ns"] <= values[0], where, "min <= p50", latency)
    check.that(abs(latency["avg_ns"] * latency["count"] - latency["sum_ns"]) <= 1 + 1e-9 * latency["sum_ns"], where,
               "average times count is the sum", latency)


def _check_scope(check, scope, block_size_bytes, where, sizes=(), reads=None):
    """`reads`: those beside the scope's writes, whose number of operations that were not issued is that of both."""
    latency = scope["latency"]
    closing = scope["closing"]
    check.equal(latency["count"], scope["writes"] + closing["writes"], where, "every write has its latency")
    # Queue managers of a placement have block sizes of their own: wider scopes are sums of theirs, which is checked there.
    if block_size_bytes > 0:
        check.equal(scope["bytes"], scope["writes"] * block_size_bytes, where, "bytes are writes times block size")
        check.equal(closing["bytes"], closing["writes"] * block_size_bytes, where,
                    "closing bytes are writes times block size")
    elif sizes:
        # The blocks of a mix have one of its sizes.
        for part, name in ((scope, "bytes"), (closing, "closing bytes")):
            check.that(min(sizes) * part["writes"] <= part["bytes"] <= max(sizes) * part["writes"], where, name, "fit the mix")
    check.that(closing["latency_max_ns"] <= latency["max_ns"], where, "closing writes are among the latencies", closing)
    rate = scope.get("rate")
    if rate is not None:
        both = [scope | {"response": rate["response"]}] + ([reads] if reads is not None else [])
        check.equal(sum(one["response"]["count"] for one in both), sum(one["latency"]["count"] for one in both) + rate["unserved"], where,
                    "every write, and every read beside them, has its response time")
    _check_latency(check, latency, where)
    if latency["count"] == 0:
        check.that("slowest" not in scope, where, "no write, no slowest one")
        return
    check.equal(scope["slowest"]["latency_ns"], latency["max_ns"], where, "the slowest write has the largest latency")
    if scope["measured_ns"] > 0:
        iops = scope["writes"] * 1e9 / scope["measured_ns"]
        check.that(abs(scope["iops"] - iops) <= 1e-6 * iops, where, "IO/s are writes over time", scope["iops"], iops)
    bandwidth = scope["bandwidth"]
    if bandwidth["seconds"] > 0:
        check.that(
            bandwidth["min_bytes_per_second"] <= bandwidth["avg_bytes_per_second"] + 1e-6
            and bandwidth["avg_bytes_per_second"] <= bandwidth["max_bytes_per_second"] + 1e-6, where,
            "bandwidth: min <= avg <= max", bandwidth)


def _check_sum(check, whole, parts, where):
    """`whole` is the sum of `parts`, exactly."""
    for what, value in (("writes", lambda scope: scope["writes"]), ("bytes", lambda scope: scope["bytes"]),
                        ("closing writes", lambda scope: scope["closing"]["writes"]),
                        ("latency sums", lambda scope: scope["latency"]["sum_ns"]),
                        ("warm-up writes", lambda scope: scope["warmup_writes"]),
                        ("times between", lambda scope: scope["time_between_writes_ns"])):
        check.equal(value(whole), sum(map(value, parts)), where, what, "are the sum of the parts")
    written = [part for part in parts if part["latency"]["count"] > 0]
    if not written:
        return
    check.equal(whole["latency"]["max_ns"], max(part["latency"]["max_ns"] for part in written), where, "largest")
    check.equal(whole["latency"]["min_ns"], min(part["latency"]["min_ns"] for part in written), where, "smallest")


def _check_series(check, scope, series, where, by_minute):
    lengths = {name: len(series[name]) for name in ("second", "writes", "bytes", "latency_sum_ns", "latency_max_ns",
                                                    "p50_ns", "p99_ns", "p99_9_ns")}
    check.equal(len(set(lengths.values())), 1, where, "series of one length", lengths)
    check.equal(series["second"], sorted(set(series["second"])), where, "seconds rise")
    closing = {row["row"] for row in series["irregular"] if row["closing"]}
    for column in ("writes", "bytes"):
        within = sum(value for row, value in enumerate(series[column]) if row not in closing)
        check.equal(within, scope[column], where, "seconds add up to the", column)
        check.equal(sum(series[column]) - within, scope["closing"][column], where, "the closing row has the other", column)
    check.equal(sum(series["latency_sum_ns"]), scope["latency"]["sum_ns"], where, "seconds add up to the latency")
    check.equal(max(series["latency_max_ns"], default=0), scope["latency"]["max_ns"], where, "largest of all seconds")
    if by_minute:
        return
    irregular = {row["row"] for row in series["irregular"]}
    regular = [series["bytes"][row] for row in range(len(series["bytes"])) if row not in irregular]
    bandwidth = scope["bandwidth"]
    if not scope.get("data_until") and bandwidth["averaged_seconds"] == 0 and 0 < bandwidth["seconds"] == len(regular):
        check.equal(bandwidth["max_bytes_per_second"], max(regular), where, "best second")
        check.equal(bandwidth["min_bytes_per_second"], min(regular), where, "worst second")


def _check_distributions(check, step, scopes, where):
    """Histograms hold every write of their scope, and the hosts' add up to the cluster's."""
    buckets = {}
    for one in step["distributions"]:
        scope = scopes[(one["kind"], one["host"], 0, one["storage"])]
        check.equal(sum(one["count"]), scope["latency"]["count"], where, one["kind"], one["host"], "distribution")
        check.equal(one["from_ns"], sorted(set(one["from_ns"])), where, "buckets rise")
        total = buckets.setdefault(one["kind"], {})
        for from_ns, count in zip(one["from_ns"], one["count"]):
            total[from_ns] = total.get(from_ns, 0) + count
    check.equal(buckets["host"], buckets["cluster"], where, "distributions of hosts add up to the cluster's")


def _check_seconds(check, step, series, where):
    """The distribution of each second, or minute, holds the writes of that row."""
    seconds = step.get("minute_distributions" if "whole_seconds" in step else "seconds")
    if seconds is None:
        return
    special = {row["row"] for row in series["irregular"] if row["coalesced"] or row["closing"]}
    writes = {series["second"][row]: series["writes"][row] for row in range(len(series["second"])) if row not in special}
    begin = 0
    for second, buckets in zip(seconds["second"], seconds["buckets"]):
        check.equal(sum(seconds["count"][begin:begin + buckets]), writes.get(second), where, "second", second)
        begin += buckets
    check.equal(begin, len(seconds["bucket"]), where, "every bucket belongs to a second")


def _closing_ns(series):
    return sum(row["length_ns"] for row in series["irregular"] if row["closing"])


def _in_flight_ns(report, step, scope):
    """How long a watched program's write had been in flight at the end; a run waits for its writes."""
    if "watch" not in report:
        return 0
    return sum(one["age_ns"] for one in step["in_flight"] if (one["host"], one["qm"]) == (scope["host"], scope["qm"]))


def _check_time(check, scope, series, where, mixed, in_flight_ns):
    """A writer's time in its writes and between them is the time that passed. `mixed`: it reads between them, and the
    operation in flight at the end may have been a read, whose length the report does not have."""
    passed_ns = scope["measured_ns"] + _closing_ns(series) - in_flight_ns
    accounted_ns = scope["latency"]["sum_ns"] + scope["time_between_writes_ns"]
    if not mixed:
        check.that(abs(accounted_ns - passed_ns) <= 0.01 * passed_ns, where, "average x count + time between = duration:",
                   accounted_ns, "of", passed_ns)
    else:
        check.that(accounted_ns >= 0.99 * passed_ns, where, "average x count + time between >= duration:", accounted_ns,
                   "of", passed_ns)
    check.that(99 <= scope["accounted_percent"] <= 101, where, "accounted", scope["accounted_percent"])


def _reads_and_writes(report):
    return 0 < report["plan"].get("read_percent", 0) < 100


def _check_reads(check, step, reads, scopes, where):
    """The reads (or commits) of hosts and of the cluster are the sums of their queue managers', and their rates those of their
    counts."""
    of_kind = {kind: [one for one in reads["scopes"] if one["kind"] == kind] for kind in ("qm", "host", "cluster")}
    wholes = [(host, [qm for qm in of_kind["qm"] if qm["host"] == host["host"]]) for host in of_kind["host"]]
    wholes += [(cluster, of_kind["host"]) for cluster in of_kind["cluster"]]
    for whole, parts in wholes:
        for what, value in (("reads", lambda scope: scope["throughput"]["count"]),
                            ("bytes", lambda scope: scope["throughput"]["bytes"]),
                            ("latency sums", lambda scope: scope["latency"]["sum_ns"])):
            check.equal(value(whole), sum(map(value, parts)), where, what, "of the reads are the sum of the parts")
    for own in reads["scopes"]:
        throughput = own["throughput"]
        _check_latency(check, own["latency"], where + " reads:")
        check.that(throughput["count"] <= own["latency"]["count"], where, "every read has its latency", own)
        if step["block_size_bytes"] > 0:
            check.equal(throughput["bytes"], throughput["count"] * step["block_size_bytes"], where, "bytes of the reads")
        scope = scopes.get(_name(own))
        if scope is not None and scope["measured_ns"] > 0:
            iops = throughput["count"] * 1e9 / scope["measured_ns"]
            check.that(abs(throughput["iops"] - iops) <= 1e-6 * iops, where, "IO/s of the reads", throughput["iops"], iops)


def _one_pass(report):
    """Whether each writer ends when it has taken its blocks once: the step's length is only a limit."""
    return any(host.get("workload", {}).get("one_pass") for host in report["hosts"])


def _pass_blocks(report, number, block_bytes):
    """How many blocks host `number` takes in a pass over files of the plan's size. Threads have whole blocks of the largest
    size, of which every size of a test is a part."""
    workload = report["hosts"][number]["workload"]
    largest_bytes = max(int(size) for size in report["plan"]["block_size_bytes"])
    begin, end = 0, workload["file_size_bytes"] // largest_bytes
    if workload["share"] == "ranges":
        hosts = len(report["hosts"])
        begin, end = end * number // hosts, end * (number + 1) // hosts
    return min(len(workload["files"]), workload["qm"]) * (end - begin) * (largest_bytes // block_bytes)


def _check_pass(check, report, step):
    """A pass that was not cut short took each block of each host's part of the files once. One that its limit ended decides
    nothing."""
    if step["cut_short"] != "":
        outcome = report["verdict"]["outcome"]
        check.that(outcome not in ("pass", "done"), "step", step["number"], "did not finish its pass, and the run is", outcome)
        return
    labels = [host["label"] for host in report["hosts"]]
    reads = {_name(scope): scope for one in step.get("operations", []) if one["name"] == "read" for scope in one["scopes"]}
    for scope in step["scopes"]:
        if scope["kind"] != "host" or "data_until" in scope:
            continue
        where = f"step {step['number']}, {scope['host']}, one pass:"
        number = labels.index(scope["host"])
        done, size = scope["writes"], scope["bytes"]
        if (own := reads.get(_name(scope))) is not None:
            check.equal(own["throughput"]["count"], own["latency"]["count"], where, "reads after the last operation of the pass")
            done, size = done + own["throughput"]["count"], size + own["throughput"]["bytes"]
        check.equal(size, done * step["block_size_bytes"], where, "bytes are operations times block size")
        # Without a size in the plan, files are used as they are found: path_files.py compares with their sizes.
        if "file_size_bytes" in report["hosts"][number]["workload"]:
            check.equal(done, _pass_blocks(report, number, step["block_size_bytes"]), where, "each block once")


def _mixed_sizes(report):
    """The sizes of the plan's mix, as numbers, or the smallest and the largest one of simulated clients; empty without either."""
    if "group_commit" in report["plan"]:
        return [4096, 4096 * int(report["plan"]["group_commit"]["log_buffer_pages"])]
    return [int(size) for size in report["plan"]["block_size_bytes"]] if "block_size_mix" in report["plan"] else []


def _block_size_bytes(report, step, scope):
    if step["block_size_bytes"] > 0 or scope["kind"] != "qm" or "block_size_mix" in report["plan"] or "group_commit" in report["plan"]:
        return step["block_size_bytes"]
    (host,) = [host for host in report["hosts"] if host["label"] == scope["host"]]
    return host["queue_managers"][scope["qm"] - 1]["block_size_bytes"]


def _check_step(check, report, step):
    scopes = {_name(scope): scope for scope in step["scopes"]}
    check.equal(len(scopes), len(step["scopes"]), "step", step["number"], "names each scope once")
    # In a step of more than an hour, only the minutes cover the whole step for each scope.
    by_minute = "whole_seconds" in step
    series = {_name(one): one for one in step["minutes" if by_minute else "series"]}
    check.equal(list(series), list(scopes), "step", step["number"], "has series for its scopes, in their order")
    of_kind = {kind: [scope for scope in step["scopes"] if scope["kind"] == kind]
               for kind in ("qm", "host", "storage", "cluster")}
    reads = {_name(scope): scope for one in step.get("operations", []) if one["name"] == "read" for scope in one["scopes"]}
    for name, scope in scopes.items():
        where = f"step {step['number']}, {name}:"
        _check_scope(check, scope, _block_size_bytes(report, step, scope), where, _mixed_sizes(report), reads.get(name))
        if name in series:
            _check_series(check, scope, series[name], where, by_minute)
            if scope["kind"] == "qm" and step["cut_short"] == "" and "data_until" not in scope:
                if _one_pass(report):
                    check.that(scope["measured_ns"] <= step["duration_ns"], where, "measured no longer than the limit")
                    check.equal(scope["closing"]["writes"], 0, where, "writes after the last one of the pass")
                else:
                    check.equal(scope["measured_ns"], step["duration_ns"], where, "measured as long as asked")
                    _check_time(check, scope, series[name], where, _reads_and_writes(report),
                                _in_flight_ns(report, step, scope))
        if scope["kind"] == "host":
            _check_sum(check, scope, [qm for qm in of_kind["qm"] if qm["host"] == scope["host"]], where)
    if _one_pass(report):
        _check_pass(check, report, step)
    for operation in step.get("operations", []):
        if operation["name"] in ("read", "commit"):
            _check_reads(check, step, operation, scopes, f"step {step['number']}:")
    _check_distributions(check, step, scopes, f"step {step['number']}:")
    _check_seconds(check, step, series[_name(of_kind["cluster"][0])], f"step {step['number']}:")
    _check_sum(check, of_kind["cluster"][0], of_kind["host"], f"step {step['number']}, cluster:")
    for storage in report["storages"]:
        for scope in of_kind["storage"]:
            if scope["storage"] == storage["number"]:
                hosts = [host for host in of_kind["host"] if host["host"] in storage["hosts"]]
                _check_sum(check, scope, hosts, f"step {step['number']}, storage {storage['number']}:")


def _check_stalls(check, step):
    where = f"step {step['number']}, stalls:"
    slowest = step["slowest"]
    latencies = [write["latency_ns"] for write in slowest]
    check.equal(latencies, sorted(latencies, reverse=True), where, "the slowest write is the first")
    (cluster,) = [scope for scope in step["scopes"] if scope["kind"] == "cluster"]
    check.equal(len(slowest), min(cluster["latency"]["count"], 10), where, "ten slowest writes, or as many as there are")
    if slowest:
        check.equal(slowest[0], cluster["slowest"], where, "the cluster's slowest write leads")
    stalls = step["stalls"]
    check.equal(sum(one["count"] for one in stalls["classes"]), stalls["count"], where, "each has a class")
    check.equal(len(stalls["stalls"]), min(stalls["count"], 100), where, "the longest are listed")
    offsets = [stall["offset_ns"] for stall in stalls["stalls"]]
    check.equal(offsets, sorted(offsets), where, "in the order of time")
    for stall in stalls["stalls"]:
        check.that(not set(stall["hosts"]) & set(stall["others"]), where, "no host is both affected and unaffected", stall)
        check.that(stall["writers_count"] >= len(stall["writers"]) > 0, where, "a stall has a writer", stall)
        for writer in stall["writers"]:
            check.that(writer["host"] in stall["hosts"], where, "the host of a stalled writer is among the affected ones", stall)
            check.that(0 <= writer["in_flight_ns"] <= writer["length_ns"] <= stall["length_ns"], where, "times", stall)
            check.that(0 <= writer["paused_ns"] <= writer["length_ns"], where, "times", stall)


def check(report, reports_stalls=True):
    """Raises an AssertionError that names all that does not hold. `reports_stalls`: false for journals of agents that did
    not tell of stalls and slow writes yet."""
    collected = _Check()
    for step in report["steps"]:
        _check_step(collected, report, step)
        if reports_stalls:
            _check_stalls(collected, step)
    if collected.broken:
        raise AssertionError("the report contradicts itself:\n" + "\n".join(collected.broken[:20]))
