#!/usr/bin/env python3
"""Compares reads and writes of `plimsoll run --files` with fio's, side by side: alternating runs on the same file.

    fio_compare.py [--dir DIR] [--runs 5] [--duration 3] [--size 256m]

Every round of a pattern runs fio, plimsoll and fio again, so that a machine whose speed changes changes for all; the
second fio against the first tells how much two runs of one tool differ. Each thread has a range of the file, which fio
has written before; both tools take its blocks in random order once before any again, or in sequence, with one preadv2 or
pwritev2 outstanding a thread (fio: pread64, pwrite64). O_DIRECT where the file system has it.

IO/s are the bytes that the kernel counts of the process in the middle of its run (/proc/PID/io). What the tools report
is beside it: fio adds up what each thread did in a time of its own, so that its sum is too high where threads start one
after another, as they do where there are fewer CPUs.

Both tools get buffers on huge pages, from glibc's malloc. On pages of 4 KiB, O_DIRECT passes a block of 1 MiB to the
device in 2 to 256 pieces, depending on where the kernel found memory for the process: virtual disks need up to twice as
long for 256 pieces as for one, and two runs of one tool differ as much. --small-pages leaves the pages to chance.
"""

import argparse
import json
import os
import pathlib
import subprocess
import time

from bench_support import LONG_S, Bench, Table, binary, wait_until

# Block size, fio's name of the pattern, percentage of reads, and whether the order is random.
PATTERNS = {
    "4k random reads": ("4k", "randread", 100, True),
    "4k random, half reads": ("4k", "randrw", 50, True),
    "1M sequential reads": ("1m", "read", 100, False),
}
THREADS = (1, 8, 64)
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
# Every thread allocates from an arena of its own, which begins with 16 MiB of huge pages.
HUGE_PAGES = ("glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=1073741824:glibc.malloc.top_pad=16777216:"
              "glibc.malloc.arena_max=256")


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


class Figures:
    """IO/s of one run: as the kernel counts them, and as the tool reports them."""

    def __init__(self, counted, reported):
        self.counted = counted
        self.reported = reported


def bytes_done(pid):
    """What the process has read and written, or 0 where it has not begun or has ended."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/io").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    values = dict(line.split(": ") for line in lines)
    return int(values["rchar"]) + int(values["wchar"])


def child_named(parent, name):
    """The child of that process with that name; None where there is none yet."""
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, rest = path.read_text(errors="replace").rpartition(") ")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if head.partition("(")[2] == name and int(rest.split()[1]) == parent:
            return int(path.parent.name)
    return None


def measure(bench, options, block, argv, worker=None):
    """Runs the program, and counts what it, or its child of the name `worker`, reads and writes in the middle of its run.
    Returns IO/s, the exit code, and what it printed."""
    # A session of its own, as plimsoll's agent has: the kernel shares CPUs among sessions.
    with subprocess.Popen(list(map(str, argv)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=bench.environment, start_new_session=True) as process:

        def ended():
            return process.poll() is not None

        try:
            pid = process.pid
            if worker:
                pid = wait_until(lambda: child_named(process.pid, worker) or ended(), f"a {worker}")
            # More than a program reads before it begins.
            begun = 8 * max(block, UNITS["m"] // 8)
            wait_until(lambda: bytes_done(pid) > begun or ended(), "reads and writes")
            time.sleep(options.duration / 5)
            first_s, first = time.monotonic(), bytes_done(pid)
            time.sleep(options.duration / 2)
            last_s, last = time.monotonic(), bytes_done(pid)
            out, err = process.communicate(timeout=options.duration + LONG_S)
        finally:
            if process.poll() is None:
                process.kill()
    if process.returncode in (0, 3) and last <= first:
        raise SystemExit(f"{argv[0]} ended before it was measured: use a longer --duration")
    return (last - first) / (last_s - first_s) / block, process.returncode, out, err


def bytes_of(size):
    return int(size[:-1]) * UNITS[size[-1].lower()]


def fio_line(bench, options, pattern, threads):
    block, name, reads, _ = PATTERNS[pattern]
    each = bytes_of(options.size) // threads
    return ["fio", "--name=fio", f"--filename={bench.data / 'file'}", "--ioengine=psync", "--thread", f"--numjobs={threads}",
            f"--rw={name}", f"--rwmixread={reads}", f"--bs={block}", f"--size={each}", f"--offset_increment={each}",
            f"--direct={int(options.direct)}", "--time_based", f"--runtime={options.duration}", "--group_reporting",
            "--output-format=json"]


def run_fio(bench, options, pattern, threads):
    counted, code, out, err = measure(bench, options, bytes_of(PATTERNS[pattern][0]), fio_line(bench, options, pattern, threads))
    if code:
        raise SystemExit(err)
    (job,) = json.loads(out[out.index("{"):])["jobs"]
    return Figures(counted, job["read"]["iops"] + job["write"]["iops"])


def run_plimsoll(bench, options, pattern, threads):
    block, _, reads, random = PATTERNS[pattern]
    results = bench.fresh("results")
    argv = [binary("plimsoll"), "run", "--files", bench.data / "file", "--qm", threads, "--bsize", block, "--read-percent", reads,
            "--access", "random" if random else "sequential", "--sync", "none", "--direct", "on" if options.direct else "off",
            "--duration", f"{options.duration}s", "--warmup", "0", "--quiet", "--out", results]
    if reads < 100:
        argv.append("--overwrite")
    counted, code, _, err = measure(bench, options, bytes_of(block), argv, "plimsoll-agent")
    # 3: a load generator that was held up makes the verdict inconclusive, on a machine of few CPUs.
    if code not in (0, 3):
        raise SystemExit(err)
    (step,) = json.loads((results / "report.json").read_text())["steps"]
    iops = 0
    for scope in step["scopes"]:
        if scope["kind"] == "cluster":
            iops += scope["iops"]
    for operation in step.get("operations", []):
        for scope in operation["scopes"]:
            if scope["kind"] == "cluster" and operation["name"] == "read":
                iops += scope["throughput"]["iops"]
    return Figures(counted, iops)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default=None, help="directory on the storage (default: TMPDIR or /tmp)")
    parser.add_argument("--runs", type=int, default=5, help="rounds of each pattern (default 5)")
    parser.add_argument("--duration", type=int, default=3, help="whole seconds of a run (default 3)")
    parser.add_argument("--size", default="256m", help="size of the file")
    parser.add_argument("--small-pages", action="store_true", help="leave the pages below the buffers to chance")
    parser.add_argument("--json", action="store_true", help="print JSON, with every single figure")
    options = parser.parse_args()

    table = Table()
    with Bench(options.dir) as bench:
        options.direct = has_direct(bench.data)
        if not options.small_pages:
            bench.environment["GLIBC_TUNABLES"] = HUGE_PAGES
        # Lays out the file.
        subprocess.run([*fio_line(bench, options, "1M sequential reads", 1), "--create_only=1"], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, check=True, timeout=LONG_S)
        for pattern in PATTERNS:
            for threads in THREADS:
                rounds = [(run_fio(bench, options, pattern, threads), run_plimsoll(bench, options, pattern, threads),
                           run_fio(bench, options, pattern, threads)) for _ in range(options.runs)]
                what = f"{pattern}, {threads} thread{'s' if threads > 1 else ''}"
                table.add(f"{what}: plimsoll over fio", "ratio",
                          [2 * ours.counted / (first.counted + second.counted) for first, ours, second in rounds])
                table.add(f"{what}: fio over fio, in one round", "ratio",
                          [second.counted / first.counted for first, _, second in rounds])
                table.add(f"{what}: plimsoll, reported over counted", "ratio",
                          [ours.reported / ours.counted for _, ours, _ in rounds])
                table.add(f"{what}: fio, reported over counted", "ratio",
                          [fio.reported / fio.counted for first, _, second in rounds for fio in (first, second)])
    table.show(options.json)


if __name__ == "__main__":
    main()
