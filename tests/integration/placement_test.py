"""A placement: queue managers on three hosts, and the failure of each host, with its standbys."""

import collections
import csv
import io
import signal

import harness

DURATION_S = 2
# Name: home, standby, size of its writes, writes per second.
QMS = {
    "PAYMENTS": ("alpha", "beta", 16384, 100),
    "ORDERS": ("beta", "gamma", 4096, 60),
    "STOCK": ("gamma", "alpha", 8192, 40),
    "LEDGER": ("beta", "alpha", 512, 20),
}
HOSTS = ["alpha", "beta", "gamma"]


def host_of(name, down):
    home, standby, _, _ = QMS[name]
    return standby if home == down else home


class Placement(harness.PlimsollTest):

    in_memory = True
    agents_ahead = True

    def setUp(self):
        super().setUp()
        self.agents = {name: self.agent(name) for name in HOSTS}

    def plan(self, duration_s=DURATION_S, **changes):
        """A plan's file; `changes` replace lines of a queue manager."""
        lines = [f"workload: {{dir: {self.dir}, file_size: 64k, num_files: 2}}", f"duration: {duration_s}s", "warmup: 500ms",
                 "criteria: ['p50<10s', 'rate_achieved>=50%']", "placement:"]
        for name, (home, standby, block_bytes, rate) in QMS.items():
            lines.append(changes[name] if name in changes else
                         f"  - {{qm: {name}, home: '{self.agents[home].address}', standby: '{self.agents[standby].address}', "
                         f"block_size: {block_bytes}, rate: {rate}}}")
        path = self.base / "plan.yaml"
        path.write_text("\n".join(lines) + "\n")
        return path

    def run_placement(self, duration_s=DURATION_S):
        out = self.base / "results"
        process = self.start_plimsoll("run", self.plan(duration_s), "--out", out)
        return process, out

    def test_a_queue_manager_writes_in_its_own_directory_on_its_standby_host_too(self):
        own = self.dir / "payments"
        own.mkdir()
        home, standby = self.agents["alpha"].address, self.agents["beta"].address
        plan = self.plan(1, PAYMENTS=f"  - {{qm: PAYMENTS, home: '{home}', standby: '{standby}', block_size: 16384, rate: 100, "
                         f"dir: {own}}}")
        checked = self.plimsoll("plan", "check", plan).out
        self.assertIn(f"    {own}: 128 KiB for 1 queue manager\n", checked)
        out = self.base / "results"
        process = self.start_plimsoll("run", plan, "--keep-files", "--out", out)
        process.finish(120)
        found = self.result_of(process, out)
        self.assertRegex(" ".join((out / "report.txt").read_text().split()), rf"PAYMENTS: \S+, standby \S+; 16 KiB, 100 writes/s; in {own}")
        report = found.report
        dirs = {host["label"]: host["workload"].get("qm_dirs") for host in report["hosts"]}
        self.assertEqual(dirs, {"alpha": [str(own), str(self.dir), str(self.dir)], "beta": [str(own), str(self.dir), str(self.dir)],
                                "gamma": None})
        self.assertEqual({str(path.relative_to(own)).split("/", 1)[1] for path in harness.paths(own, "plimsoll-*/*/qm*")},
                         {"alpha/qm1", "beta/qm1"}, "and no other queue manager's")
        self.assertEqual({path.parent.name + "/" + path.name for path in harness.paths(self.dir, "plimsoll-*/*/qm*")},
                         {"alpha/qm2", "alpha/qm3", "beta/qm2", "beta/qm3", "gamma/qm1", "gamma/qm2"})
        # Step 2 has alpha down, and step 3 beta: each host has written there last while the other one could not.
        begins = [harness.moment_ns(step["start"]) for step in report["steps"]]
        (at_home,) = harness.paths(own, "plimsoll-*/alpha/qm1/active/*0000000.LOG")
        (moved,) = harness.paths(own, "plimsoll-*/beta/qm1/active/*0000000.LOG")
        self.assertTrue(begins[1] <= moved.stat().st_mtime_ns < begins[2], "the standby wrote there in its step, and no later")
        self.assertGreaterEqual(at_home.stat().st_mtime_ns, begins[2])
        self.assertIn("PAYMENTS", {scope["queue_manager"] for scope in harness.scopes(report["steps"][1], "qm")
                                   if scope["host"] == "beta"})

    def writes(self, results):
        """Of the raw export: what each (step, host, number of the queue manager) wrote, as a list of sizes."""
        written = collections.defaultdict(list)
        out = self.plimsoll("export", results, "--format", "csv").out
        for row in csv.DictReader(io.StringIO(out, newline="")):
            written[(int(row["step"]), row["host"], int(row["qm"]))].append(int(row["bytes"]))
        return written

    def test_each_queue_manager_writes_on_its_standby_host_while_its_home_is_down_and_nothing_else_changes(self):
        process, out = self.run_placement()
        process.finish(120)
        found = self.result_of(process, out)
        report = found.report
        numbers = {host["label"]: [qm["name"] for qm in host["queue_managers"]] for host in report["hosts"]}
        self.assertEqual(numbers, {"alpha": ["PAYMENTS", "STOCK", "LEDGER"], "beta": ["PAYMENTS", "ORDERS", "LEDGER"],
                                   "gamma": ["ORDERS", "STOCK"]}, "each host has the files of its own and of those on standby")
        self.assertEqual([host["mount"]["prepared_bytes"] for host in report["hosts"]], [3 * 131072, 3 * 131072, 2 * 131072])

        written = self.writes(out)
        for number, down in enumerate([None, *HOSTS], 1):
            step = report["steps"][number - 1]
            self.assertEqual(step.get("down_host"), down)
            self.assertEqual({host for at, host, _ in written if at == number}, set(HOSTS) - {down}, "who wrote")
            expected = {(host_of(name, down), numbers[host_of(name, down)].index(name) + 1): name for name in QMS}
            self.assertEqual({(host, qm) for at, host, qm in written if at == number}, set(expected))
            scopes = {(scope["host"], scope["qm"]): scope for scope in harness.scopes(step, "qm")}
            self.assertEqual(set(scopes), set(expected), "figures are of those that wrote")
            for place, name in expected.items():
                sizes = written[(number, *place)]
                scope = scopes[place]
                self.assertEqual(scope["queue_manager"], name)
                self.assertEqual(set(sizes), {QMS[name][2]}, (number, name))
                self.assertEqual(scope["rate"]["asked_iops"], QMS[name][3])
                due = QMS[name][3] * DURATION_S
                # What a busy machine did not get done is counted; the last write may be due a moment too late.
                self.assertLessEqual(abs(len(sizes) + scope["rate"]["unserved"] - due), 2 + 0.1 * due, (number, name))
                if scope["rate"]["held"]:
                    self.assertGreaterEqual(scope["writes"] + 1, 0.99 * due)
            self.assertEqual(sorted(host["host"] for host in harness.scopes(step, "host")), sorted(set(HOSTS) - {down}))

        placement = report["placement"]
        self.assertEqual(placement["answer"], "Yes, at 50 % of its rates or more: with all hosts up, and with any one of the 3 hosts down.")
        self.assertEqual([row["down_host"] for row in placement["steps"]], ["", *HOSTS])
        self.assertTrue(all(row["played"] and row["outcome"] == "pass" for row in placement["steps"]), placement)
        self.assertEqual([[(one["queue_manager"], one["host"]) for one in row["moved"]] for row in placement["steps"]],
                         [[], [("PAYMENTS", "beta")], [("ORDERS", "gamma"), ("LEDGER", "alpha")], [("STOCK", "alpha")]])
        self.assertEqual({row["asked_iops"] for row in placement["steps"]}, {220})
        self.assertIn("Does the cluster carry its load with any one host down?", found.out)
        self.assertRegex(found.out, r"(?m)^ +3 +beta +2 +220 ")
        self.assertLessEqual(max(map(len, found.out.splitlines()[:-1])), 80)
        self.assertNotIn("unreported", found.out)
        self.assert_nothing_left()
        # Made again from the journal alone.
        kept = {name: (out / name).read_bytes() for name in ("report.txt", "report.json")}
        self.plimsoll("report", out)
        for name, content in kept.items():
            self.assertEqual((out / name).read_bytes(), content, name)

    def test_where_a_host_is_lost_nothing_is_said_of_any_host_down(self):
        # Long enough that the first step is still under way where a busy machine kills the host late.
        process, out = self.run_placement(duration_s=8)
        process.await_err(r"^step 1/")
        self.agents["gamma"].signal(signal.SIGKILL)
        process.finish(120)
        found = self.result_of(process, out, code=3)
        placement = found.report["placement"]
        self.assertEqual(placement["outcome"], "inconclusive")
        self.assertRegex(placement["answer"], r"^Not known: \d of 4 steps decide")
        self.assertFalse(placement["steps"][0]["played"])
        self.assertIn("gamma", placement["steps"][0]["reason"])

    def test_files_of_a_standby_count_in_the_space_and_in_the_caps_like_those_of_a_home(self):
        self.agents["alpha"] = self.agent("delta", more=("--max-bytes", "300k"))
        process, out = self.run_placement()
        process.finish()
        err = self.result_of(process, code=2).err
        self.assertRegex(err, r"delta[^\n]* asks for 393,216 bytes of extents \(3 x 2 x 64k\): lower the number of queue "
                              r"managers in placement, --num-files or --file-size, or start the agent with a larger --max-bytes")
        self.assertFalse(out.exists())
        dry = self.plimsoll("run", self.plan(ORDERS="", STOCK="", LEDGER=""), "--dry-run").out
        self.assertIn("256 KiB would be written to prepare; 3 steps of 2s after 500ms of warm-up", dry)
        self.assertIn("  step 2, ", dry)
        self.assert_nothing_left()

    def test_the_check_of_a_plan_reports_what_will_run_and_its_errors_have_their_lines(self):
        plan = self.plan()
        out = self.plimsoll("plan", "check", plan).out
        self.assertIn("3 hosts, 4 queue managers, 4 steps, 10s of writing", out)
        address = {name: agent.address for name, agent in self.agents.items()}
        self.assertIn(f"  step 3, {address['beta']} down\n    {address['alpha']}: PAYMENTS (16k, 100/s), >LEDGER (512, 20/s)\n"
                      f"    {address['gamma']}: >ORDERS (4k, 60/s), STOCK (8k, 40/s)\n", out)
        self.assertIn(f"  {address['alpha']}: 384 KiB for 1 at home and 2 on standby\n", out)
        self.assertIn("  in all: 1 MiB\n", out)
        home, standby = address["alpha"], address["beta"]
        plan = self.plan(ORDERS=f"  - {{qm: PAYMENTS, home: '{home}', standby: '{home}'}}",
                         STOCK=f"  - {{qm: STOCK, home: nowhere, standby: '{standby}', rate: 5}}", LEDGER="  - {qm: LEDGER, rate: 5}")
        text = plan.read_text().replace("workload: {", "hosts: [%s, %s, %s]\nworkload: {qm: 2, " % tuple(
            f"'{one}'" for one in address.values()))
        plan.write_text(text)
        err = self.plimsoll("plan", "check", plan, code=2).err
        for line, problem in ((2, r"--qm \(workload.qm\): a placement lists the queue managers"),
                              (8, r"placement\[2\].qm: PAYMENTS is there already, as number 1"),
                              (8, r"placement\[2\].standby: PAYMENTS has its home on \S+ too"),
                              (8, r"placement\[2\]: PAYMENTS has no rate"),
                              (9, r"placement\[3\].home: 'nowhere' is not one of hosts"),
                              (10, r"placement\[4\]: LEDGER has no 'home'"),
                              (10, r"placement\[4\]: LEDGER has no 'standby'")):
            self.assertRegex(err, rf"(?m)plan.yaml:{line}: {problem}")


if __name__ == "__main__":
    harness.main()
