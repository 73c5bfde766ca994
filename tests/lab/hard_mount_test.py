"""A hard mount whose server is gone: a write waits for it for ever, and nobody waits for the write."""

import re

import lab_support
from lab_support import harness
import network

HOST = "host1"
WRITE = r"qm1 has been in one write to (?P<path>/mnt/mqlog/plimsoll-\w+/host1/qm1/active/S000000\d\.LOG)"
# Emulated hosts are slow: a write takes tens of milliseconds when the machine is busy.
SLOW_S = 60


def moment_s(utc):
    return harness.moment_ns(utc) / 1e9


class HardMount(lab_support.LabTest):
    hosts = 1

    def hosts_says(self, *arguments):
        """What `plimsoll hosts` prints of the host; that it prints anything means that the agent answered."""
        return self.lab_plimsoll("hosts", "--hosts", self.addresses(HOST), *arguments).out

    def hang_in_hosts(self):
        """Path and age in seconds of the write that `plimsoll hosts` says is in flight."""
        text = self.hosts_says()
        match = re.search(rf"busy with +run \w+ of \S+ for \d+ s \(.*{WRITE} for (?P<age>\d+) s\)", text)
        self.assertIsNotNone(match, text)
        return match["path"], int(match["age"])

    def await_free(self):
        """Waits until the agent is in no session; then nothing is left, and the next run works."""
        harness.wait_until(lambda: "busy with" not in self.hosts_says(), "the agent free again", SLOW_S)
        self.assertEqual(self.on(HOST, "ls -A /mnt/mqlog"), "")
        run = self.start_lab_run([HOST], "--duration", "1")
        run.finish(SLOW_S)
        self.assertGreater(harness.cluster(self.result_of(run, run.results).report["steps"][0])["writes"], 0)

    def assert_refuses_work(self, reason):
        busy = self.start_lab_run([HOST])
        self.assertRegex(self.result_of(busy, code=4).err, r"is busy: run [0-9a-f]+ of \S+ has held it for \d+ s \(.*" + reason)
        self.assertFalse(busy.results.exists(), "nothing was measured")

    def test_the_agent_answers_and_says_which_write_is_in_flight(self):
        server = self.lab.machine("storage")
        # Connections that are over: the run's extents get the numbers of their descriptors.
        for asked in [self.start_plimsoll("hosts", "--hosts", self.addresses(HOST), wrap=lab_support.IN_LAB) for _ in range(4)]:
            self.assertEqual(asked.finish(), 0)
        run = self.start_lab_run([HOST], "--duration", "4", "--hang-limit", "3s")
        self.await_running(run)
        server.pause()
        run.await_err(r"^step 1/.*host1/qm1 in one write for [2-9] s")
        path, age_s = self.hang_in_hosts()
        harness.wait_until(lambda: (now := self.hang_in_hosts())[0] == path and now[1] > age_s, "the same write, older")
        self.assertRegex(self.hosts_says("--dir", lab_support.MQLOG),
                         r"directory +/mnt/mqlog: not examined: a call to the storage hangs")

        run.finish(SLOW_S)
        result = self.result_of(run, run.results, code=3)
        lost = re.search(rf"host host1 is lost: no progress for 3s \(--hang-limit\) while waiting for the step's "
                         rf"last writes; {WRITE} since (?P<since>\d{{4}}-[^\s,;]+)", result.err)
        self.assertIsNotNone(lost, result.err)
        (step,) = result.report["steps"]
        (write,) = step["in_flight"]
        self.assertEqual((write["host"], write["qm"], write["path"]), (HOST, 1, path))
        self.assertGreater(write["age_ns"], 3e9)
        # It began in the step, and had been in flight for its age when the host's last message arrived.
        began_s, lost_s = moment_s(write["since"]), moment_s(result.report["hosts"][0]["lost"]["at"])
        self.assertGreater(began_s, moment_s(step["start"]))
        # The same moment, in milliseconds and by what was known of the clock then.
        self.assertAlmostEqual(moment_s(lost["since"]), began_s, delta=0.1)
        self.assertLess(began_s + write["age_ns"] / 1e9, lost_s)
        self.assertRegex(result.out, rf"In flight when the data end: host1/qm1, since \S+, for [\d.]+ s, to\s+{re.escape(path)}")
        self.assertEqual(result.report["verdict"]["outcome"], "inconclusive")

        self.assert_refuses_work(f"{WRITE} for \\d+ s")
        server.resume()
        self.await_free()

    def test_extents_that_cannot_be_filled_are_said_in_the_same_way(self):
        server = self.lab.machine("storage")
        run = self.start_lab_run([HOST], "--file-size", "64m", "--hang-limit", "3s")
        run.await_err(r"^preparing +[1-9]\S* \S+ of 192 MiB")
        server.pause()
        run.finish(SLOW_S)
        filling = WRITE.replace("in one write to", "filling")
        result = self.result_of(run, code=4)
        self.assertRegex(result.err, rf"no progress for 3s \(--hang-limit\) while it prepared; {filling} since \d{{4}}-")
        self.assertFalse(run.results.exists(), "nothing was measured")
        self.assertRegex(self.hosts_says(), rf"busy with +run .*{filling} for \d+ s")
        self.assert_refuses_work(filling)
        server.resume()
        self.await_free()

    def test_a_link_that_comes_back_in_time_costs_one_long_write(self):
        number = self.lab.machine(HOST).number
        run = self.start_lab_run([HOST], "--duration", "6")
        self.await_running(run)
        network.set_port(lab_support.NAMESPACE, "storage", number, False)
        run.await_err(r"^step 1/.*host1/qm1 in one write for [2-9] s")
        path, _ = self.hang_in_hosts()
        network.set_port(lab_support.NAMESPACE, "storage", number, True)
        run.finish(SLOW_S)
        result = self.result_of(run, run.results)
        (step,) = result.report["steps"]
        self.assertEqual(step["in_flight"], [])
        # The mount waits and repeats; the writer sees one write that took as long.
        slowest = step["slowest"][0]
        self.assertGreater(slowest["latency_ns"], 2e9)
        self.assertTrue(path.endswith(f"/S{slowest['extent']:07d}.LOG"), (path, slowest))
        self.await_free()


if __name__ == "__main__":
    harness.main()
