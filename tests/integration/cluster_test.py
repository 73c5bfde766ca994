"""Several hosts, each with a network of its own, that write to one directory."""

import re

import harness
import namespaces

NAMES = ["alpha", "beta", "gamma", "delta"]


class Cluster(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        self.network = namespaces.Network(len(NAMES))
        self.addCleanup(self.network.remove)  # After the agents, which are ended first.
        self.agents = [
            self.agent(name, listen=f"{self.network.hosts[number - 1]}:7461", more=["--insecure"],
                       wrap=self.network.on_host(number))
            for number, name in enumerate(NAMES, start=1)
        ]

    def run_cluster(self, *arguments, code=0):
        return self.run_plan("--hosts", "10.77.0.[1-4]", *arguments, wrap=self.network.on_controller(), code=code)

    def test_four_hosts_that_share_a_directory_give_one_report(self):
        result = self.run_cluster("--bsize", "4k,64k", "--qm", "2", "--duration", "2")
        report = result.report
        self.assertEqual([host["label"] for host in report["hosts"]], NAMES)
        self.assertEqual([host["address"] for host in report["hosts"]], [f"10.77.0.{n}:7461" for n in (1, 2, 3, 4)])
        self.assertEqual((report["run"]["hosts"], report["run"]["queue_managers"]), (4, 8))
        (storage,) = report["storages"]
        self.assertEqual((storage["number"], storage["hosts"]), (1, NAMES))
        for step in report["steps"]:
            kinds = [scope["kind"] for scope in step["scopes"]]
            self.assertEqual([kinds.count(kind) for kind in ("qm", "host", "storage", "cluster")], [8, 4, 1, 1])
            for scope in harness.scopes(step, "qm"):
                self.assertGreater(scope["writes"], 0, scope)
            skew = step["start_skew"]
            self.assertEqual([host["host"] for host in skew["hosts"]], NAMES)
            self.assertEqual(skew["skew_ns"], max(host["behind_ns"] for host in skew["hosts"]))
            self.assertGreater(skew["skew_ns"], 0)
        for name in NAMES:
            self.assertRegex(result.out, rf"(?m)^ +{name} +all ")
        self.assertEqual(len(re.findall(r"(?m)^  cluster +all ", result.out)), 4)
        self.assert_nothing_left()

    def test_hosts_shows_each_agent_and_its_storage(self):
        lines = self.plimsoll("hosts", "10.77.0.[1-4]", "--dir", self.dir, wrap=self.network.on_controller()).out
        for number, name in enumerate(NAMES, start=1):
            # Round trip, offset, its error, wall clock, and the bound on its error.
            self.assertRegex(lines, rf"(?m)^  {name} +10\.77\.0\.{number}:7461 +[\d.]+ +-?0\.0\d+ +[\d.]+ +[+-]\d+\.\d+ +([\d.]+|-)$")
        # Alike: on one machine, with one directory.
        self.assertIn(f"\n{','.join(NAMES)}\n", lines)
        for fact in (r"version +\S+, protocol \d+", r"kernel +\S.*CPUs, .*clock source \w+", rf"directory +{self.dir} is \w+",
                     r"free +\S+ ", r"limits +none"):
            self.assertEqual(len(re.findall(f"(?m)^  {fact}", lines)), 1, fact)

    def test_a_host_whose_network_goes_is_lost_and_the_others_data_are_kept(self):
        run = self.start_run("--hosts", "10.77.0.[1-4]", "--duration", "8", "--lease", "3s",
                             wrap=self.network.on_controller())
        self.await_running(run)
        self.network.unplug(3)
        result = self.result_of(run, run.results, code=3)
        report = result.report
        self.assertEqual([host["label"] for host in report["hosts"] if "lost" in host], ["gamma"])
        self.assertRegex(report["hosts"][2]["lost"]["reason"], "lease expired: no message for 3 ?s|session broke")
        for scope in harness.scopes(report["steps"][0], "host"):
            self.assertGreater(scope["writes"], 0, scope)
            self.assertEqual("data_until" in scope, scope["host"] == "gamma")
        # It cannot be told to: it stops and cleans up by itself.
        self.await_nothing_left()
        self.agents[2].await_err("session of .* ends: .*(lease|controller)")
        self.network.plug_in(3)
        self.network.await_reached(3)
        self.run_cluster()


if __name__ == "__main__":
    harness.main()
