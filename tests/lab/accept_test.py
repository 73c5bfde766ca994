"""`plimsoll accept` on three hosts with kernels of their own and one NFS export: every part is done, whatever its verdict, also while
the server is paused and a path is cut."""

import json

import lab_support
import schema
from lab_support import MQLOG, harness

# Emulated hosts are slow.
SLOW_S = 1000
# How long the storage is away.
HELD_S = 5


class Accept(lab_support.LabTest):

    def test_every_part_is_done_and_kept(self):
        out = self.base / "accepted"
        plan = self.base / "accept.yaml"

        def lab_does(*arguments):
            return json.dumps([str(lab_support.SCRIPT), *arguments])

        # Two of the three hosts are a pair.
        plan.write_text("accept: {parts: [storage, fsck, load, limit, ha, restart-time, disturb]}\n"
                        "ha: {rounds: 2, faults: [switch, kill], takeover_limit: 60s}\n"
                        "restart_time: {records: [20, 40, 80], rounds: 1}\n"
                        "disturb:\n"
                        f"- {{name: server paused, at: 8s, hold: {HELD_S}s, do: {lab_does('pause', 'storage')}, "
                        f"undo: {lab_does('resume', 'storage')}}}\n"
                        f"- {{name: path cut, at: 25s, hold: {HELD_S}s, do: {lab_does('cut', 'host1', '--net', 'storage')}, "
                        f"undo: {lab_does('heal', 'host1', '--net', 'storage')}}}\n")
        process = self.start_plimsoll(
            "accept", plan, "--hosts", self.addresses(*self.all_hosts()), "--dir", MQLOG, "--out", out, "--file-size", "1m", "--num-files",
            "2", "--rate", "10", "--arrival", "even", "--duration", "45s", "--warmup", "500ms", "--require", "p50<5s", "--runs", "1",
            "--search-step", "2s", "--hold", "2s", "--budget", "40s", "--tolerance", "30%", "--lease", "60s", "--allow-commands",
            wrap=lab_support.IN_LAB)
        ended = process.finish(SLOW_S)
        result = self.result_of(process, None, ended)
        self.assertIn(ended, (0, 1, 3), result)
        record = schema.parse((out / "accept.json").read_text(), "accept")
        self.assertEqual([(run["part"], run["began"], run["complete"]) for run in record["runs"]],
                         [(part, True, True) for part in ("storage", "fsck", "load", "limit", "ha", "ha", "restart_time", "disturb")], result)
        self.assertEqual([(host["label"], host["fs_type"]) for host in record["hosts"]],
                         [(name, "nfs4") for name in self.all_hosts()])
        fsck = next(run for run in record["runs"] if run["part"] == "fsck")
        self.assertEqual(fsck["outcome"], "pass", "kernels of their own, and an export with locks")
        self.assertTrue(any("do not prove what IBM requires" in limit for limit in record["limits"]), record["limits"])
        self.assertTrue(any(limit.startswith("No drill was made with ") for limit in record["limits"]), record["limits"])
        drills = [run for run in record["runs"] if run["part"] == "ha"]
        self.assertEqual([run["outcome"] for run in drills], ["pass", "pass"], drills)
        # Whatever hosts that are emulated do to `max<20s`: no acknowledged write is lost, and each disturbance is seen.
        disturbed = record["runs"][-1]
        self.assertGreater(disturbed["acknowledged_writes"], 0, disturbed)
        self.assertEqual(disturbed["lost_writes"], 0, disturbed)
        self.assertEqual([outage["cause"] for outage in disturbed["outages"]], ["server paused", "path cut"])
        for outage in disturbed["outages"]:
            self.assertGreater(outage["longest_seconds"], HELD_S - 1, "nothing is acknowledged while the storage is away")
        for run in (*record["runs"][2:4], disturbed):
            again = self.start_plimsoll("report", out / run["directory"], "--json")
            self.assertIn(again.finish(), (0, 1, 3), again.err)
            self.assertEqual(len(json.loads(again.out)["hosts"]), 3)
        self.assertEqual(self.on("host1", f"ls {MQLOG}"), "", "nothing is left on the export")


if __name__ == "__main__":
    harness.main()
