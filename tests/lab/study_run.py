"""Measures the study's runs in the lab: places, delays, block sizes and queue managers, again and again in turn.

What was measured is below a directory: one result of plimsoll a run, and `study.json`, which says what each of them is.
"""

import datetime
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess

import network
from image import LabError
from lab import FIRST_NUMBER, MOUNT, SERVER, SERVER_NUMBER

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lab"
CLIENT = "host1"
# Where the client writes. `nfs` has a delay in the network, `bare` is the same export without.
DIRECTORIES = {"disk": "/mnt/disk", "bare": "/mnt/mqlog", "nfs": "/mnt/mqlog"}
# A delay costs an emulated host more than the delay, whatever its length: what netem does with each packet, a timer that is
# late, an idle processor that has to come back. So that a shift is the delay alone, what it is compared with has one too;
# each delay is added to it.
BASE_US = 1000
WSIZE_BYTES = int(re.search(r"wsize=(\d+)", MOUNT).group(1))
PINGS, PING_INTERVAL_S = 30, 0.02
WARMUP = "500ms"
SETTINGS_FILE = "study.json"
TOGGLED = "toggled-"  # what the names of the steps in which the delay comes and goes begin with


def lab(*arguments, timeout_s=300):
    """Runs scripts/lab, as a person would; its output."""
    done = subprocess.run([SCRIPT, *map(str, arguments)], capture_output=True, text=True, timeout=timeout_s, check=False)
    if done.returncode != 0:
        raise LabError(f"scripts/lab {' '.join(map(str, arguments))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def begin(out, block_sizes, queue_managers, delays_us, duration_s):
    """The record of a study that is to be measured, in a directory that is empty or not there."""
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise LabError(f"{out} is not empty: name another directory")
    return {
        "begun": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "block_sizes_bytes": list(block_sizes), "queue_managers": list(queue_managers), "delays_us": list(delays_us),
        "base_us": BASE_US, "duration_s": duration_s, "warmup": WARMUP, "wsize_bytes": WSIZE_BYTES, "mount": MOUNT,
        "processors": os.cpu_count(), "load_average": [], "conditions": [], "runs": [], "toggled": [],
    }


def reopen(out):
    """The record of the study that is in `out`."""
    return json.loads((pathlib.Path(out) / SETTINGS_FILE).read_text())


class Study:
    """Measures in a lab of one client and one server that is up and pinned, and keeps `study.json` true after each run."""

    def __init__(self, out, plimsoll, record, say=print):
        self.out, self._plimsoll, self._record, self.say = pathlib.Path(out), plimsoll, record, say
        self._rounds, self._netem = 0, None

    @property
    def delays_us(self):
        return self._record["delays_us"]

    def forget_toggled(self):
        """As if no step had been measured in which the delay came and went."""
        for place in self.out.glob(f"{TOGGLED}*"):
            shutil.rmtree(place)
        self._record["toggled"] = []
        self._write()

    def measure(self, rounds):
        """So many rounds; before and after them the local disk, and NFS without netem."""
        self._condition("disk", 0)
        self._condition("bare", 0)
        for _ in range(rounds):
            self.round()
        self._condition("bare", 0)
        self._condition("disk", 0)

    def round(self):
        """Each delay once, between two measurements without; the one at the end belongs to the next round too."""
        if self._rounds == 0:
            self._condition("nfs", 0)
        self._rounds += 1
        # Every other round goes the other way, so that what grows with time does not look like the larger delay's.
        for delay_us in self.delays_us[::1 if self._rounds % 2 else -1]:
            self._condition("nfs", delay_us)
        self._condition("nfs", 0)

    def keep_toggled(self, measured):
        """What study_toggle.measure has of one step in which the delay came and went."""
        self._record["toggled"].append(measured)
        self._write()

    def netem(self, delay):
        """On both ends' storage cards: what either sends comes so much later. "0": no netem; None: not known any more."""
        if delay is not None and delay != self._netem:
            for host in (CLIENT, SERVER):
                lab("netem", host, delay, "--net", "storage")
        self._netem = delay

    def ping_ms(self, pings=PINGS, interval_s=PING_INTERVAL_S):
        """Median round trip between the storage cards: what the delay really is, told by another than plimsoll."""
        server = network.address("storage", SERVER_NUMBER)
        answers = lab("exec", CLIENT, f"ping -c {pings} -i {interval_s} {server}")
        times = [float(each) for each in re.findall(r"time=([\d.]+) ms", answers)]
        if len(times) < pings / 2:
            raise LabError(f"{CLIENT} reached the server with {len(times)} of {pings} pings:\n{answers}")
        return statistics.median(times)

    def _condition(self, place, delay_us):
        self.netem(f"{BASE_US + delay_us}us" if place == "nfs" else "0")
        number = len(self._record["conditions"])
        condition = {"number": number, "place": place, "delay_us": delay_us, "ping_ms": [self.ping_ms()]}
        for count in self._record["queue_managers"]:
            self._run(number, place, delay_us, count)
        condition["ping_ms"].append(self.ping_ms())
        self._record["conditions"].append(condition)
        self._record["load_average"].append(os.getloadavg()[0])
        self._write()

    def _write(self):
        (self.out / SETTINGS_FILE).write_text(json.dumps(self._record, indent=1) + "\n")

    def run_arguments(self, name, directory, queue_managers, block_sizes, duration_s):
        """A run of plimsoll in the lab, whose results go below the study's directory."""
        return [str(each) for each in (
            SCRIPT, "run", self._plimsoll, "run", "--quiet", "--hosts", network.address("control", FIRST_NUMBER), "--dir", directory,
            "--qm", queue_managers, "--bsize", ",".join(map(str, block_sizes)), "--duration", duration_s, "--warmup", WARMUP,
            "--file-size", "1m", "--num-files", 3, "--trace", "off", "--name", name, "--out", self.out / name)]

    def check_run(self, code, errors, name):
        # 3 is inconclusive: such a run is kept and shows in the scatter.
        if code not in (0, 3) or not (self.out / name / "report.json").exists():
            raise LabError(f"plimsoll ended with {code}: {errors.strip()}")

    def _run(self, number, place, delay_us, queue_managers):
        name = f"{number:02}-{place}-{delay_us}us-qm{queue_managers}"
        self.say(f"measuring {name}")
        argv = self.run_arguments(name, DIRECTORIES[place], queue_managers, self._record["block_sizes_bytes"],
                                  self._record["duration_s"])
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        self.check_run(done.returncode, done.stderr, name)
        self._record["runs"].append({"name": name, "condition": number, "place": place, "delay_us": delay_us,
                                     "queue_managers": queue_managers})
