"""The judge of HA drills on storage that lies while the drill runs: each lie is FAIL, and named in text and JSON."""

import time

import drills
import faultfs
import harness

LOGS = "*/S*.LOG"


def setUpModule():
    faultfs.own_mounts()


class Lies(drills.DrillTest):

    in_memory = True
    fences = False
    TWICE = "qm1: instance 2 on beta was granted the lock that instance 1 on alpha held"

    def assert_fails(self, report, criterion, *texts):
        """FAIL, for this criterion, with these words in the text."""
        self.assertEqual(report["verdict"]["outcome"], "fail", report["text"])
        self.assertTrue(report["text"].startswith("Verdict   FAIL"), report["text"])
        outcomes = {one["criterion"]: one["outcome"] for one in report["verdict"]["criteria"]}
        self.assertEqual(outcomes[criterion], "fail", report["text"])
        for text in texts:
            self.assertRegex(" ".join(report["text"].split()), text)
        return {name: one for name, one in outcomes.items() if name != criterion}

    def takeover(self, report, number=1):
        (one,) = report["ha"]["rounds"][number - 1]["takeovers"]
        return one

    def test_acknowledged_writes_dropped_at_a_kill_are_lost_by_their_number(self):
        process = self.start_drill("--checkpoint", "60s", "--file-size", "2m", "--rate", "100", "--at", "3s")
        self.await_waiting(process)
        rule = self.fs.fault(f"write {LOGS} volatile=5")
        report = self.finish_drill(process, 1)
        lost = rule.lost
        self.assertEqual(len(lost), 5, lost)
        taken = self.takeover(report)
        # The last of the five may have been in flight: then it was acknowledged to nobody.
        in_flight = taken["replayed"] + 5 - taken["acknowledged"]
        self.assertIn(in_flight, (0, 1), taken)
        others = self.assert_fails(report, "lost==0", rf"lost==0 FAIL {5 - in_flight}\b",
                                   f"acknowledged writes that are lost: {5 - in_flight} missing")
        self.assertEqual(set(others.values()), {"pass"})
        self.assertEqual(report["ha"]["findings"]["lost"], 5 - in_flight)
        self.assertEqual(report["ha"]["findings"]["missing"], 5 - in_flight)
        self.assertEqual(taken["findings"]["lost"], 5 - in_flight)

    def test_writes_dropped_before_a_checkpoint_are_lost_though_later_laps_overwrote_them(self):
        process = self.start_drill("--num-files", "2", "--checkpoint", "100ms", "--at", "3s")
        self.await_waiting(process)
        rule = self.fs.fault(f"write {LOGS} after=200 count=4 drop")
        rule.await_hits(4)
        report = self.finish_drill(process, 1)
        # Several laps of 128 blocks lie between them and the kill; and its replay began far behind them.
        taken = self.takeover(report)
        self.assertGreater(taken["acknowledged"], 200 + 4 * 128)
        self.assertLess(taken["replayed_pages"], 500)
        others = self.assert_fails(report, "lost==0", r"lost==0 FAIL 4\b", "acknowledged writes that are lost: 4 missing")
        self.assertEqual(set(others.values()), {"pass"})
        self.assertEqual(report["ha"]["findings"]["order_broken"], 4)
        self.assertEqual(taken["findings"]["lost"], 0)

    def test_a_crash_that_takes_writes_from_before_the_checkpoint_is_counted_in_full(self):
        # A busy machine may make no checkpoint within the last 60 writes, three times as long as one is due.
        for _ in range(5):
            process = self.start_drill("--num-files", "2", "--checkpoint", "40ms", "--at", "3s", rounds=2)
            self.await_waiting(process)
            rule = self.fs.fault(f"write {LOGS} volatile=60")
            report = self.finish_drill(process, 1)
            self.assertEqual(len(rule.lost), 60)
            found = report["ha"]["findings"]
            # The last of them may have been in flight.
            self.assertIn(found["missing"], (59, 60), report["text"])
            self.assertEqual(found["lost"], found["missing"])
            self.assert_fails(report, "lost==0", f"acknowledged writes that are lost: {found['missing']} missing")
            by_replay = self.takeover(report)["findings"]["missing"]
            if by_replay < found["missing"]:
                break
        # What the replay missed was behind the checkpoint; what came before it was read back later.
        self.assertLess(by_replay, found["missing"])

    def test_a_page_torn_at_512_bytes_is_named(self):
        process = self.start_drill("--checkpoint", "60s", "--file-size", "2m", "--rate", "100", "--at", "3s")
        self.await_waiting(process)
        torn = self.fs.fault(f"write {LOGS} after=10 count=1 torn=512")
        torn.await_hits()
        report = self.finish_drill(process, 1)
        self.assert_fails(report, "lost==0", r"lost==0 FAIL 1\b", "acknowledged writes that are lost: 1 torn")
        self.assertEqual(report["ha"]["findings"]["torn"], 1)
        self.assertEqual(report["ha"]["findings"]["missing"], 0)

    def test_a_zombie_whose_writes_land_is_a_split_brain(self):
        report = self.drill("--verify", "5s", faults=("freeze",), code=1, by_options=True)
        self.assert_fails(report, "split_brain==0", r"split_brain==0 FAIL 1\b",
                          "late write: qm1: instance 2 on beta was granted the lock, and instance 1 on alpha wrote after that")
        found = report["ha"]["findings"]
        self.assertEqual((found["split_brain"], found["late_writers"]), (1, 1), report["text"])
        # Only what it overwrote is lost: what it wrote itself after the grant is held against nobody.
        self.assertEqual((found["missing"], found["lost"]), (0, found["overwritten"]), report["text"])
        taken = self.takeover(report)
        self.assertEqual(taken["outcome"], "taken")
        self.assertGreater(taken["gap"]["ns"] + taken["gap"]["error_ns"], 0, taken)

    def test_a_lock_that_is_granted_twice_is_a_split_brain(self):
        for fault in ("hang", "kill"):
            with self.subTest(fault):
                process = self.start_drill("--window", "5s" if fault == "kill" else "0s", "--hang-limit", "6s",
                                           "--server-lease", "2s", faults=(fault,))
                if fault == "hang":
                    process.await_err(r"round 1 of 1: hang")
                    # What the active instance writes until it is stopped is acknowledged.
                    harness.wait_until(lambda: any(harness.is_stopped(pid) for agent in self.agents.values()
                                                   for pid in drills.instances_of(agent)), "a stopped instance")
                else:
                    self.await_waiting(process)
                self.fs.fault("lock * grant")
                report = self.finish_drill(process, 1)
                found = report["ha"]["findings"]
                # Late writes of a stopped instance that is resumed count, too, where the log holds them.
                late = int(fault == "hang" and "late write: qm1: the log held" in " ".join(report["text"].split()))
                self.assert_fails(report, "split_brain==0", rf"split_brain==0 FAIL {1 + late}\b", self.TWICE)
                self.assertEqual(found["split_brain"], 1 + late, report["text"])
                self.assertEqual(found["missing"], 0, report["text"])

    def test_locks_that_each_host_keeps_to_itself_are_a_split_brain_from_the_start(self):
        self.fs.fault("lock * grant")
        report = self.finish_drill(self.start_drill(), 1)
        self.assert_fails(report, "split_brain==0", r"split_brain==0 FAIL 1\b", self.TWICE)
        self.assertEqual(report["ha"]["rounds"], [], report["text"])

    def test_a_lock_that_is_released_late_fails_the_takeover_time(self):
        process = self.start_drill("--require", "takeover_max<1s", "--at", "3s")
        self.await_waiting(process)
        held = self.refuse_locks(process)
        process.await_err(r"round 1 of 1: kill")
        time.sleep(2)  # That long the storage keeps the lock.
        for rule in held:
            rule.release()
        report = self.finish_drill(process, 1)
        self.assert_fails(report, "takeover_max<1s", r"takeover_max<1s FAIL [1-9][\d.]* m?s",
                          r"the lock of qm1 was released late: \S+ s after the fault, limit 1s")
        taken = self.takeover(report)
        self.assertEqual(taken["outcome"], "taken")
        # The phases say whose delay it is: most of the takeover is the time in which the lock was not free.
        self.assertGreater(taken["to_free"]["ns"] + taken["to_free"]["error_ns"], 1.5e9, taken)
        self.assertGreater(taken["to_free"]["ns"], taken["takeover"]["ns"] / 2, taken)
        self.assertEqual(report["ha"]["findings"]["released_late"], 1)
        (criterion,) = [one for one in report["verdict"]["criteria"] if one["criterion"] == "takeover_max<1s"]
        self.assertRegex(criterion["reason"], "^round 1: the lock of qm1 was released late")

    def test_a_lock_that_is_never_released_is_named(self):
        process = self.start_drill("--require", "takeover_max<1s", "--takeover-limit", "1s", "--at", "3s")
        self.await_waiting(process)
        self.refuse_locks(process)
        report = self.finish_drill(process, 1)
        self.assert_fails(report, "takeover_max<1s", r"takeover_max<1s FAIL over [1-9][\d.]* m?s",
                          r"takeover_max<1s: round 1: the lock of qm1 was never released within 1s")
        self.assertEqual(self.takeover(report)["outcome"], "none")
        self.assertEqual(report["ha"]["findings"]["not_released"], 1)


if __name__ == "__main__":
    harness.main()
