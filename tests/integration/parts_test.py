"""A slow part of a write fails its own criterion and no other, in every output."""

import csv
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faultfs"))

import faultfs  # noqa: E402
import harness  # noqa: E402


def setUpModule():
    faultfs.own_mounts()


class Parts(harness.PlimsollTest):

    # Without a fault a part stays far below limit_ms, however busy the machine is; planted_ms is far above it.
    limit_ms = 200
    planted_ms = 400

    def run_with(self, fault):
        fs = faultfs.mounted(self)
        fs.fault(f"{fault} *.LOG delay_ms={self.planted_ms}")
        self.dir = fs.mountpoint
        agent = self.agent("alpha")
        return self.run_plan("--hosts", agent.address, "--sync", "fdatasync", "--direct", "off", "--qm", "1", "--num-files",
                             "1", "--file-size", "64k", "--duration", "4s", "--warmup", "0", "--require",
                             f"sync_avg<{self.limit_ms}ms", "--require", f"write_call_avg<{self.limit_ms}ms", code=1)

    def check(self, result, slow, fast):
        outcomes = {one["criterion"].split("_avg")[0]: one["outcome"] for one in result.report["verdict"]["criteria"]}
        self.assertEqual(outcomes, {slow: "fail", fast: "pass"})
        (step,) = result.report["steps"]
        parts = {one["name"]: harness.cluster(one)["latency"] for one in step["operations"]}
        whole = harness.cluster(step)["latency"]
        self.assertGreater(parts[slow]["min_ns"], self.planted_ms * 1_000_000)
        self.assertEqual(parts[slow]["count"], whole["count"])
        self.assertEqual(parts[slow]["sum_ns"] + parts[fast]["sum_ns"], whole["sum_ns"])
        # timeline.csv and the exports agree with the report, write by write.
        with open(result.results / "timeline.csv", newline="") as lines:
            rows = [row for row in csv.DictReader(lines) if row["kind"] == "cluster" and row[f"{slow}_max_ns"]]
        self.assertEqual(max(int(row[f"{slow}_max_ns"]) for row in rows), parts[slow]["max_ns"])
        exported = self.plimsoll("export", result.results, "--format", "csv", "--output", "-").out
        writes = list(csv.DictReader(exported.splitlines()))
        self.assertEqual(len(writes), whole["count"])
        for name in (slow, fast):
            self.assertEqual(sum(int(write[f"{name}_ns"]) for write in writes), parts[name]["sum_ns"])
        for write in writes:
            self.assertEqual(int(write["write_call_ns"]) + int(write["sync_ns"]), int(write["latency_ns"]))
        logs = self.plimsoll("export", result.results, "--format", "hlog", "--output", "-").out
        self.assertIn(f"Tag={slow}/alpha/qm1,", logs)
        fio = json.loads(self.plimsoll("export", result.results, "--format", "fio-json", "--output", "-").out)
        self.assertEqual(fio["jobs"][0]["sync"]["total_ios"], whole["count"])

    def test_a_slow_sync_fails_the_criterion_on_the_sync_alone(self):
        self.check(self.run_with("fsync"), slow="sync", fast="write_call")

    def test_a_slow_write_call_fails_the_criterion_on_the_write_call_alone(self):
        self.check(self.run_with("write"), slow="write_call", fast="sync")


if __name__ == "__main__":
    harness.main()
