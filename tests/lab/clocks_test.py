"""Clocks of hosts that drift: what a run states of them holds, by a measurement that shares no code with it."""

import csv
import io
import re
import time

from journal_frames import first_writes
import lab_support
from lab_support import harness
from second_clock import SecondClock

# Emulated hosts share one oscillator: what they drift by is set here, in parts per million.
DRIFT_PPM = {"host1": 50, "host2": -50, "host3": 200, "host4": -200}
# What calibrating at boot may leave of a difference.
CALIBRATION_PPM = 100
DURATION_S = 30


def overlap(one, other):
    return max(one[0], other[0]) <= min(one[1], other[1])


class Clocks(lab_support.LabTest):
    hosts = 4
    up = ()

    def setUp(self):
        super().setUp()
        self.clocks = {name: SecondClock(self, self.lab.machine(name)) for name in DRIFT_PPM}
        for name, ppm in DRIFT_PPM.items():
            self.on(name, f"adjtimex -q -f {ppm << 16}")

    def heal(self):
        super().heal()
        for name in DRIFT_PPM:
            self.on(name, "adjtimex -q -f 0; killall lab_clock; true")

    def hosts_states(self):
        """What `plimsoll hosts` says of each clock: (offset less error, offset plus error), and between which moments it was."""
        before_ns = time.monotonic_ns()
        text = self.lab_plimsoll("hosts", "--hosts", self.addresses(*DRIFT_PPM)).out
        found = re.findall(r"^  (host\d) +\S+ +[\d.]+ +(-?[\d.]+) +([\d.]+) ", text, re.MULTILINE)
        self.assertRegex(text, r"(?m)^  host +address +RTT us +offset s +\+/- us ")
        self.assertEqual([name for name, *_ in found], list(DRIFT_PPM), text)
        bounds = {}
        for name, offset_s, error_us in found:
            offset_ns, error_ns = round(float(offset_s) * 1e9), float(error_us) * 1e3
            bounds[name] = offset_ns - error_ns - 100, offset_ns + error_ns + 100  # as printed: rounded
        return before_ns, time.monotonic_ns(), bounds

    def stated_while_it_ran(self, result):
        """{host: [(moment of the timeline, offset, bound of its error)]}, from the export and the hosts' own moments."""
        text = self.plimsoll("export", result.results, "--format", "csv").out
        mapped = {(row["host"], int(row["seq"])): (int(row["timeline_ns"]), int(row["error_ns"]))
                  for row in csv.DictReader(io.StringIO(text))}
        labels = {host["number"]: host["label"] for host in result.report["hosts"]}
        stated = {name: [] for name in DRIFT_PPM}
        for (host, _step, _qm), writes in first_writes(result.results / "journal").items():
            for seq, start_ns in writes.items():
                if (labels[host], seq) in mapped:
                    timeline_ns, error_ns = mapped[labels[host], seq]
                    stated[labels[host]].append((timeline_ns, start_ns - timeline_ns, error_ns))
        return stated

    def test_stated_offsets_hold_the_truth_while_clocks_drift(self):
        hosts_before = self.hosts_states()
        run = self.start_lab_run(DRIFT_PPM, "--duration", str(DURATION_S), "--rate", "10", dir="/mnt/disk")
        run.finish(180)
        ended_ns = time.monotonic_ns()
        hosts_after = self.hosts_states()
        for clock in self.clocks.values():
            clock.await_rounds_after(hosts_after[1])
        truth = {name: clock.offsets() for name, clock in self.clocks.items()}
        result = self.result_of(run, run.results)

        for before_ns, after_ns, bounds in (hosts_before, hosts_after):
            for name, bound in bounds.items():
                self.assertTrue(overlap(bound, truth[name].between(before_ns, after_ns)), f"`plimsoll hosts`, {name}")
        all_stated = self.stated_while_it_ran(result)
        for name, stated in all_stated.items():
            self.assertGreater(len(stated), DURATION_S, f"{name}: a moment a second and more")
            stated.sort()
            for moment_ns, offset_ns, error_ns in stated:
                measured = truth[name].at(moment_ns)
                self.assertTrue(overlap((offset_ns - error_ns, offset_ns + error_ns), measured),
                                f"{name} at {moment_ns}: stated {offset_ns} +/- {error_ns}, measured {measured}")
            self.assert_could_have_failed(name, stated, truth[name])
        for host in result.report["hosts"]:
            clock, last_ns = host["clock"], all_stated[host["label"]][-1][0]
            bound = clock["offset_ns"] - clock["error_ns"], clock["offset_ns"] + clock["error_ns"]
            self.assertTrue(overlap(bound, truth[host["label"]].between(last_ns, ended_ns)), host["label"])
            self.assertEqual(clock["steps"], [])

    def assert_could_have_failed(self, name, stated, truth):
        """The second measurement sees the drift; one bound for all of the run would not have held."""
        quarter = len(stated) // 4
        early, late = (min(part, key=lambda each: each[2]) for part in (stated[:quarter], stated[-quarter:]))
        drift_ppm = truth.drift_ppm(early[0], late[0])
        self.assertLess(abs(drift_ppm - DRIFT_PPM[name]), CALIBRATION_PPM, name)
        if abs(DRIFT_PPM[name]) < 2 * CALIBRATION_PPM:
            return  # too little to be sure of it
        drift_ns = abs(DRIFT_PPM[name]) * 1e-6 * (late[0] - early[0])
        for low, high in (truth.at(early[0]), truth.at(late[0])):
            self.assertLess(high - low, drift_ns / 2, f"{name}: sharp enough to see it")
        self.assertFalse(overlap(truth.at(early[0]), truth.at(late[0])), name)
        self.assertFalse(overlap((early[1] - early[2], early[1] + early[2]), truth.at(late[0])), name)


if __name__ == "__main__":
    harness.main()
