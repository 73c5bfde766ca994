"""An HA drill on emulated hosts, its report, and one of its rounds as a timeline: scripts/ha-demo."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import ha_plan
import network
from image import LabError, agent_binaries
from lab import Lab, NAMESPACE

WIDTH = 60


def timeline(report, number):
    """Lines that draw a round: what happened when, in seconds after the fault, and a lane for each host."""
    each = report["ha"]["rounds"][number - 1]
    takeover = each["takeovers"][0]
    s = {name: takeover[name]["ns"] / 1e9 for name in ("gap", "to_granted", "to_replayed", "to_first_write", "takeover")}
    first = s["takeover"]
    moments = [
        (first - s["gap"], takeover["old_host"], f"last acknowledged write, block {takeover['acknowledged']:,}"),
        (0.0, takeover["old_host"], f"the fault: {each['fault']}"),
        (s["to_granted"], takeover["new_host"], "the lock is granted"),
        (s["to_granted"] + s["to_replayed"], takeover["new_host"],
         f"{takeover['replayed_pages']:,} pages of log read, up to block {takeover['replayed']:,}"),
        (first, takeover["new_host"], "first new durable write"),
    ]
    if "to_free" in takeover:
        moments.append((takeover["to_free"]["ns"] / 1e9, takeover["new_host"], "the lock is free, as the poller sees it"))
    yield f"Round {number}, {each['fault']} of {each['host']}, in seconds after the fault"
    for at, host, what in sorted(moments, key=lambda moment: moment[0]):
        yield f"  {at:9.3f}  {host}  {what}"
    begin, end = -first * 0.15, first * 1.15

    def column(at):
        return max(0, min(WIDTH, round((at - begin) / (end - begin) * WIDTH)))

    fault, granted, written = column(0), column(s["to_granted"]), column(first)
    yield ""
    yield f"  {takeover['old_host']}  " + "=" * fault + "X"
    yield f"  {takeover['new_host']}  " + "." * granted + "r" * max(1, written - granted) + "=" * (WIDTH - max(written, granted + 1))
    yield "  = writes   X fault   . waits for the lock   r reads the log"


def main():
    parser = argparse.ArgumentParser(prog="scripts/ha-demo", description=__doc__)
    parser.add_argument("--fault", default="switch,kill,freeze", metavar="FAULT,...", help=f"of switch, kill, hang, "
                        f"{', '.join(ha_plan.COMMANDS)} (switch,kill,freeze)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="(3)")
    parser.add_argument("--fence", choices=("extents", "none"), default="extents", help="what the active locks besides (extents)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("plimsoll-results/ha-demo"), metavar="DIR",
                        help="for plan and results; must not be there yet (plimsoll-results/ha-demo)")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        raise LabError("the lab makes network namespaces and devices: run it as root")
    if arguments.out.exists():
        raise LabError(f"{arguments.out} is there already: remove it, or pass another --out")
    begun = time.monotonic()
    programs, lab = agent_binaries(), Lab()
    print(f"booting two hosts and a storage server, after {time.monotonic() - begun:.0f} s", flush=True)
    lab.up(hosts=2, nfs=True, san=False)
    try:
        pair = "+".join(network.address("control", lab.machine(name).number) for name in ("host1", "host2"))
        arguments.out.mkdir(parents=True)
        plan = arguments.out / "plan.yaml"
        plan.write_text(ha_plan.plan(pair, arguments.fault.split(","), arguments.rounds, arguments.fence))
        results = arguments.out / "results"
        print(f"the hosts are up; the drill begins, after {time.monotonic() - begun:.0f} s", flush=True)
        code = subprocess.run(["ip", "netns", "exec", NAMESPACE, programs / "plimsoll", "ha", plan, "--allow-commands",
                               "--out", results], check=False).returncode
    finally:
        lab.down()
    if (results / "report.json").exists():
        report = json.loads((results / "report.json").read_text())
        for each in report["ha"]["rounds"]:
            if each["takeovers"] and each["takeovers"][0]["outcome"] == "taken":
                print("\n" + "\n".join(timeline(report, each["number"])))
    print(f"\n{results}/report.html has the picture of each round. All of it took {time.monotonic() - begun:.0f} s.")
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as error:
        print(f"scripts/ha-demo: {error}", file=sys.stderr)
        sys.exit(2)
