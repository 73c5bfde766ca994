"""Results that somebody made up: what a journal or a report.json costs grows with its size, not with what it claims."""

import os
import resource
import struct
import subprocess
import zlib

import harness
from protobuf_write import field, packed, signed

SECOND_NS = 10**9
JOURNAL_BYTES = 10 << 10
REPORT_BYTES = 8 << 20
# Some 15 MB are the program itself; journals of that size were seen to take 67 MB at most, and 670 MB without the bounds.
MEMORY_LIMIT_KB = 150 << 10
# Less than a second was seen, and more than a minute without the bounds.
CPU_LIMIT_S = 10


def record(number, body):
    payload = field(1, 1) + field(number, body)
    return struct.pack("<IHHI", len(payload), 2, 0, zlib.crc32(payload)) + payload


def run_begin(steps, step_s, criteria=()):
    step = field(6, field(1, 1) + field(2, step_s * SECOND_NS))
    plan = field(3, b"".join(field(8, criterion) for criterion in criteria))
    return record(2, field(1, "1") + plan + field(5, SECOND_NS) + step * steps)


def host_joined(host, qms=1):
    plan = field(5, field(16, field(1, field(2, qms))))
    return record(3, field(1, host) + field(2, f"h{host}") + plan)


def step_begin(step, hosts):
    return record(6, field(1, step) + field(2, 1) + packed(3, [5] * hosts))


def step_done(host, step=0):
    return record(8, field(1, host) + field(2, field(1, step)))


def bucket_of(value_ns):
    shift = max(value_ns.bit_length() - 11, 0)
    return (shift << 10) + (value_ns >> shift)


def frame(host, qm, interval, latencies_ns):
    """One write of each latency; they are in rising order."""
    buckets = [bucket_of(value) for value in latencies_ns]
    deltas = buckets[:1] + [after - before for before, after in zip(buckets, buckets[1:])]
    latency = (field(1, len(buckets)) + field(2, sum(latencies_ns)) + field(3, latencies_ns[0]) +
               field(4, latencies_ns[-1]) + field(5, packed(1, deltas) + packed(2, [1] * len(buckets))))
    return record(
        7,
        field(1, host) +
        field(2, field(2, qm) + field(3, signed(interval)) + field(4, 1) + field(6, latency) + field(8, len(buckets))))


# A latency in every power of two, each of which takes counters of its own.
EVERY_POWER_NS = [1] + [1 << power for power in range(10, 42)]
TEN_DAYS_S = 864_000


def journals():
    """Names, and the records of journals that once took hundreds of megabytes, or would if a bound went away."""
    yield "steps of ten days without a frame", [
        run_begin(160, TEN_DAYS_S), host_joined(0), *(part for step in range(160)
                                                      for part in (step_begin(step, 1), step_done(0, step)))
    ]
    yield "hosts without a frame", [
        run_begin(1, 40_000), *map(host_joined, range(60)), step_begin(0, 60), *map(step_done, range(60))
    ]
    yield "one late second of each writer", [
        run_begin(1, TEN_DAYS_S), host_joined(0, 4096), step_begin(0, 1),
        *(frame(0, qm, TEN_DAYS_S - 64 * qm, [1]) for qm in range(1, 300))
    ]
    yield "one late second of each host", [
        run_begin(1, TEN_DAYS_S), *(host_joined(host, 4096) for host in range(100)), step_begin(0, 100),
        *(frame(host, 1, TEN_DAYS_S - 64 * host - 1, [1]) for host in range(100))
    ]
    yield "latencies of every size of each writer", [
        run_begin(1, 3600), host_joined(0, 4096), step_begin(0, 1),
        *(frame(0, qm, qm, EVERY_POWER_NS) for qm in range(1, 100))
    ]
    yield "many hosts in many steps with many criteria", [
        run_begin(170, 1, ["iops>1"] * 100), *map(host_joined, range(50)), *(step_begin(step, 50) for step in range(170))
    ]


CLUSTER = ('{"kind":"cluster","measured_ns":1000,"writes":100000,"latency":{"count":100000,"avg_ns":5,"p50_ns":5,'
           '"p99_ns":5,"p99_9_ns":6,"max_ns":9}}')


def report(steps, more=""):
    return f'{{"format":1,"run":{{"id":"1","hosts":1}},"steps":[{",".join(steps)}]{more}}}'


def step(size, scopes=CLUSTER):
    return f'{{"block_size_bytes":{size},"scopes":[{scopes}]}}'


def reports():
    """Names, texts of report.json, and what compare says of them ("": it compares them)."""
    many = REPORT_BYTES // 3
    # As many steps as a run can have: each pair of them was looked at.
    yield "steps of one size", report([step(1, "{}," * 25 + CLUSTER)] * 10_000), ""
    yield "steps of a size each", report([step(1 + i) for i in range(9_999)]), "9,999 block sizes were measured"
    yield "too many steps", report([step(1)] * (REPORT_BYTES // len(step(1)))), "a run has at most 10000"
    for name in ("hosts", "storages", "notes"):
        thing = '""' if name == "notes" else "{}"
        yield name, report([step(1)], f',"{name}":[{",".join([thing] * many)}]'), "more objects and strings"
    yield "scopes", report([step(1, CLUSTER + ",{}" * many)]), "more objects and strings"
    yield "deep", report([step(1)], ',"x":' + "[" * (REPORT_BYTES // 2) + "]" * (REPORT_BYTES // 2)), ""
    yield "the same key", report([step(1)], ',"x":1' * (REPORT_BYTES // 6)), ""


class HostileResults(harness.PlimsollTest):

    def run_bounded(self, *arguments):
        """Runs plimsoll with little CPU time; returns the exit code, what it said, and its largest memory in KB."""
        with open(self.base / "err", "w+b") as err:
            process = subprocess.Popen(
                [harness.binary("plimsoll"), *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=err,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S)))
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            err.seek(0)
            return process.returncode, err.read().decode(), used.ru_maxrss

    def test_a_small_journal_takes_little_memory(self):
        for number, (name, records) in enumerate(journals()):
            with self.subTest(name):
                results = self.base / f"hostile-{number}"
                results.mkdir()
                data = b"PLIMJRNL"
                for each in records:
                    if len(data) + len(each) <= JOURNAL_BYTES:
                        data += each
                (results / "journal").write_bytes(data)
                code, said, memory_kb = self.run_bounded("report", results)
                self.assertEqual((code, said), (3, ""))
                self.assertLess(memory_kb, MEMORY_LIMIT_KB)
                self.assertLess(sum(path.stat().st_size for path in results.iterdir()), 32 << 20)

    def test_a_large_report_takes_little_time(self):
        for name, text, refusal in reports():
            with self.subTest(name):
                sides = [self.base / "a.json", self.base / "b.json"]
                for side in sides:
                    side.write_text(text)
                code, said, _ = self.run_bounded("compare", *sides)
                self.assertEqual(code, 2 if refusal else 0, said)
                self.assertIn(refusal, said)
                self.assertLessEqual(len(said.splitlines()), 1, said)


if __name__ == "__main__":
    harness.main()
