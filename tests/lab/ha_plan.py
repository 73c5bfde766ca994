"""HA drills whose commands are the lab's: as a plan, and as options."""

import json
import pathlib

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lab"
MQLOG = "/mnt/mqlog"
# Of the lab's server (guest/init), in seconds.
SERVER_LEASE_S = 10

# By fault: `do` and `undo`, as arguments of scripts/lab.
COMMANDS = {
    "freeze": (("pause", "{host}"), ("resume", "{host}")),
    "cut": (("cut", "{host}", "--net", "storage"), ("heal", "{host}", "--net", "storage")),
    "poweroff": (("kill", "{host}"), ("start", "{host}")),
    "reboot": (("reset", "{host}"), ()),
    "server-restart": (("reset", "storage"), ()),
    "lock-loss": (("drop-locks", "{host}"), ()),
}


def plan(pair, faults, rounds, fence):
    """A plan of one pair and one queue manager. JSON is YAML."""
    commands = [{"fault": fault, "do": [str(SCRIPT), *do], **({"undo": [str(SCRIPT), *undo]} if undo else {})}
                for fault, (do, undo) in COMMANDS.items() if fault in faults]
    return json.dumps({
        "workload": {"dir": MQLOG, "file_size": "1m"},
        "ha": {"pairs": [pair], "rounds": rounds, "faults": list(faults), "fence": fence,
               "server_lease": f"{SERVER_LEASE_S}s", "window": "2s", "commands": commands}}, indent=1)


def options(pair, faults, rounds, fence):
    """The same drill as options of `plimsoll ha`."""
    asked = ["--pairs", pair, "--dir", MQLOG, "--file-size", "1m", "--rounds", str(rounds), "--fault", ",".join(faults), "--fence",
             fence, "--server-lease", f"{SERVER_LEASE_S}s", "--window", "2s"]
    for fault, (do, undo) in COMMANDS.items():
        if fault in faults:
            asked += ["--do", f"{fault}='{SCRIPT}' {' '.join(do)}"] + (["--undo", f"{fault}='{SCRIPT}' {' '.join(undo)}"] if undo else [])
    return asked
