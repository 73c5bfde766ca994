"""`--cluster NAME` stands for the hosts of clusters.yaml and how they are reached."""

import harness


class NamedCluster(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        config = self.base / "config" / "plimsoll"
        config.mkdir(parents=True)
        self.file = config / "clusters.yaml"
        self.environment["XDG_CONFIG_HOME"] = str(self.base / "config")
        self.environment.pop("PLIMSOLL_CLUSTER", None)

    def test_a_cluster_stands_for_hosts_and_directory(self):
        alpha, beta = self.agent("alpha"), self.agent("beta")
        self.file.write_text(f"both:\n  hosts: [{alpha.address}, {beta.address}]\n  dir: {self.dir}\none:\n  hosts: {alpha.address}\n")
        quick = ("--duration", "300ms", "--warmup", "0", "--file-size", "256k")
        ran = self.plimsoll("run", "--cluster", "both", *quick, "--out", self.base / "both", code=(0, 3))
        report = harness.report_of(self.base / "both")
        self.assertEqual([host["label"] for host in report["hosts"]], ["alpha", "beta"], ran)
        self.plimsoll("run", "--cluster", "both", "--hosts", beta.address, *quick, "--out", self.base / "beta", code=(0, 3))
        self.assertEqual([host["label"] for host in harness.report_of(self.base / "beta")["hosts"]], ["beta"])
        self.assertIn("beta", self.plimsoll("hosts", "--cluster", "both").out)
        self.environment["PLIMSOLL_CLUSTER"] = "one"
        asked = self.plimsoll("hosts")
        self.assertNotIn("beta", asked.out)
        self.assertEqual(asked.err, "plimsoll: the hosts are those of cluster one (PLIMSOLL_CLUSTER)\n")
        self.assert_nothing_left()

    def test_what_is_wrong_is_named_before_anything_is_done(self):
        missing = self.plimsoll("run", "--cluster", "prod", code=2)
        self.assertEqual(missing.errors, [f"plimsoll: --cluster prod: {self.file} does not exist; create it or name another file with "
                                          "--config"])
        self.file.write_text("prod:\n  host: node1\n")
        unknown = self.plimsoll("run", "--cluster", "prod", code=2)
        self.assertEqual(unknown.errors, [f"plimsoll: --cluster: {self.file}:2:3: unknown key 'host'; did you mean 'hosts'?"])


if __name__ == "__main__":
    harness.main()
