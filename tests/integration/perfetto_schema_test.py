"""Perfetto's own published schema reads an exported trace, and knows every field in it."""

import ast
import collections
import glob
import pathlib
import re
import subprocess
import unittest
import zipfile

import harness
import perfetto_trace

SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "build" / "perfetto"
MODULE = "perfetto/protos/perfetto/trace/perfetto_trace_pb2.py"
TYPES = {"TYPE_SLICE_BEGIN": "begin", "TYPE_SLICE_END": "end"}


def _varint(value):
    text = bytearray()
    while value >= 0x80:
        text.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(text + bytes([value]))


def published_schema(path):
    """Writes the schema as protoc takes it: a FileDescriptorSet, of which field 1 is a file's descriptor."""
    wheels = glob.glob(str(SCHEMAS / "perfetto-*.whl"))
    if not wheels:
        raise unittest.SkipTest("Perfetto's schema is not there: scripts/perfetto-schema fetches it")
    with zipfile.ZipFile(wheels[0]) as wheel:
        module = ast.parse(wheel.read(MODULE))
    files = [node.args[0].value for node in ast.walk(module)
             if isinstance(node, ast.Call) and getattr(node.func, "attr", None) == "AddSerializedFile"]
    path.write_bytes(b"".join(b"\x0a" + _varint(len(each)) + each for each in files))


def packets(text):
    """protoc's text of a trace as dictionaries of lists, message by message; names are those of the schema."""
    stack = [collections.defaultdict(list)]
    for line in text.splitlines():
        line = line.strip()
        if line.endswith("{"):
            message = collections.defaultdict(list)
            stack[-1][line[:-1].strip()].append(message)
            stack.append(message)
        elif line == "}":
            stack.pop()
        else:
            name, value = line.split(": ", 1)
            stack[-1][name].append(ast.literal_eval(value) if value[0] in '"-0123456789' else value)
    return stack[0]["packet"]


class PerfettoSchema(harness.PlimsollTest):

    def test_the_published_schema_knows_every_field_of_a_trace(self):
        published_schema(self.base / "schema")
        agents = [self.agent(name) for name in ("alpha", "beta")]
        result = self.run_plan("--hosts", ",".join(agent.address for agent in agents), "--qm", "2",
                               "--bsize", "4k,64k", "--rate", "200")
        self.plimsoll("export", result.results, "--format", "perfetto", code=0)
        data = (result.results / "trace.perfetto-trace").read_bytes()
        decoded = subprocess.run(
            ["protoc", f"--descriptor_set_in={self.base / 'schema'}", "--decode=perfetto.protos.Trace",
             "protos/perfetto/trace/perfetto_trace.proto"],
            input=data, capture_output=True, timeout=harness.LONG_S)
        self.assertEqual(decoded.returncode, 0, decoded.stderr.decode())
        text = decoded.stdout.decode()
        unknown = re.findall(r"^\s*\d+\s*[:{].*", text, re.MULTILINE)
        self.assertEqual(unknown, [], "fields that the schema does not know, or of another type")

        ours = perfetto_trace.Trace(data)
        theirs = packets(text)
        tracks = {each["uuid"][0]: each["name"][0] for packet in theirs for each in packet["track_descriptor"]}
        self.assertEqual(tracks, {uuid: track.name for uuid, track in ours.tracks.items()})
        events = [(packet["timestamp"][0], TYPES[event["type"][0]], event["track_uuid"][0])
                  for packet in theirs for event in packet["track_event"]]
        self.assertEqual(events, [(event.time_ns, event.kind, event.track) for event in ours.events])
        writes = sum(scope["latency"]["count"] for step in result.report["steps"] for scope in step["scopes"]
                     if scope["kind"] == "cluster")
        self.assertEqual(len(events), 2 * writes)
        self.assertGreater(writes, 0)
        names = {each["iid"][0]: each["name"][0] for packet in theirs for data in packet["interned_data"]
                 for each in data["debug_annotation_names"]}
        latencies = [annotation["uint_value"][0] for packet in theirs for event in packet["track_event"]
                     for annotation in event["debug_annotations"]
                     if names[annotation["name_iid"][0]] == "latency_ns"]
        self.assertEqual(latencies, [event.arguments["latency_ns"] for event in ours.events if event.kind == "begin"])


if __name__ == "__main__":
    harness.main()
