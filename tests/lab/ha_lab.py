"""`plimsoll ha` on hosts of the lab: its plan, what its report must hold, and what it leaves."""

import re

import ha_plan
import lab_support
import schema
import takeovers
from journal_bytes import payloads
from lab_support import MQLOG

# Emulated hosts are slow, and one that was taken down boots.
SLOW_S = 900
POLL_NS = 2_000_000_000


class HaTest(lab_support.LabTest):
    hosts = 2

    def drill(self, *faults, rounds, fence="extents", code=(0,), by_options=False):
        """Runs a drill to its end, by a plan or by options; its report, after what holds for each has been checked."""
        self._results += 1
        script, self.out = self.base / f"plan-{self._results}.yaml", self.base / f"results-{self._results}"
        pair = self.addresses(*self.all_hosts()).replace(",", "+")
        if by_options:
            asked = ha_plan.options(pair, faults, rounds, fence)
        else:
            script.write_text(ha_plan.plan(pair, faults, rounds, fence))
            asked = [script]
        process = self.start_plimsoll("ha", *asked, "--allow-commands", "--out", self.out, wrap=lab_support.IN_LAB)
        ended = process.finish(SLOW_S)
        self.assertIn(ended, code, f"{process.out}\n{process.err}")
        report = schema.parse((self.out / "report.json").read_text())
        # What was found, for whoever reads the test's output.
        print(f"\n{fence}: {process.out.partition('Configuration')[0]}", flush=True)
        self.check_rounds(report, faults, rounds, fence)
        self.check_decomposition(report)
        self.check_nothing_is_left()
        return report

    def takeovers(self, report):
        """(round, takeover) of each, in their order; one queue manager has one a round."""
        return [(each, each["takeovers"][0]) for each in report["ha"]["rounds"]]

    def check_rounds(self, report, faults, rounds, fence):
        found = report["ha"]["findings"]
        defects = ("missing", "torn", "misplaced", "order_broken", "split_brain", "not_released")
        self.assertEqual({name: found[name] for name in defects}, dict.fromkeys(defects, 0))
        # Nothing but locks on the extents keeps a zombie from overwriting.
        self.assertEqual(found["lost"], found["overwritten"])
        if fence == "extents":
            self.assertEqual(found["lost"], 0)
        self.assertEqual([each["fault"] for each in report["ha"]["rounds"]],
                         [faults[number % len(faults)].replace("-", "_") for number in range(rounds)])
        # The active instance begins on the first host; who has taken over is the next one to be struck.
        active = "host1"
        for each, takeover in self.takeovers(report):
            self.assertEqual(each["host"], active, report["ha"]["rounds"])
            self.assertEqual(takeover["old_host"], active)
            if each["fault"] == "hang":
                self.assertEqual(takeover["outcome"], "kept")
            elif each["fault"] == "server_restart":
                self.assertIn(takeover["outcome"], ("kept", "taken"))
            else:
                self.assertEqual(takeover["outcome"], "taken")
            if takeover["outcome"] == "taken":
                self.assertNotEqual(takeover["new_host"], active)
                active = takeover["new_host"]
        self.assertTrue(all(qm["scanned"] for qm in report["ha"]["queue_managers"]))

    def check_decomposition(self, report):
        """The phases are what the takeover is made of, and what we add to it is short."""
        for each, takeover in self.takeovers(report):
            if takeover["outcome"] != "taken":
                continue
            ns = {name: takeover[name]["ns"] for name in ("to_granted", "to_replayed", "to_first_write", "takeover", "own")}
            error_ns = takeover["to_granted"]["error_ns"] + takeover["takeover"]["error_ns"] + 1
            parts_ns = ns["to_granted"] + ns["to_replayed"] + ns["to_first_write"]
            self.assertLessEqual(abs(parts_ns - ns["takeover"]), error_ns, takeover)
            # Between two moments of one clock: grant to first write, less the replay.
            self.assertGreater(ns["own"], 0, takeover)
            self.assertGreaterEqual(ns["to_replayed"] + ns["to_first_write"], ns["own"], takeover)
            print(f"round {each['number']} {each['fault']}: granted {ns['to_granted'] / 1e9:.3f} s after the fault; ours "
                  f"{ns['own'] / 1e6:.0f} ms, and {takeovers.polled_ns(takeover) / 1e9:.3f} s of polling", flush=True)
        takeovers.assert_little_is_added(self, report, POLL_NS, typical=min)

    def check_nothing_is_left(self):
        for host in self.all_hosts():
            self.assertEqual(self.on(host, f"ls -d {MQLOG}/plimsoll-* 2>/dev/null; true"), "", "nothing is left")
            self.assertEqual(self.on(host, "grep -ls '[h]a-instance' /proc/[0-9]*/cmdline; true"), "", "no instance runs")

    def journal_says(self, pattern):
        """How many of the journal's records hold the pattern in a text."""
        return sum(1 for record in payloads(self.out / "journal") if re.search(pattern, record))
