#!/usr/bin/env python3
"""Compares reads and writes of `plimsoll run --files` with fio's, side by side: alternating runs on the same directory.

    fio_compare.py [--dir DIR] [--runs 5] [--duration 3] [--size 256m]

Every round of a pattern runs fio, plimsoll and fio again, so that a machine whose speed changes changes for all; the
second fio against the first tells how much two runs of one tool differ. Each thread has a range of one file, both take
its blocks in random order once before any again, or in sequence, with one preadv2 or pwritev2 outstanding a thread (fio:
pread64, pwrite64). O_DIRECT where the file system has it.
"""

import argparse
import json
import os
import subprocess

from bench_support import LONG_S, Bench, Table, binary

# Block size, fio's name of the pattern, percentage of reads, and whether the order is random.
PATTERNS = {
    "4k random reads": ("4k", "randread", 100, True),
    "4k random, half reads": ("4k", "randrw", 50, True),
    "1M sequential reads": ("1m", "read", 100, False),
}
THREADS = (1, 8, 64)
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def has_direct(directory):
    """Whether the file system takes O_DIRECT."""
    path = directory / "direct"
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600))
    except OSError:
        return False
    finally:
        path.unlink(missing_ok=True)
    return True


def run_fio(bench, options, pattern, threads):
    block, name, reads, _ = PATTERNS[pattern]
    each = int(options.size[:-1]) * UNITS[options.size[-1].lower()] // threads
    done = subprocess.run(
        ["fio", "--name=fio", f"--filename={bench.data / 'fio'}", "--ioengine=psync", "--thread", f"--numjobs={threads}",
         f"--rw={name}", f"--rwmixread={reads}", f"--bs={block}", f"--size={each}", f"--offset_increment={each}",
         f"--direct={int(options.direct)}", "--time_based", f"--runtime={options.duration}", "--group_reporting",
         "--output-format=json"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=options.duration + LONG_S)
    (job,) = json.loads(done.stdout[done.stdout.index("{"):])["jobs"]
    return job["read"]["iops"] + job["write"]["iops"]


def run_plimsoll(bench, options, pattern, threads):
    block, _, reads, random = PATTERNS[pattern]
    results = bench.fresh("results")
    done = subprocess.run(
        [binary("plimsoll"), "run", "--dir", bench.data, "--files", "plimsoll", "--file-size", options.size, "--qm", str(threads),
         "--bsize", block, "--read-percent", str(reads), "--access", "random" if random else "sequential", "--sync", "none",
         "--direct", "on" if options.direct else "off", "--duration", f"{options.duration}s", "--warmup", "0", "--quiet",
         "--out", results],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=bench.environment,
        timeout=options.duration + LONG_S)
    # 3: a load generator that was held up makes the verdict inconclusive, on a machine of few CPUs.
    if done.returncode not in (0, 3):
        raise SystemExit(done.stderr)
    (step,) = json.loads((results / "report.json").read_text())["steps"]
    iops = 0
    for scope in step["scopes"]:
        if scope["kind"] == "cluster":
            iops += scope["iops"]
    for operation in step.get("operations", []):
        for scope in operation["scopes"]:
            if scope["kind"] == "cluster" and operation["name"] == "read":
                iops += scope["throughput"]["iops"]
    return iops


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default=None, help="directory on the storage (default: TMPDIR or /tmp)")
    parser.add_argument("--runs", type=int, default=5, help="rounds of each pattern (default 5)")
    parser.add_argument("--duration", type=int, default=3, help="whole seconds of a run (default 3)")
    parser.add_argument("--size", default="256m", help="size of the file")
    parser.add_argument("--json", action="store_true", help="print JSON, with every single figure")
    options = parser.parse_args()

    table = Table()
    with Bench(options.dir) as bench:
        options.direct = has_direct(bench.data)
        for pattern in PATTERNS:
            for threads in THREADS:
                rounds = [(run_fio(bench, options, pattern, threads), run_plimsoll(bench, options, pattern, threads),
                           run_fio(bench, options, pattern, threads)) for _ in range(options.runs)]
                what = f"{pattern}, {threads} thread{'s' if threads > 1 else ''}"
                table.add(f"{what}: plimsoll over fio", "ratio",
                          [2 * ours / (first + second) for first, ours, second in rounds])
                table.add(f"{what}: fio over fio, in one round", "ratio", [second / first for first, _, second in rounds])
    table.show(options.json)


if __name__ == "__main__":
    main()
