"""What went over the storage network: a capture at a host's port, and the WRITEs and COMMITs that tshark reads from it.

Every page that Plimsoll writes says which write made it (common/page_stamp.h), on the wire too: a WRITE is told to the step
and the number of the write that it belongs to by its own bytes, not by its time.
"""

import collections
import dataclasses
import re
import signal
import struct
import subprocess
import xml.etree.ElementTree

import lab_support
from lab_support import harness
import network

COMMIT, WRITE = "5", "38"  # operations of NFSv4, RFC 7530 section 16
UNSTABLE, DATA_SYNC, FILE_SYNC = "UNSTABLE", "DATA_SYNC", "FILE_SYNC"
HOW = {"0": UNSTABLE, "1": DATA_SYNC, "2": FILE_SYNC}
CALL = "0"
MAGIC = b"PLIMPAGE"


@dataclasses.dataclass(frozen=True)
class Write:
    """One WRITE of a log's block, with the answer to it. Step from 1; 0: an extent is filled."""
    time_s: float
    answered_s: float
    step: int
    qm: int
    sequence: int
    page: int
    bytes: int
    offset: int
    asked: str
    answered: str
    written: int


@dataclasses.dataclass(frozen=True)
class Commit:
    time_s: float


class Capture:
    """Takes what passes at a host's storage port until `stop`."""

    def __init__(self, test, number):
        self._file = test.base / "wire.pcapng"
        self._process = test.start(harness.Process, [
            *lab_support.IN_LAB, "dumpcap", "-i", network.port("storage", number), "-f", "tcp port 2049", "-B", "64",
            "-w", self._file])
        self._process.await_err("^File: ")

    def stop(self):
        """The WRITEs of log blocks and the COMMITs, each list in the order of time."""
        self._process.signal(signal.SIGINT)
        code = self._process.finish()
        if code != 0 or not re.search(r"received/dropped on interface '\S+': \d+/0 ", self._process.err):
            raise AssertionError(f"the capture is not whole ({code}): {self._process.err}")
        return _read(self._file)


def _messages(file):
    """(time, xid, kind, fields) of each message with a WRITE or a COMMIT: all values of a field, by its name."""
    argv = ["tshark", "-r", file, "-Y", f"nfs.opcode == {COMMIT} || nfs.opcode == {WRITE}", "-T", "pdml", "-J", "frame rpc nfs"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as tshark:
        for _, packet in xml.etree.ElementTree.iterparse(tshark.stdout):
            if packet.tag != "packet":
                continue
            # A packet may end several messages.
            for proto in packet.iter("proto"):
                values = collections.defaultdict(list)
                for field in proto.iter("field"):
                    values[field.get("name")].append(field.get("value") if field.get("name") == "nfs.data" else field.get("show"))
                if proto.get("name") == "frame":
                    time_s = float(values["frame.time_epoch"][0])
                elif proto.get("name") == "rpc":
                    (xid,), (kind,) = values["rpc.xid"], values["rpc.msgtyp"]
                elif proto.get("name") == "nfs" and {COMMIT, WRITE} & set(values["nfs.opcode"]):
                    yield time_s, xid, kind, values
            packet.clear()
    if tshark.returncode != 0:
        raise AssertionError(f"{argv} ended with {tshark.returncode}")


def _read(file):
    calls, answers = {}, {}
    for time_s, xid, kind, values in _messages(file):
        place = calls if kind == CALL else answers
        if xid in place:
            raise AssertionError(f"two messages have the number {xid}")
        place[xid] = time_s, values
    if calls.keys() != answers.keys():
        raise AssertionError(f"calls without an answer, or answers without a call: {calls.keys() ^ answers.keys()}")
    writes, commits = [], []
    for xid, (time_s, call) in calls.items():
        answered_s, answer = answers[xid]
        if set(answer["nfs.nfsstat4"]) != {"0"}:
            raise AssertionError(f"call {xid} failed: {answer}")
        if COMMIT in call["nfs.opcode"]:
            commits.append(Commit(time_s))
            continue
        (data,), (offset,), (asked,) = call["nfs.data"], call["nfs.offset4"], call["nfs.stable_how4"]
        data = bytes.fromhex(data)
        if data.startswith(MAGIC):  # not so the marker of the run's directory
            _host, qm, epoch, page, sequence = struct.unpack_from("<IIIIQ", data, 24)
            writes.append(Write(time_s, answered_s, epoch, qm, sequence, page, len(data), int(offset), HOW[asked],
                                HOW[answer["nfs.stable_how4"][0]], int(answer["nfs.count4"][0])))
    return sorted(writes, key=lambda each: each.time_s), sorted(commits, key=lambda each: each.time_s)
