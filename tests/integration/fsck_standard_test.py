"""`plimsoll fsck --level standard`, all its checks, with two agents on this machine's disk. Most of the time lock.courtesy waits."""

import harness
import schema

FULL = {"lock.released-at-host-death", "lock.after-server-restart", "data.dsync-survives-server-restart"}
STANDARD = {"lock.storm", "lock.ping-pong", "lock.courtesy", "lock.capacity", "lock.content-visible-to-next-owner"}
COURTESY_S = 100


class Standard(harness.PlimsollTest):

    def test_every_check_of_standard_passes_on_a_disk(self):
        agents = [self.agent(name) for name in ("alpha", "beta")]
        process = self.start_plimsoll("fsck", self.dir, "--hosts", ",".join(agent.address for agent in agents), "--level",
                                      "standard", "--json")
        process.finish(COURTESY_S + 120)
        report = schema.parse(self.result_of(process, None, 3).out, "fsck")
        checks = {check["name"]: check for check in report["checks"]}
        outcomes = {name: check["outcome"] for name, check in checks.items()}
        # Not every file system here has O_DIRECT.
        self.assertIn(outcomes.pop("data.direct-buffered-agree"), ("pass", "unsupported"))
        self.assertEqual({name for name, outcome in outcomes.items() if outcome != "pass"}, FULL, report)
        self.assertLessEqual(STANDARD, set(outcomes))
        self.assertGreaterEqual(checks["lock.courtesy"]["duration_ns"], COURTESY_S * 1_000_000_000)
        self.assertEqual({name for each in report["requirements"] for name in each["omitted"]}, FULL)
        # One kernel: nothing was tested between hosts.
        self.assertEqual([each["verdict"] for each in report["requirements"]], ["not_tested"] * 3)
        self.assert_nothing_left()
        self.assertEqual([pid for agent in agents for pid in harness.children_of(agent.agent_pid)], [])


if __name__ == "__main__":
    harness.main()
