"""What a network delay adds to the storage's share of a restart, in a lab of one client and one NFS server.

`plimsoll restart-time` measures the same calls without a delay and with delays, in turn. Each call to a queue file is one round trip,
so that a delay each way must add twice itself for each call: 2.4 of them a record, applied one by one, and next to none where
neighbouring pages are merged. Prints the table of docs/restart-time.md.
"""

import argparse
import datetime
import json
import math
import pathlib
import subprocess
import sys

import network
from image import LabError, PROJECT, agent_binaries
from lab import FIRST_NUMBER, MOUNT, SERVER
from study_run import CLIENT, SCRIPT, lab

DIRECTORY = "/mnt/mqlog"
# netem costs an emulated host more than its delay: what a delay is compared with has one, too (study_run.BASE_US).
BASE_US = 1000
WAYS = ("coalesced", "per_record")
EXTENDED = 60_000


class Line:
    """The straight line through points of one slope, whose levels may differ from group to group: a restart without a record may
    take another time in each round, and a delay moves the slope alone."""

    def __init__(self, groups):
        """`groups`: lists of (x, y)."""
        count = sum(map(len, groups))
        products = squares = 0
        for group in groups:
            mean_x, mean_y = (sum(point[i] for point in group) / len(group) for i in (0, 1))
            products += sum((x - mean_x) * (y - mean_y) for x, y in group)
            squares += sum((x - mean_x)**2 for x, _ in group)
        self.slope = products / squares
        rest = 0
        for group in groups:
            mean_x, mean_y = (sum(point[i] for point in group) / len(group) for i in (0, 1))
            rest += sum((y - mean_y - self.slope * (x - mean_x))**2 for x, y in group)
        self.error = math.sqrt(rest / max(1, count - len(groups) - 1) / squares)


def measure(plimsoll, out, delays_us, records, rounds, say=print):
    """Measures in a lab that is up: {delay: {way: Line}}, in seconds a record."""
    points = {delay: {way: [] for way in WAYS} for delay in delays_us}
    for number in range(1, rounds + 1):
        # Every other round goes the other way, so that what grows with time does not look like the larger delay's.
        for delay in delays_us[::1 if number % 2 else -1]:
            lab("netem", CLIENT, SERVER, f"{BASE_US + delay}us", "--net", "storage")
            results = out / f"{number:02}-{delay}us"
            say(f"measuring {results.name}")
            done = subprocess.run(
                [SCRIPT, "run", plimsoll, "restart-time", "--quiet", "--hosts", network.address("control", FIRST_NUMBER), "--dir",
                 DIRECTORY, "--records", ",".join(map(str, records)), "--rounds", "1", "--out", results],
                capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise LabError(f"plimsoll restart-time ended with {done.returncode}: {done.stderr.strip()}")
            measured = json.loads((results / "report.json").read_text())["restart_time"]["measurements"]
            for way in WAYS:
                points[delay][way].append([(one["records"], one["seconds"]) for one in measured if one["way"] == way])
    return {delay: {way: Line(groups) for way, groups in ways.items()} for delay, ways in points.items()}


def shift(lines, way, delay_us):
    """By how many round trips a record the delay moved the slope, and the standard error of that."""
    with_delay, without = lines[delay_us][way], lines[0][way]
    trip_s = 2 * delay_us / 1e6
    return (with_delay.slope - without.slope) / trip_s, math.hypot(with_delay.error, without.error) / trip_s


def table(lines):
    yield "| added each way | per record, coalesced | for 60,000 | per record, one by one | for 60,000 | round trips a record that it adds |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for delay, ways in lines.items():
        cells = [f"{delay / 1000:g} ms"]
        for way in WAYS:
            cells += [f"{ways[way].slope * 1000:.3f} ms", f"{ways[way].slope * EXTENDED:.0f} s"]
        trips, error = shift(lines, "per_record", delay) if delay > 0 else (0, 0)
        yield "| " + " | ".join([*cells, f"{trips:.2f} ± {2 * error:.2f}" if delay > 0 else ""]) + " |"


def main():
    parser = argparse.ArgumentParser(prog="scripts/restart-study", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", help="results (build/restart-study/<UTC time>)")
    parser.add_argument("--delays-us", default="500,1000", metavar="LIST", help="added each way (500,1000)")
    parser.add_argument("--records", default="50,100,200", metavar="LIST", help="(50,100,200)")
    parser.add_argument("--rounds", type=int, default=4, metavar="N", help="(4)")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        raise LabError(f"--rounds {arguments.rounds}: 1 or more")
    out = arguments.out or PROJECT / "build" / "restart-study" / f"{datetime.datetime.now(datetime.timezone.utc):%Y%m%dT%H%M%SZ}"
    out.mkdir(parents=True)
    delays = [0, *map(int, arguments.delays_us.split(","))]
    begun = datetime.datetime.now()
    lab("up", "--hosts", "1", "--nfs", "--pin", timeout_s=900)
    try:
        lines = measure(agent_binaries() / "plimsoll", out, delays, list(map(int, arguments.records.split(","))), arguments.rounds,
                        say=lambda text: print(text, flush=True))
    finally:
        lab("down")
    text = "\n".join(table(lines)) + "\n"
    (out / "table.md").write_text(text)
    print(f"\nNFS ({MOUNT}), with {BASE_US / 1000:g} ms each way already there:\n\n{text}\n"
          f"results: {out}; all of it took {(datetime.datetime.now() - begun).seconds} s")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (LabError, OSError, ValueError, subprocess.SubprocessError) as error:
        print(f"scripts/restart-study: {error}", file=sys.stderr)
        sys.exit(2)
