#!/usr/bin/env python3
"""What being watched costs a log write: `plimsoll watch` beside strace and bpftrace, alternating with the program alone.

    watch_cost.py [--dir DIR] [--runs 10] [--writes 20000] [--json]

Each round runs watched_writer alone, under each of the tools, and alone again. A tool's ratio and cost refer to the mean of
the round's two runs alone, whose own ratio shows how much two runs of one program differ. The program writes 4 KiB at
a time with O_DSYNC, to a file in memory (/dev/shm), where little but the call is left, and to one below --dir; and
a byte to a pipe whose answer it waits for, so that the cost of a switch to another thread and back is included.

Tools that cannot be used here are named with the reason. bpftrace needs tracefs and debugfs, which it gets in a mount
namespace of its own where they are not mounted.
"""

import argparse
import pathlib
import shutil
import subprocess

from bench_support import LONG_S, Bench, Table, binary

CALLS = "write,writev,pwrite64,pwritev,pwritev2"
MOUNT = ("mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing; "
         "mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug; exec \"$@\"")


def bpftrace(begin, end):
    """A histogram of the times between two probes of the program's, by thread."""
    script = f"{begin} /pid == cpid/ {{ @begin[tid] = nsecs; }} " \
             f"{end} /@begin[tid]/ {{ @us = hist((nsecs - @begin[tid]) / 1000); delete(@begin[tid]); }}"
    return lambda bench, program: ["unshare", "--mount", "sh", "-c", MOUNT, "sh", "bpftrace", "-e", script, "-c",
                                   " ".join(map(str, program))]


def tools(call):
    """By name: the command that runs the program under the tool."""
    library = pathlib.Path("/proc/self/maps").read_text()
    libc = next(line.split()[-1] for line in library.splitlines() if line.endswith("libc.so.6"))
    return {
        "plimsoll watch": lambda bench, program: [binary("plimsoll"), "watch", "--log-dir", bench.data, "--max-overhead", "100",
                                                  "--duration", LONG_S, "--out", bench.fresh("watched"), "--", *program],
        "bpftrace, tracepoints": bpftrace(f"tracepoint:syscalls:sys_enter_{call}", f"tracepoint:syscalls:sys_exit_{call}"),
        "bpftrace, uprobe and uretprobe": bpftrace(f"uprobe:{libc}:{call}", f"uretprobe:{libc}:{call}"),
        "strace": lambda bench, program: ["strace", "-o", bench.fresh("strace"), "-e", f"trace={CALLS}", *program],
    }


def measure(bench, writes, target, command):
    """What a write of the program takes, in ns, and why it could not be measured; one of both."""
    result = bench.fresh("result")
    program = [binary("watched_writer"), writes, target, result]
    argv = list(map(str, command(bench, program)))
    if shutil.which(argv[0]) is None or ("bpftrace" in argv and shutil.which("bpftrace") is None):
        return None, "not installed"
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=bench.environment,
                          timeout=2 * LONG_S)
    if done.returncode == 0 and result.exists():
        return float(result.read_text()), ""
    return None, (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()[-1]


def compare(bench, options, table, what, target, call):
    """Rows of one kind of write."""
    alone, again, watched, refused = [], [], {}, {}
    for _ in range(options.runs):
        first, why = measure(bench, options.writes, target, lambda _, program: program)
        if first is None:
            raise RuntimeError(f"watched_writer: {why}")
        figures = {}
        for name, command in tools(call).items():
            if name in refused:
                continue
            figures[name], why = measure(bench, options.writes, target, command)
            if figures[name] is None:
                refused[name] = why
        second, _ = measure(bench, options.writes, target, lambda _, program: program)
        alone.append((first + second) / 2)
        again.append(second / first)
        for name, figure in figures.items():
            watched.setdefault(name, []).append(figure)
    table.add(f"{what}: alone", "us", [figure / 1e3 for figure in alone])
    table.add(f"{what}: alone over alone", "ratio", again)
    for name, figures in watched.items():
        if name in refused:
            print(f"{what}: {name}: not measured: {refused[name]}")
            continue
        table.add(f"{what}: {name}", "ratio", [figure / own for figure, own in zip(figures, alone)])
        table.add(f"{what}: {name}", "us more", [(figure - own) / 1e3 for figure, own in zip(figures, alone)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default=None, help="directory on the storage (default: TMPDIR or /tmp)")
    parser.add_argument("--runs", type=int, default=10, help="rounds (default 10)")
    parser.add_argument("--writes", type=int, default=20000, help="writes of a run (default 20000)")
    parser.add_argument("--json", action="store_true", help="print JSON, with every single figure")
    options = parser.parse_args()

    table = Table()
    with Bench("/dev/shm") as bench:
        compare(bench, options, table, "memory", bench.data / "S0000000.LOG", "pwrite64")
        compare(bench, options, table, "with a wait", "pipe", "write")
    with Bench(options.dir) as bench:
        compare(bench, options, table, "storage", bench.data / "S0000000.LOG", "pwrite64")
    table.show(options.json)


if __name__ == "__main__":
    main()
