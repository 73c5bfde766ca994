"""`plimsoll ha` with two pairs on four agents: they take turns, keep their own roles, and are judged apart."""

import drills
import faultfs
import harness

# Numbers of the queue managers of each pair, with --qm 2, and its hosts.
PAIRS = (({1, 2}, ("alpha", "beta")), ({3, 4}, ("gamma", "delta")))


class Pairs(drills.DrillTest):

    labels = ("alpha", "beta", "gamma", "delta")
    # With this seed the moments of two faults are farther apart than a frame is long. An instance that is killed takes with it what
    # it wrote in its last frame, which is sent at its end.
    APART = ("--window", "2s", "--seed", "3")

    def check_turns(self, report, faults):
        """Pairs take turns, each with the faults in their order, and a takeover changes the roles of its own pair alone."""
        active = [hosts[0] for _, hosts in PAIRS]
        for number, each in enumerate(report["ha"]["rounds"]):
            pair, fault = number % 2, faults[number // 2 % len(faults)]
            qms, hosts = PAIRS[pair]
            self.assertEqual((each["fault"], each["host"]), (fault, active[pair]), report["text"])
            self.assertEqual({one["qm"] for one in each["takeovers"]}, qms)
            self.assertEqual({one["outcome"] for one in each["takeovers"]}, {"kept" if fault == "hang" else "taken"})
            self.check_picture(report["ha"]["pictures"][number], each, PAIRS[1 - pair][0], active[1 - pair])
            if fault != "hang":
                (active[pair],) = set(hosts) - {active[pair]}
                self.assertEqual({one["new_host"] for one in each["takeovers"]}, {active[pair]})

    def check_picture(self, picture, each, others, host):
        """The other pair's queue managers wrote meanwhile on the host where they were active, and are shown beside the takeover."""
        self.assertEqual(picture["round"], each["number"])
        self.assertEqual({one["qm"] for one in picture["queue_managers"]}, {one["qm"] for one in each["takeovers"]})
        self.assertEqual({(one["qm"], one["host"]) for one in picture["others"]}, {(qm, host) for qm in others})
        self.assertEqual(picture["others_left_out"], 0)
        for one in picture["others"]:
            self.assertGreater(one["during"]["count"], 0, one)
            self.assertGreater(one["during"]["max_ns"], 0)
            self.assertGreaterEqual(one["during"]["sum_ns"], one["during"]["max_ns"])
            moments = [moment for frame in one["frames"] for moment in (frame["from_ns"], frame["to_ns"])]
            self.assertEqual(moments, sorted(moments), "frames follow each other")
            self.assertGreaterEqual(sum(frame["count"] for frame in one["frames"]),
                                    one["before"]["count"] + one["during"]["count"])
        for when in ("before", "during"):
            self.assertEqual(picture[f"others_{when}"]["count"], sum(one[when]["count"] for one in picture["others"]))
            self.assertEqual(picture[f"others_{when}"]["max_ns"], max(one[when]["max_ns"] for one in picture["others"]))


class Honest(Pairs):

    lies = False

    def test_pairs_take_turns_and_the_other_pair_writes_on_meanwhile(self):
        faults = ("kill", "switch", "hang")
        report = self.drill("--qm", "2", "--rate", "200", *self.APART, faults=faults, rounds=6)
        self.assertEqual(report["verdict"]["outcome"], "pass", report["text"])
        self.check_turns(report, faults)
        self.assertEqual([(qm["qm"], sorted(qm["hosts"]), qm["active_instances"]) for qm in report["ha"]["queue_managers"]],
                         [(number, sorted(hosts), 3) for qms, hosts in PAIRS for number in sorted(qms)])


class Lies(Pairs):

    def test_what_one_pair_loses_is_not_held_against_the_other(self):
        process = self.start_drill("--qm", "2", "--rate", "100", "--file-size", "2m", "--checkpoint", "60s", *self.APART,
                                   rounds=2)
        self.await_waiting(process)
        # At the kill of the second pair.
        rule = self.fs.fault("write */qm4/active/* volatile=5")
        report = self.finish_drill(process, 1)
        self.assertEqual(len(rule.lost), 5)
        self.check_turns(report, ("kill",))
        lost = {one["qm"]: one["findings"]["lost"] for each in report["ha"]["rounds"] for one in each["takeovers"]}
        # The last of the five may have been in flight.
        self.assertIn(lost.pop(4), (4, 5), report["text"])
        self.assertEqual(lost, {1: 0, 2: 0, 3: 0}, report["text"])
        self.assertEqual({qm["qm"] for qm in report["ha"]["queue_managers"] if qm["findings"]["lost"] > 0}, {4})
        self.assertRegex(" ".join(report["text"].split()), r"lost==0 FAIL [45]\b")


def setUpModule():
    faultfs.own_mounts()


if __name__ == "__main__":
    harness.main()
