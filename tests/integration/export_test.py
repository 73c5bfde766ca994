"""What `plimsoll export` writes agrees with the report, and other tools read it."""

import calendar
import collections
import csv
import io
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import time
import unittest

import harness
import namespaces
import perfetto_trace
from journal_bytes import payloads
from protobuf_wire import fields, packed

HDR_JAR = "/usr/share/java/hdrhistogram.jar"
AHEAD_S = 100_000
MIB = 1 << 20
# The default of --max-slew.
MAX_SLEW = 500e-6


def bucket(value_ns):
    """Bounds of the histogram's bucket that holds a value: 2,048 of 1 ns, then 1,024 for each power of two."""
    width = 1 << max(value_ns.bit_length() - 11, 0)
    lowest = value_ns // width * width
    return lowest, lowest + width - 1


def utc_ns(moment):
    """Nanoseconds since 1970 of "2026-11-20T19:20:11.000000042Z"."""
    whole, fraction = moment.rstrip("Z").split(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) * 1_000_000_000 + int(fraction)


def need_program(name):
    path = shutil.which(name)
    if path is None:
        raise unittest.SkipTest(f"{name} is not installed")
    return path


# Of a host in a step, in nanoseconds of the host's clock: its start, and the start of its first write; and how far the start
# may be from that of the step by what the controller knew of the clock.
Start = collections.namedtuple("Start", "start_ns first_write_ns off_ns")


def starts_of(journal):
    """{step: {host: Start}}, by the numbers of proto/plimsoll/v1: journal, agent (StepDone), frame (WriterTotals)."""
    names, begins, probes, starts = {}, {}, collections.defaultdict(list), collections.defaultdict(dict)
    for record in payloads(journal):
        for kind, value in fields(record):
            message = dict(fields(value)) if kind != 1 else {}
            if kind == 3:  # HostJoined
                names[message.get(1, 0)] = message[2].decode()
            elif kind == 4:  # ProbeBatch
                probes[message.get(1, 0)] += [dict(fields(probe)) for number, probe in fields(value) if number == 2]
            elif kind == 6:  # StepBegin
                begins[message.get(1, 0)] = (message[2], packed(message[3]),
                                             {host: off_ns(seen, message[2]) for host, seen in probes.items()})
            elif kind == 8:  # HostStepDone
                host, done = message.get(1, 0), message[2]
                step = dict(fields(done)).get(1, 0)
                firsts = [dict(fields(writer)).get(6) for number, writer in fields(done) if number == 2]
                if any(firsts):
                    starts[step + 1][names[host]] = Start(begins[step][1][host], min(filter(None, firsts)), begins[step][2][host])
    return starts


def off_ns(probes, at_ns):
    """How far two clocks that both agree with the probes may be apart at a moment of the controller's clock."""
    return min(probe[4] - probe[1] - (probe[3] - probe[2]) + 2 * MAX_SLEW * abs(at_ns - probe[4]) for probe in probes)


class Export(harness.PlimsollTest):
    # Each writer writes in each second.
    agents_ahead = True

    def export(self, result, form, *arguments, code=0):
        return self.plimsoll("export", result.results, "--format", form, *arguments, code=code).out

    def rows(self, result, *arguments):
        rows = list(csv.DictReader(io.StringIO(self.export(result, "csv", *arguments))))
        for row in rows:
            for name in ("timeline_ns", "qm", "step", "seq", "latency_ns", "bytes", "error_ns"):
                row[name] = int(row[name])
        return rows

    def run_two_hosts(self, *arguments):
        agents = [self.agent(name) for name in ("alpha", "beta")]
        return self.run_plan("--hosts", ",".join(agent.address for agent in agents), "--qm", "2", *arguments)

    def own_starts(self, result):
        """When each host started to measure, exported: {step: {host: (ns since 1970, error)}}.

        Its start was computed from what was known of its clock then. The export knows the clock better, from the probes of
        the whole run."""
        first_rows = {}
        for row in self.rows(result, "--warmup"):
            first_rows.setdefault((row["step"], row["host"]), row)
        starts = collections.defaultdict(dict)
        steps = {step["number"]: step for step in result.report["steps"]}
        for number, hosts in starts_of(result.results / "journal").items():
            step = steps[number]
            for host, start in hosts.items():
                row = first_rows[number, host]
                own_ns = utc_ns(row["utc"]) - (start.first_write_ns - start.start_ns) + step["warmup_ns"]
                self.assertLessEqual(abs(own_ns - utc_ns(step["start"])), start.off_ns + row["error_ns"], (number, host))
                starts[number][host] = (own_ns, row["error_ns"])
        return starts

    def check_agrees(self, result, rows):
        """Every scope of the report is made of the rows that belong to it."""
        starts = self.own_starts(result)
        self.assertEqual([row["timeline_ns"] for row in rows], sorted(row["timeline_ns"] for row in rows))
        seen = collections.defaultdict(int)
        storages = {host["label"]: host["storage"] for host in result.report["hosts"]}
        for step in result.report["steps"]:
            of_step = [row for row in rows if row["step"] == step["number"]]
            self.assertEqual({row["bytes"] for row in of_step}, {step["block_size_bytes"]})
            for scope in step["scopes"]:
                mine = [row for row in of_step if scope["host"] in ("", row["host"])
                        and scope["qm"] in (0, row["qm"]) and scope["storage"] in (0, storages[row["host"]])]
                self.check_scope(scope, mine)
                self.check_throughput(step, scope, mine, starts[step["number"]])
            for row in of_step:
                writer = (step["number"], row["host"], row["qm"])
                self.assertGreater(row["seq"], seen[writer], "numbers rise")
                seen[writer] = row["seq"]
                self.assertGreater(row["error_ns"], 0)

    def check_scope(self, scope, rows):
        latencies = sorted(row["latency_ns"] for row in rows)
        latency = scope["latency"]
        if not rows:  # A machine that has too much to do: not one write of this writer in the measured time.
            self.assertEqual((latency["count"], scope["writes"]), (0, 0), scope["kind"])
            return
        self.assertEqual((len(latencies), sum(latencies), latencies[0], latencies[-1]),
                         (latency["count"], latency["sum_ns"], latency["min_ns"], latency["max_ns"]), scope["kind"])
        for name, percent in (("p50_ns", 50), ("p90_ns", 90), ("p99_ns", 99), ("p99_9_ns", 99.9),
                              ("p99_99_ns", 99.99)):
            exact = latencies[max(math.ceil(len(latencies) * percent / 100 - 1e-9), 1) - 1]
            self.assertEqual(bucket(exact), bucket(latency[name]), (scope["kind"], name))
        slowest = scope["slowest"]
        (row,) = [row for row in rows if (row["host"], row["qm"], row["seq"]) == (
            slowest["host"], slowest["qm"], slowest["number"])]
        self.assertEqual(row["latency_ns"], slowest["latency_ns"])
        # Each moment is within its own error of the truth.
        self.assertEqual(row["utc"][:17], slowest["start"][:17])
        apart_s = abs(float(row["utc"][17:-1]) - float(slowest["start"][17:-1]))
        self.assertLessEqual(apart_s * 1e9, row["error_ns"] + slowest["error_ns"])

    def check_throughput(self, step, scope, rows, starts):
        """Writes that ended in time, by their host's start, make the rates; the others are the closing ones. Clocks leave
        some open."""
        if not rows:
            self.assertEqual((scope["iops"], scope["closing"]["writes"]), (0, 0), scope["kind"])
            return
        late_ns = [utc_ns(row["utc"]) + row["latency_ns"] - starts[row["host"]][0] - scope["measured_ns"] for row in rows]
        error_ns = max(row["error_ns"] + starts[row["host"]][1] for row in rows)
        self.assertLessEqual(sum(late > error_ns for late in late_ns), scope["closing"]["writes"], scope["kind"])
        self.assertGreaterEqual(sum(late >= -error_ns for late in late_ns), scope["closing"]["writes"], scope["kind"])
        self.assertEqual(scope["writes"], len(rows) - scope["closing"]["writes"])
        self.assertAlmostEqual(scope["iops"], scope["writes"] * 1e9 / scope["measured_ns"], delta=1e-6 * scope["iops"])
        self.assertAlmostEqual(scope["mb_per_second"], scope["iops"] * step["block_size_bytes"] / 1e6,
                               delta=1e-6 * scope["mb_per_second"])

    def test_response_times_with_a_rate_follow_from_the_writes_and_the_schedule(self):
        rate, warmup_ns, duration_ns = 100_000, 200_000_000, 500_000_000
        result = self.run_two_hosts("--bsize", "4k", "--rate", str(rate), "--warmup", "200ms", "--duration", "500ms")
        rows = self.rows(result)
        self.check_agrees(result, rows)
        (step,) = result.report["steps"]
        starts = self.own_starts(result)[1]
        # Write n of a step, from 1 and with the warm-up, is due (n - 1) / rate after its host's start.
        due_ns = [number * 1_000_000_000 // rate - warmup_ns for number in range(rate * (warmup_ns + duration_ns) // 1_000_000_000)]
        responses = {}
        for host, qm in {(row["host"], row["qm"]) for row in rows}:
            mine = [row for row in rows if (row["host"], row["qm"]) == (host, qm)]
            served = [utc_ns(row["utc"]) + row["latency_ns"] - starts[host][0] - due_ns[row["seq"] - 1] for row in mine]
            # What was due in the measured time and never started is as old as it was at its end.
            unserved = [duration_ns - due for due in due_ns[mine[-1]["seq"]:] if due >= 0]
            responses[(host, qm)] = (served, unserved)
        error_ns = max(row["error_ns"] for row in rows) + max(error_ns for _, error_ns in starts.values())
        storages = {host["label"]: host["storage"] for host in result.report["hosts"]}
        self.assertEqual({scope["kind"] for scope in step["scopes"]}, {"qm", "host", "storage", "cluster"})
        for scope in step["scopes"]:
            mine = [one for (host, qm), one in responses.items() if scope["host"] in ("", host)
                    and scope["qm"] in (0, qm) and scope["storage"] in (0, storages[host])]
            unserved = [age for _, ages in mine for age in ages]
            self.assertEqual(scope["rate"]["unserved"], len(unserved), scope["kind"])
            every = sorted([response for served, _ in mine for response in served] + unserved)
            told = scope["rate"]["response"]
            self.assertEqual(told["count"], len(every), scope["kind"])
            self.assertAlmostEqual(told["avg_ns"], sum(every) / len(every), delta=error_ns)
            self.assertAlmostEqual(told["sum_ns"], sum(every), delta=error_ns * len(every))
            self.assertAlmostEqual(told["max_ns"], every[-1], delta=error_ns)
            self.assertAlmostEqual(told["min_ns"], max(every[0], 0), delta=error_ns)
            for name, percent in (("p50_ns", 50), ("p90_ns", 90), ("p99_ns", 99), ("p99_9_ns", 99.9), ("p99_99_ns", 99.99)):
                exact = every[max(math.ceil(len(every) * percent / 100 - 1e-9), 1) - 1]
                self.assertGreaterEqual(told[name], exact - error_ns, (scope["kind"], name))
                self.assertLessEqual(told[name], bucket(max(exact, 0) + error_ns)[1], (scope["kind"], name))

    def test_every_write_of_two_hosts_is_in_the_csv_and_agrees_with_the_report(self):
        result = self.run_two_hosts("--bsize", "4k,64k", "--repeat", "2", "--warmup", "200ms")
        rows = self.rows(result)
        self.check_agrees(result, rows)
        marked = self.rows(result, "--warmup")
        self.assertEqual([row for row in marked if row.pop("part") == "measured"], rows)
        warmup = sum(harness.cluster(step)["warmup_writes"] for step in result.report["steps"])
        self.assertEqual(len(marked) - len(rows), warmup)
        self.assertGreater(warmup, 0)
        self.assertEqual(self.rows(result, "--step", "3"), [row for row in rows if row["step"] == 3])

    def test_a_host_whose_clock_is_far_ahead_is_on_the_same_timeline(self):
        namespaces.need("--time", "--fork")
        near = self.agent("near")
        far = self.agent("far", wrap=namespaces.clock_ahead(AHEAD_S))
        result = self.run_plan("--hosts", f"{near.address},{far.address}", "--qm", "2", "--bsize", "4k,64k")
        rows = self.rows(result)
        self.check_agrees(result, rows)
        for step in result.report["steps"]:
            starts = {name: min(row["timeline_ns"] for row in rows
                                if (row["step"], row["host"]) == (step["number"], name)) for name in ("near", "far")}
            errors = sum(host["error_ns"] for host in step["start_skew"]["hosts"])
            skew = max(host["behind_ns"] for host in step["start_skew"]["hosts"])
            self.assertLess(abs(starts["near"] - starts["far"]), skew + errors + 1_000_000)

    def test_untraced_writes_are_counted_and_no_fault(self):
        result = self.run_plan("--trace", "off")
        process = self.start_plimsoll("export", result.results, "--format", "csv")
        self.assertEqual(process.finish(), 0)
        writes = harness.cluster(result.report["steps"][0])["latency"]["count"]
        self.assertRegex(process.err, rf"^plimsoll: {writes:,} of {writes:,} writes were not traced and are not exported")
        self.assertEqual(len(process.out.splitlines()), 1)

    def test_fio_reads_the_logs(self):
        fio2gnuplot = need_program("fio2gnuplot")
        # Each writer writes more than once in that time, which the tool takes for granted.
        result = self.run_two_hosts("--bsize", "64k", "--duration", "4")
        self.export(result, "fio-log")
        logs = sorted((result.results / "fio-log").iterdir())
        self.assertEqual([log.name for log in logs], [f"{name}_{kind}.{number}.log" for number, name in
                                                      enumerate(("alpha_qm1", "alpha_qm2", "beta_qm1", "beta_qm2"), 1)
                                                      for kind in ("clat", "lat")])
        for clat, lat in zip(logs[::2], logs[1::2]):
            self.assertEqual(clat.read_bytes(), lat.read_bytes())
        logs = logs[::2]
        rows = self.rows(result)
        values = []
        for number, log in enumerate(logs):
            writer = ("alpha" if number < 2 else "beta", number % 2 + 1)
            lines = [tuple(map(int, line.split(", "))) for line in log.read_text().splitlines()]
            mine = [row for row in rows if (row["host"], row["qm"]) == writer]
            self.assertEqual([(line[1], *line[2:4], line[5]) for line in lines],
                             [(row["latency_ns"], 1, 65536, 0) for row in mine])
            self.assertEqual([line[0] for line in lines], sorted(line[0] for line in lines))
            # Three extents of 256 KiB, four blocks in each.
            self.assertEqual([line[4] for line in lines], [(row["seq"] - 1) % 12 * 65536 for row in mine])
            values += [line[1] for line in lines if line[0] > 0]  # The tool leaves out what ends at 0 ms.
        out = self.base / "gnuplot"
        tool = subprocess.run([fio2gnuplot, "-p", "*_clat.*.log", "-d", out, "-k"], cwd=result.results / "fio-log",
                              check=False, capture_output=True, text=True, timeout=harness.LONG_S)
        self.assertEqual(tool.returncode, 0, tool.stdout + tool.stderr)
        (totals,) = out.glob("*.global")
        told = dict(line.split("=") for line in totals.read_text().split())
        self.assertEqual((int(told["disks_count"]), int(told["values_count"])), (4, len(values)))
        self.assertEqual((float(told["min"]), float(told["max"])), (min(values), max(values)))
        self.assertAlmostEqual(float(told["avg"]), sum(values) / len(values), delta=0.01)
        self.plimsoll("export", result.results, "--format", "fio-log", code=2)  # Nothing is overwritten.

    def test_hdrhistogram_reads_the_interval_log_bucket_for_bucket(self):
        java = need_program("java")
        if not os.path.exists(HDR_JAR):
            self.skipTest(f"{HDR_JAR} (libhdrhistogram-java) is not installed")
        result = self.run_two_hosts("--bsize", "4k", "--duration", "2", "--warmup", "250ms")
        path = self.base / "run.hlog"
        self.export(result, "hlog", "--output", path)
        source = pathlib.Path(__file__).with_name("HlogBuckets.java")
        read = subprocess.run([java, "-cp", HDR_JAR, source, path], check=True, capture_output=True, text=True,
                              timeout=harness.LONG_S).stdout
        found = collections.defaultdict(collections.Counter)
        begins = collections.defaultdict(list)
        for line in read.splitlines():
            tag, begin, end, count, *buckets = line.split()
            begins[tag].append(int(begin))
            self.assertLessEqual(int(begin), int(end))
            counts = [tuple(map(int, each.split(":"))) for each in buckets]
            self.assertEqual(sum(each[2] for each in counts), int(count))
            for lowest, highest, each in counts:
                found[tag][lowest, highest] += each
        wanted = collections.defaultdict(collections.Counter)
        for row in self.rows(result):
            for tag in ("-", f"{row['host']}/qm{row['qm']}"):
                wanted[tag][bucket(row["latency_ns"])] += 1
        self.assertEqual(found, wanted)
        first, second = begins["-"][:2]
        self.assertAlmostEqual(second - first, 1000, delta=2)  # The library's moments are doubles, cut to whole ms.
        start = result.report["steps"][0]["start"]
        self.assertAlmostEqual(first / 1000 % 60, float(start[17:-1]), delta=0.002)

    def test_a_perfetto_trace_holds_every_write_as_a_slice(self):
        result = self.run_two_hosts("--bsize", "4k,64k")
        self.export(result, "perfetto")
        trace = perfetto_trace.Trace((result.results / "trace.perfetto-trace").read_bytes())
        hosts = {uuid: track for uuid, track in trace.tracks.items() if track.parent is None}
        self.assertEqual(sorted(track.name for track in hosts.values()), ["alpha", "beta"])
        self.assertEqual(len({track.pid for track in hosts.values()}), 2)
        open_slices = {}
        slices = collections.defaultdict(list)
        self.assertEqual([event.time_ns for event in trace.events], sorted(event.time_ns for event in trace.events))
        for event in trace.events:
            track = trace.tracks[event.track]
            self.assertIn(track.parent, hosts)
            writer = (hosts[track.parent].name, int(track.name.removeprefix("qm")))
            if event.kind == "begin":
                self.assertNotIn(event.track, open_slices, "slices overlap")
                open_slices[event.track] = event
                continue
            begun = open_slices.pop(event.track)
            self.assertLessEqual(event.time_ns - begun.time_ns, begun.arguments["latency_ns"])
            slices[writer].append((begun.time_ns, begun.name, begun.arguments["number"],
                                   begun.arguments["latency_ns"], begun.arguments["clock_error_ns"]))
        self.assertEqual(open_slices, {}, "every slice ends")
        wanted = collections.defaultdict(list)
        for row in self.rows(result):
            name = {1: "step 1: 4 KiB", 2: "step 2: 64 KiB"}[row["step"]]
            wanted[row["host"], row["qm"]].append((row["timeline_ns"], name, row["seq"], row["latency_ns"],
                                                   row["error_ns"]))
        self.assertEqual(slices, wanted)
        self.assertEqual(sorted(trace.clocks), [1, 3, 6])

    def test_fio_runs_the_job_as_the_run_wrote(self):
        fio = need_program("fio")
        for arguments, wanted in [
            (("--bsize", "4k,16k", "--qm", "2", "--num-files", "3", "--file-size", "256k", "--direct", "off"),
             {"rw": "write", "sync": "dsync", "direct": "0", "nrfiles": "3", "filesize": "262144", "bs": ["4096", "16384"], "numjobs": "2"}),
            (("--access", "random", "--read-percent", "70", "--rate", "200", "--arrival", "poisson", "--file-size", "256k"),
             {"rw": "randrw", "rwmixread": "70", "rate_iops": ["200"], "rate_process": "poisson"}),
            (("--bsize-mix", "4k=70,64k=30", "--sync", "fdatasync", "--file-size", "256k", "--delay", "1ms"),
             {"bssplit": ["4096/70:65536/30"], "fdatasync": "1", "thinktime": "1000"}),
        ]:
            with self.subTest(arguments=arguments):
                result = self.run_plan(*arguments)
                job = self.base / f"{result.results.name}.fio"
                self.export(result, "fio-job", "--output", job)
                out = json.loads(subprocess.run([fio, job, "--output-format=json"], check=True, capture_output=True, text=True).stdout)
                of_jobs = [one["job options"] for one in out["jobs"]]
                seen = {**out["global options"], **{name: [of[name] for of in of_jobs[::int(of_jobs[0]["numjobs"])]]
                                                    for name in of_jobs[0] if isinstance(wanted.get(name), list)}}
                seen["numjobs"] = of_jobs[0]["numjobs"]
                self.assertEqual({name: seen.get(name) for name in wanted}, wanted)
                self.assertEqual(len(out["jobs"]), len(result.report["steps"]) * int(seen["numjobs"]))
                self.assertTrue(all(one["write"]["total_ios"] > 0 and one["error"] == 0 for one in out["jobs"]))
                for path in self.dir.iterdir():
                    path.unlink()
        result = self.run_plan("--clients", "4", "--file-size", "256k")
        refused = self.plimsoll("export", result.results, "--format", "fio-job", code=2)
        self.assertIn("which fio has no option for", refused.err)

    def test_fios_own_tool_reads_the_json(self):
        clat2csv = need_program("fio_jsonplus_clat2csv")
        # Long enough for each queue manager to have written, on a busy machine, too.
        result = self.run_two_hosts("--bsize", "4k,64k", "--duration", "2")
        path = self.base / "fio.json"
        self.export(result, "fio-json", "--output", path)
        document = json.loads(path.read_text())
        jobs = document["jobs"]
        self.assertEqual(document["client_stats"], jobs)
        scopes = [(step, scope) for step in result.report["steps"] for scope in step["scopes"]
                  if scope["kind"] in ("qm", "cluster")]
        self.assertEqual(len(jobs), len(scopes))
        for job, (step, scope) in zip(jobs, scopes):
            write, latency = job["write"], scope["latency"]
            self.assertNotIn("sync", job)
            self.assertNotIn("slat_ns", write)
            self.assertEqual((job["groupid"], write["total_ios"], write["io_bytes"], write["iops"]),
                             (step["number"] - 1, scope["writes"], scope["bytes"], scope["iops"]))
            for kind in ("clat_ns", "lat_ns"):
                told = write[kind]
                self.assertEqual((told["min"], told["max"], told["mean"], told["N"]),
                                 (latency["min_ns"], latency["max_ns"], latency["avg_ns"], latency["count"]))
                self.assertEqual(told["percentile"]["50.000000"], latency["p50_ns"])
                self.assertEqual(sum(told["bins"].values()), latency["count"])
        for arguments in ([], ["--validate"]):
            subprocess.run([clat2csv, path, self.base / "fio.csv", *arguments], check=True, capture_output=True,
                           timeout=harness.LONG_S)
        for number, job in enumerate(jobs):
            lines = (self.base / f"fio_job{number}.csv").read_text().splitlines()
            column = lines[0].split(", ").index("write_clat_ns_cumulative")
            self.assertEqual(int(lines[-1].split(", ")[column]), job["write"]["clat_ns"]["N"])


class ExportPage(harness.PlimsollTest):
    """The commands of docs/export.md, with the consumers that they name."""
    agents_ahead = True

    def setUp(self):
        super().setUp()
        agents = [self.agent(name) for name in ("alpha", "beta")]
        hosts = ("--hosts", ",".join(agent.address for agent in agents), "--qm", "2", "--duration", "2")
        self.results = {"one step": self.run_plan(*hosts, "--bsize", "4k"), "several steps": self.run_plan(*hosts, "--bsize", "4k,64k")}
        page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "export.md"
        blocks = re.findall(r"^```\n(.*?)^```$", page.read_text(), re.M | re.S)
        commands = "".join(blocks).replace(" |\n", " | ").splitlines()
        self.commands = [command for command in commands if re.match(r"plimsoll|cd|java", command)]
        self.assertEqual(len(self.commands), len(commands), "a line that is not a command")

    def run_command(self, command, result, code=0):
        """What a command of the page prints; later ones find the files of earlier ones."""
        place = self.base / result.results.name
        place.mkdir(exist_ok=True)
        environment = {**self.environment, "PATH": f"{os.path.dirname(harness.binary('plimsoll'))}:{os.environ['PATH']}"}
        shell = subprocess.run(["bash", "-o", "pipefail", "-c", re.sub(r"\bDIR\b", str(result.results), command)], cwd=place,
                               env=environment, capture_output=True, text=True, check=False, timeout=harness.LONG_S)
        self.assertEqual(shell.returncode, code, (command, shell.stdout[-2000:], shell.stderr[-2000:]))
        return place, shell

    def test_each_command_does_what_the_page_says(self):
        for program in ("fio_generate_plots", "gnuplot", "fio2gnuplot", "fio_jsonplus_clat2csv", "java"):
            need_program(program)
        if not os.path.exists(HDR_JAR):
            self.skipTest(f"{HDR_JAR} is not installed")
        writers = ["alpha/qm1", "alpha/qm2", "beta/qm1", "beta/qm2"]
        for kind, result in self.results.items():
            steps = result.report["steps"]
            count = sum(harness.cluster(step)["latency"]["count"] for step in steps)
            checked = collections.Counter()
            for command in self.commands:
                other = re.search(r"# (one step|several steps)$", command)
                if other and other.group(1) != kind:
                    continue
                with self.subTest(kind=kind, command=command):
                    tool = re.search(r"fio_generate_plots|fio2gnuplot|HistogramLogProcessor|--format \S+", command).group()
                    place, shell = self.run_command(command, result, code=1 if tool == "fio_generate_plots" else 0)
                    checked[tool] += 1
                    if tool == "fio_generate_plots":
                        self.assertIn("No log files found", shell.stdout)
                        picture = (place / "logs" / "my run-lat.svg").read_text()
                        self.assertEqual(len(re.findall(r'id="gnuplot_plot_\d+"', picture)), len(writers))
                    elif tool == "fio2gnuplot":
                        self.assertEqual(len(list((place / "logs" / "plots").glob("*.png"))) > 0, True, shell.stdout)
                    elif tool == "HistogramLogProcessor":
                        wanted = harness.cluster(steps[1])["latency"]["count"] if "step2" in command else count
                        if "alpha/qm1" in command:
                            wanted = harness.scopes(steps[0], "qm")[0]["latency"]["count"]
                        (total,) = re.findall(r"Total count += +(\d+)", shell.stdout)
                        self.assertEqual(int(total), wanted)
                    elif tool == "--format hlog":
                        self.assertEqual("-tag step1" in shell.stderr, kind == "several steps", shell.stderr)
                    elif tool == "--format fio-json":
                        self.assertEqual(len(list(place.glob("run_job*.csv"))), (len(writers) + 1) * len(steps))
                    elif tool == "--format fio-job":
                        subprocess.run([need_program("fio"), "--parse-only", "job.fio"], cwd=place, check=True, capture_output=True)
                    elif tool == "--format evidence":
                        rows = (place / "evidence.csv").read_text().splitlines()
                        self.assertEqual(sum(row.startswith("write,") for row in rows), min(count, 100))
                    elif tool == "--format csv":
                        rows = [line.split() for line in shell.stdout.splitlines()]
                        self.assertEqual(sorted(row[0] for row in rows), writers)
                        self.assertEqual(sum(int(row[1]) for row in rows), count)
            self.assertEqual(checked, {"--format csv": 1, "--format fio-log": 1, "fio_generate_plots": 1, "fio2gnuplot": 1,
                                       "--format hlog": 1, "--format fio-json": 1, "--format fio-job": 1, "--format evidence": 1,
                                       "HistogramLogProcessor": 2 if kind == "one step" else 1})


class ExportTrouble(harness.PlimsollTest):
    in_memory = True

    def setUp(self):
        super().setUp()
        # Some ten thousands of writes; on a busy machine a thousand.
        process = self.start_run("--sync", "none", "--direct", "off", "--qm", "2")
        self.assertIn(process.finish(), (0, 3))
        self.results = process.results

    def test_a_reader_that_goes_away_ends_the_export_silently(self):
        command = [harness.binary("plimsoll"), "export", self.results, "--format", "csv"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self.assertIn("timeline_ns", process.stdout.readline())
            process.stdout.close()
            error = process.stderr.read()
            self.assertEqual(process.wait(harness.LONG_S), 0)
        self.assertEqual(error, "")
        with open("/dev/full", "w", encoding="ascii") as full:
            process = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((process.returncode, process.stderr), (3, "plimsoll: standard output could not be written\n"))

    def test_a_full_disk_is_reported_with_the_files_name_and_leaves_nothing(self):
        for form, name in (("csv", "out"), ("perfetto", "out"), ("fio-log", "out")):
            with self.subTest(form=form):
                path = self.base / name
                result = self.plimsoll("export", self.results, "--format", form, "--output", path, code=2,
                                       wrap=["prlimit", "--fsize=8192"])
                (line,) = result.errors
                self.assertRegex(line, rf"^plimsoll: write {re.escape(str(path))}\S*: File too large")
                self.assertFalse(path.exists())
                self.assertEqual([str(left) for left in self.base.glob("out*")], [])

    def test_a_cut_off_journal_gives_what_is_whole(self):
        journal = (self.results / "journal").read_bytes()
        cut = self.base / "journal"
        cut.write_bytes(journal[:len(journal) * 2 // 3])
        result = self.plimsoll("export", cut, "--format", "csv", code=3)
        self.assertRegex(result.err, r"is cut off at byte [\d,]+; the export ends there")
        report = self.plimsoll("report", "--json", "--print-only", cut, code=3)
        scopes = json.loads(report.out)["steps"][0]["scopes"]
        self.assertEqual(len(result.out.splitlines()) - 1, scopes[-1]["latency"]["count"])

    def test_what_is_wrong_is_refused_in_one_line(self):
        for arguments, pattern in (
            ([self.base / "nothing", "--format", "csv"], "nothing does not exist"),
            ([self.results, "--format", "xml"], "unknown format 'xml'; formats are csv, fio-log, hlog, perfetto, fio-json"),
            ([self.results], "--format is required"),
            ([self.results, "--format", "csv", "--step", "2"], "no step 2"),
            ([self.results, "--format", "csv", "--output", "/nowhere/x"], "/nowhere/x cannot be written: /nowhere does not exist"),
        ):
            with self.subTest(arguments=arguments):
                result = self.plimsoll("export", *arguments, code=2)
                self.assertEqual((len(result.errors), result.out), (1, ""))
                self.assertIn(pattern, result.errors[0])


if __name__ == "__main__":
    harness.main()
