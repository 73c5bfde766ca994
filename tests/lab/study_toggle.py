"""The shift of p50 within one step: the delay grows every few seconds, and goes, while a writer writes.

How fast an emulated host is changes from minute to minute with what else the machine's processors have to do, so that two runs
tell little of a millisecond. Seconds that follow one another differ by the delay and by little else.
"""

import datetime
import json
import math
import statistics
import subprocess
import time

from image import LabError
from lab import Lab, SERVER
from study_run import BASE_US, CLIENT, DIRECTORIES, TOGGLED
from study_shift import CHANCE, ToggledShift

PHASE_S = 2.2  # two whole seconds fit, or one
# Fewer differences can lie on one side of their median, all of them, more often than by CHANCE.
LEAST_PAIRS = math.ceil(1 - math.log2(CHANCE))
PINGS, PING_INTERVAL_S = 10, 0.15  # spread over most of a phase


def _moment_s(text):
    """A moment of a report, in seconds since 1970."""
    return datetime.datetime.fromisoformat(text[:26] + "+00:00").timestamp()


def phases_of(report, phases):
    """Of each phase [begin_s, end_s, delay_us, ping_ms]: the delay, the mean p50 in ms of the seconds in it, and the ping.

    None for p50 where no whole second with writes lies in it.
    """
    (step,) = report["steps"]
    begin_s = _moment_s(step["start"])
    (series,) = [each for each in step["series"] if each["kind"] == "cluster"]
    irregular = {each["row"] for each in series.get("irregular", [])}
    seconds = [(begin_s + second, p50_ns / 1e6) for row, (second, p50_ns) in enumerate(zip(series["second"], series["p50_ns"]))
               if row not in irregular and p50_ns > 0]
    found = []
    for phase_begin_s, phase_end_s, delay_us, ping_ms in phases:
        inside = [p50_ms for second_s, p50_ms in seconds if phase_begin_s <= second_s and second_s + 1 <= phase_end_s]
        found.append([delay_us, statistics.fmean(inside) if inside else None, ping_ms])
    return found


def least_s(delays):
    """How long a step with so many delays must be."""
    # Setting a delay takes a part of each phase, and some phases have no whole second.
    return 2 * LEAST_PAIRS * (1 + delays) * PHASE_S


def differences_ms(phases, from_us, to_us):
    """Of each phase with the one delay just before one with the other: of p50, and of ping."""
    pairs = [(base, late) for base, late in zip(phases, phases[1:])
             if (base[0], late[0]) == (from_us, to_us) and base[1] is not None and late[1] is not None]
    return [[late[of] - base[of] for base, late in pairs] for of in (1, 2)]


def interval_of_median(values, chance):
    """Two of the values, between which the median of what they are drawn from lies but for this chance.

    By their ranks alone (as many as not lie below it), so that a few wild ones do no harm. Without bounds where they are too few.
    """
    values, outside, rank = sorted(values), 0.0, 0
    while rank < len(values) // 2:
        outside += 2 * math.comb(len(values), rank) / 2 ** len(values)
        if outside > chance:
            break
        rank += 1
    return (values[rank - 1], values[-rank]) if rank > 0 else (-math.inf, math.inf)


def _steps_us(delays_us):
    return list(zip([0, *delays_us], delays_us))


def shifts_of(step, round_trips):
    """Of what `measure` gave: from none to the first delay, and from each to the next."""
    return [_shift_of(step, from_us, to_us, round_trips) for from_us, to_us in _steps_us(step["delays_us"])]


def _shift_of(step, from_us, to_us, round_trips):
    p50s_ms, pings_ms = differences_ms(step["phases"], from_us, to_us)
    low_ms, high_ms = interval_of_median(p50s_ms, CHANCE)
    ping_low_ms, ping_high_ms = (round_trips * each_ms for each_ms in interval_of_median(pings_ms, CHANCE))
    return ToggledShift(step["block_size_bytes"], to_us - from_us, round_trips, 2 * round_trips * (to_us - from_us) / 1000,
                        round_trips * statistics.median(pings_ms), statistics.median(p50s_ms), from_us, low_ms, high_ms,
                        ping_low_ms, ping_high_ms)


def measure(study, block_bytes, delays_us, duration_s):
    """One step on NFS in a lab that is up, in which the delays, the smallest first, take turns; the study keeps what it gave."""
    lab, name = Lab(), f"{TOGGLED}{block_bytes // 1024}k"
    machines = [lab.machine(CLIENT), lab.machine(SERVER)]
    study.netem(f"{BASE_US}us")
    study.say(f"measuring {name}")
    argv = study.run_arguments(name, DIRECTORIES["nfs"], 1, [block_bytes], duration_s)
    phases = []
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        while run.poll() is None:
            for delay_us in (0, *delays_us):
                for machine in machines:
                    lab.netem(machine, f"{BASE_US + delay_us}us", ["storage"])
                begin_s = time.time()
                # The hosts are as busy as the writes make them: pings of a quiet minute would be late by less.
                ping_ms = study.ping_ms(PINGS, PING_INTERVAL_S)
                time.sleep(max(0.0, begin_s + PHASE_S - time.time()))  # The length of the phase.
                phases.append([begin_s, time.time(), delay_us, ping_ms])
        study.check_run(run.returncode, run.stderr.read(), name)
    study.netem(None)
    report = json.loads((study.out / name / "report.json").read_text())
    phases = phases_of(report, phases)
    pairs = min(len(differences_ms(phases, *step_us)[0]) for step_us in _steps_us(delays_us))
    if pairs < LEAST_PAIRS:
        raise LabError(f"{name}: the delays came and went {pairs} times with writes beside them, and fewer than {LEAST_PAIRS} "
                       "times tell nothing: a longer step")
    study.keep_toggled({
        "name": name, "block_size_bytes": block_bytes, "delays_us": delays_us, "duration_s": duration_s, "phases": phases})
