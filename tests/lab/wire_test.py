"""What a log write is on the wire: one WRITE FILE_SYNC up to wsize, UNSTABLE WRITEs and a COMMIT above; docs/nfs-wire.md."""

import collections
import shutil
import unittest

import lab_support
from lab_support import harness
from wire import Capture, FILE_SYNC, UNSTABLE

WSIZE = 65536
FLAGS = {"dsync": "|O_DSYNC", "sync": "|O_SYNC", "fdatasync": ""}
PAGE = 4096
SIZES = (PAGE, WSIZE, WSIZE + 32768, 2 * WSIZE)


def as_wire(size):
    """What one block of `size` is sent as: the WRITEs in order, and how many COMMITs follow."""
    if size <= WSIZE:
        return ((size, FILE_SYNC),), 0
    pieces = [min(WSIZE, size - at) for at in range(0, size, WSIZE)]
    return tuple((piece, UNSTABLE) for piece in pieces), 1


class Wire(lab_support.LabTest):
    hosts = 1

    @classmethod
    def setUpClass(cls):
        if shutil.which("tshark") is None:
            raise unittest.SkipTest("needs tshark: scripts/check lab installs it")
        super().setUpClass()

    def run_and_look(self, *arguments):
        """The steps of a run's report, each with what its writes were on the wire: (pieces, COMMITs) by number of the write."""
        capture = Capture(self, self.lab.machine("host1").number)
        run = self.start_lab_run(["host1"], "--bsize", ",".join(map(str, SIZES)), "--duration", "1", "--file-size", "768k",
                                 *arguments)
        run.finish(180)
        report = self.result_of(run, run.results).report
        writes, commits = capture.stop()
        parts = collections.defaultdict(list)
        for write in writes:
            self.assertEqual((write.answered, write.written), (write.asked, write.bytes), write)
            parts[write.step, write.sequence].append(write)
        # One writer, one write at a time: a COMMIT belongs to the last write that began before it.
        begins = sorted((each[0].time_s, key) for key, each in parts.items())
        ends = [time_s for time_s, _ in begins[1:]] + [float("inf")]
        blocks = collections.defaultdict(dict)
        for (begin_s, key), end_s in zip(begins, ends):
            each = sorted(parts[key], key=lambda part: part.page)
            self.assertEqual([part.offset - each[0].offset for part in each], [part.page * PAGE for part in each])
            committed_s = [commit.time_s for commit in commits if begin_s < commit.time_s < end_s]
            if key[0] > 0 and committed_s:
                self.assertGreater(min(committed_s), max(part.answered_s for part in each), "what was answered is committed")
            blocks[key[0]][key[1]] = (tuple((part.bytes, part.asked) for part in each), len(committed_s))
        return report, [(step, blocks[step["number"]]) for step in report["steps"]]

    def assert_as_wire(self, seen):
        for step, blocks in seen:
            scope = harness.cluster(step)
            self.assertEqual(sorted(blocks), list(range(1, scope["latency"]["count"] + 1)), "each write of the report, once")
            kinds = collections.Counter(blocks.values())
            self.assertEqual(list(kinds), [as_wire(step["block_size_bytes"])], f"{step['block_size_bytes']}: {kinds}")


def _add(sync, direct):
    def test(self):
        report, seen = self.run_and_look("--sync", sync, "--direct", direct)
        flags = "O_RDWR" + FLAGS[sync] + ("|O_DIRECT" if direct == "on" else "")
        self.assertEqual(report["hosts"][0]["mount"]["open_flags"], flags)
        self.assert_as_wire(seen)

    setattr(Wire, f"test_{sync}_direct_{direct}", test)


for _sync in FLAGS:
    for _direct in ("on", "off"):
        _add(_sync, _direct)


if __name__ == "__main__":
    harness.main()
