"""`plimsoll watch` on a host with a kernel of its own, where it may attach whatever the machine of the tests allows: the
stand-in queue manager (tests/standin) against its own log."""

import statistics

from journal_frames import first_writes
import lab_support
from lab_support import harness
from lab import READY_S
import network
import watching

HOST = "host1"
# Beside the lab's own agent, which allows no watch.
PORT = 7462
LOG_DIR = "/dev/shm/log/active"
# Emulated hosts are slow.
WRITES, CALLS, SECONDS = 200, 100, 4


class LabWatch(lab_support.LabTest, watching.StandInTest):
    hosts = 1
    up = ()

    def skip_where_refused(self, process):
        """The lab's kernel refuses nothing: whatever fails is a failure."""

    def setUp(self):
        super().setUp()
        address = f"{network.address('control', self.lab.machine(HOST).number)}:{PORT}"
        self.on(HOST, f"mkdir -p {LOG_DIR}; mkfifo /tmp/go; "
                      f"plimsoll-agent --root /tmp --name {HOST} --listen {address} --insecure --allow-watch "
                      "</dev/null >/tmp/agent.log 2>&1 & echo $! >/tmp/agent.pid")
        self.agent_address = address
        self.await_on("grep -q 'listens on' /tmp/agent.log", "the agent")

    def heal(self):
        super().heal()
        self.on(HOST, "kill $(cat /tmp/agent.pid) $(cat /tmp/standin.pid 2>/dev/null) 2>/dev/null; "
                      "rm -rf /dev/shm/log /tmp/go /tmp/standin.pid")

    def await_on(self, command, what):
        machine = self.lab.machine(HOST)
        harness.wait_until(lambda: machine.execute(command)[1] == 0, what, timeout_s=READY_S)

    def begin_stand_in(self):
        self.on(HOST, f"standin_qm {LOG_DIR} /tmp/record {WRITES} {CALLS} {SECONDS} <>/tmp/go >/tmp/standin.out 2>&1 & "
                      "echo $! >/tmp/standin.pid")
        self.await_on("grep -q ready /tmp/standin.out", "the stand-in")
        return self.on(HOST, "cat /tmp/standin.pid").strip()

    def seen_writes(self, results, host):
        """On the host's clock: the journal has the start of one write of each frame on it. The median, since numbers follow
        the ends of writes and the export their starts, which differ where writes overlap."""
        rows = super().seen_writes(results, host)
        timeline = {row["seq"]: row["timeline_ns"] for row in rows}
        (starts,) = first_writes(results / "journal").values()
        behind_ns = statistics.median_low(start - timeline[seq] for seq, start in starts.items() if seq in timeline)
        return [{**row, "timeline_ns": row["timeline_ns"] + behind_ns} for row in rows]

    def test_counts_and_times_each_write_and_call(self):
        pid = self.begin_stand_in()
        results = self.base / "watched"
        process = self.start_plimsoll("watch", "--hosts", self.agent_address, "--pid", pid, "--log-dir", LOG_DIR, "--calls",
                                      "MQPUT,MQGET,MQCMIT", "--interval", "1", "--duration", "60", "--max-overhead", "100",
                                      "--out", results, wrap=lab_support.IN_LAB)
        process.results = results
        self.await_lines(process)
        self.on(HOST, "echo >/tmp/go")
        self.await_on("grep -q done /tmp/standin.out", "the end of the stand-in")
        # The watch ends with the program.
        self.on(HOST, "echo >/tmp/go")
        result = self.finish_watch(process)
        self.assertFalse(result.report["watch"]["bounds"], result.report["notes"])
        made = self.parse_record(self.on(HOST, "cat /tmp/record"))
        self.assertEqual(len(made["write"]), WRITES * SECONDS)
        self.check(result, HOST, made)


if __name__ == "__main__":
    harness.main()
