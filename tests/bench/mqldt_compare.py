#!/usr/bin/env python3
"""Compares `plimsoll mqldt` with mqldt, side by side: alternating runs with the same options on the same directory.

    mqldt_compare.py --mqldt PATH [--dir DIR] [--runs 10] [--duration 5] [--bsize 4K] [--file-size 16m] [--num-files 3] [--qm 1]

PATH is an mqldt that you have built. Every round runs mqldt, plimsoll and mqldt again, so that a machine whose speed
changes changes for all; the second mqldt against the first tells how much two runs of one tool differ. Both write the same CSV,
and both are read by the same lines here.

For each tool also: the average latency that it prints, over time divided by count. A tool with one write outstanding
spends its time in writes, but for the little between them: the two must agree within that.
"""

import argparse
import csv
import pathlib
import shutil
import subprocess

from bench_support import LONG_S, Bench, Table, binary

UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def size_bytes(text):
    """mqldt takes a file's size in bytes only."""
    return int(text[:-1]) * UNITS[text[-1].lower()] if text[-1].lower() in UNITS else int(text)


def measure(bench, options, program, *more):
    """IO/s, and the average latency that it prints over the one that follows from time and count."""
    place = bench.base / "mqldt"
    names = [place.with_name(f"mqldt{number}") for number in range(1, options.qm + 1)] if options.qm > 1 else [place]
    for name in names:
        name.mkdir()
    table = bench.fresh("mqldt.csv")
    try:
        subprocess.run([*program, f"--dir={place}", f"--bsize={options.bsize}", f"--fileSize={size_bytes(options.file_size)}",
                        f"--numFiles={options.num_files}", f"--duration={options.duration}", f"--qm={options.qm}",
                        f"--csvFile={table}", *more],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
                       env=bench.environment, timeout=options.duration + LONG_S)
        # Several queue managers have a line of their own above the heading.
        heading, values = list(csv.reader(table.read_text(encoding="ascii").splitlines()))[-2:]
        row = {name.strip(): value for name, value in zip(heading, values)}
    finally:
        for name in names:
            shutil.rmtree(name)
    writes = int(row["Total writes to files"])
    return writes / options.duration, int(row["Avg latency of write (ns)"]) * writes / options.qm / (options.duration * 1e9)


def run_mqldt(bench, options):
    return measure(bench, options, [options.mqldt])


def run_plimsoll(bench, options):
    return measure(bench, options, [binary("plimsoll"), "mqldt"], f"--out={bench.fresh('results')}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mqldt", required=True, type=pathlib.Path, help="the mqldt to compare with")
    parser.add_argument("--dir", default=None, help="directory on the storage (default: TMPDIR or /tmp)")
    parser.add_argument("--runs", type=int, default=10, help="rounds (default 10)")
    parser.add_argument("--duration", type=int, default=5, help="whole seconds of a run (default 5)")
    parser.add_argument("--bsize", default="4K")
    parser.add_argument("--file-size", default="16m")
    parser.add_argument("--num-files", type=int, default=3)
    parser.add_argument("--qm", type=int, default=1, help="queue managers (default 1)")
    parser.add_argument("--json", action="store_true", help="print JSON, with every single figure")
    options = parser.parse_args()
    options.mqldt = options.mqldt.resolve()

    rounds = []
    with Bench(options.dir) as bench:
        for _ in range(options.runs):
            rounds.append((run_mqldt(bench, options), run_plimsoll(bench, options), run_mqldt(bench, options)))
    table = Table()
    table.add("mqldt", "IO/s", [first[0] for first, _, _ in rounds])
    table.add("plimsoll", "IO/s", [ours[0] for _, ours, _ in rounds])
    table.add("plimsoll over mqldt (mean of the round's two)", "ratio",
              [2 * ours[0] / (first[0] + second[0]) for first, ours, second in rounds])
    table.add("mqldt over mqldt, in one round", "ratio", [second[0] / first[0] for first, _, second in rounds])
    table.add("plimsoll: printed average x writes over time", "ratio", [ours[1] for _, ours, _ in rounds])
    table.add("mqldt: printed average x writes over time", "ratio",
              [run[1] for first, _, second in rounds for run in (first, second)])
    table.show(options.json)


if __name__ == "__main__":
    main()
