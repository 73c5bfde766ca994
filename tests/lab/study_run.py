"""Measures the study's runs in the lab: places, delays, block sizes and queue managers.

What was measured is below a directory: a result of plimsoll for each run or comparison, and `study.json`, which has its settings.
"""

import datetime
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import time

import network
from image import LabError
from lab import FIRST_NUMBER, Lab, MOUNT, SERVER, SERVER_NUMBER

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
# Beside writes, spread over about a quarter of a step: two batches or three lie wholly within it.
BATCH_PINGS = 5
# Between two batches, so that the command that sets the delay gets its turn on the host's one channel.
BATCH_PAUSE_S = 0.03
WARMUP = "500ms"
SETTINGS_FILE = "study.json"


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
        "processors": os.cpu_count(), "load_average": [], "conditions": [], "runs": [], "paired": [],
    }


class Study:
    """Measures in a lab of one client and one server that is up and pinned, and keeps `study.json` true after each run."""

    def __init__(self, out, plimsoll, record, say=print):
        self.out, self._plimsoll, self._record, self.say = pathlib.Path(out), plimsoll, record, say
        self._rounds, self._netem = 0, None

    def measure(self, rounds):
        """So many rounds; before and after them the local disk, and NFS without netem."""
        self._condition("disk", 0)
        self._condition("bare", 0)
        for _ in range(rounds):
            self.round()
        self._condition("bare", 0)
        self._condition("disk", 0)

    def round(self):
        """NFS without a delay and with each."""
        self._rounds += 1
        # Every other round goes the other way, so that what grows with time does not look like the larger delay's.
        for delay_us in [0, *self._record["delays_us"]][::1 if self._rounds % 2 else -1]:
            self._condition("nfs", delay_us)

    def paired(self, queue_managers, block_bytes, delay_us, rounds):
        """Rounds on NFS of one step without the delay and one with it, seconds apart; pings beside them."""
        name = f"paired-{delay_us}us-{block_bytes // 1024}k-qm{queue_managers}"
        self.say(f"measuring {name}")
        between = f"{shlex.quote(str(SCRIPT))} netem {CLIENT} {SERVER} {{side}} --net storage"
        argv = self._arguments("ab", name, DIRECTORIES["nfs"], queue_managers, [block_bytes]) + [
            "--toggle", f"{self._record['duration_s']:g}s", "--rounds", str(rounds), "--all-rounds",
            "--names", f"{BASE_US}us,{BASE_US + delay_us}us", "--between", between, "--allow-commands"]
        pings, interval_s = [], self._record["duration_s"] / 4 / BATCH_PINGS
        with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
            while run.poll() is None:
                begin_s = time.time()
                # The hosts are as busy as the writes make them: pings of a quiet minute would be late by less.
                times_ms = self._ping(BATCH_PINGS, interval_s)
                pings.append([begin_s, time.time(), times_ms])
                time.sleep(BATCH_PAUSE_S)
            self._netem = None
            if run.returncode != 0:
                raise LabError(f"plimsoll ab ended with {run.returncode}: {run.stderr.read().strip()}")
        self._record["paired"].append({"name": name, "queue_managers": queue_managers, "block_size_bytes": block_bytes,
                                       "delay_us": delay_us, "rounds": rounds, "pings": pings})
        self._record["load_average"].append(os.getloadavg()[0])
        self._write()

    def _set_netem(self, delay):
        """On both ends' storage cards: what either sends comes so much later. "0": no netem."""
        if delay != self._netem:
            lab("netem", CLIENT, SERVER, delay, "--net", "storage")
        self._netem = delay

    @staticmethod
    def _ping(pings, interval_s):
        """Round trips between the storage cards, in ms: what the delay really is, measured by another than plimsoll.

        Answers that take more than a second are missing.
        """
        server = network.address("storage", SERVER_NUMBER)
        answers, _ = Lab().machine(CLIENT).execute(f"ping -c {pings} -i {interval_s} {server}")
        return [float(each) for each in re.findall(r"time=([\d.]+) ms", answers)]

    def _ping_ms(self):
        times_ms = self._ping(PINGS, PING_INTERVAL_S)
        if len(times_ms) < PINGS / 2:
            raise LabError(f"{CLIENT} reached the server with {len(times_ms)} of {PINGS} pings")
        return statistics.median(times_ms)

    def _condition(self, place, delay_us):
        self._set_netem(f"{BASE_US + delay_us}us" if place == "nfs" else "0")
        number = len(self._record["conditions"])
        condition = {"number": number, "place": place, "delay_us": delay_us, "ping_ms": [self._ping_ms()]}
        for count in self._record["queue_managers"]:
            self._run(number, place, delay_us, count)
        condition["ping_ms"].append(self._ping_ms())
        self._record["conditions"].append(condition)
        self._record["load_average"].append(os.getloadavg()[0])
        self._write()

    def _write(self):
        (self.out / SETTINGS_FILE).write_text(json.dumps(self._record, indent=1) + "\n")

    def _arguments(self, command, name, directory, queue_managers, block_sizes):
        """Of plimsoll run or ab in the lab, with results below the study's directory."""
        return [str(each) for each in (
            SCRIPT, "run", self._plimsoll, command, "--quiet", "--hosts", network.address("control", FIRST_NUMBER),
            "--dir", directory, "--qm", queue_managers, "--bsize", ",".join(map(str, block_sizes)),
            "--file-size", "1m", "--num-files", 3, "--trace", "off", "--name", name, "--out", self.out / name)]

    def _run(self, number, place, delay_us, queue_managers):
        name = f"{number:02}-{place}-{delay_us}us-qm{queue_managers}"
        self.say(f"measuring {name}")
        argv = self._arguments("run", name, DIRECTORIES[place], queue_managers, self._record["block_sizes_bytes"]) + [
            "--duration", f"{self._record['duration_s']:g}", "--warmup", WARMUP]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        # 3 is inconclusive: such a run is kept and shows in the scatter.
        if done.returncode not in (0, 3) or not (self.out / name / "report.json").exists():
            raise LabError(f"plimsoll ended with {done.returncode}: {done.stderr.strip()}")
        self._record["runs"].append({"name": name, "condition": number, "place": place, "delay_us": delay_us,
                                     "queue_managers": queue_managers})
