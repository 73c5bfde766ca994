"""A journal may end anywhere, or be damaged anywhere: `plimsoll report` still tells what it can."""

import random

import harness
from journal_bytes import MAGIC_BYTES
import schema

CUTS = 40


class JournalCut(harness.PlimsollTest):
    journal = None  # One run's, for all tests.

    def setUp(self):
        super().setUp()
        seed = random.SystemRandom().randrange(2**32)
        print(f"seed {seed}", flush=True)
        self.random = random.Random(seed)
        if JournalCut.journal is None:
            JournalCut.journal = (self.run_plan("--bsize", "4k,8k", "--qm", "2").results / "journal").read_bytes()

    def report_of(self, journal):
        """`plimsoll report` on these bytes: (exit code, report or None, lines of standard error)."""
        path = self.base / "journal"
        path.write_bytes(journal)
        process = self.start_plimsoll("report", "--json", path)
        code = process.finish()
        lines = process.err.splitlines()
        self.assertIn(code, (0, 2, 3), process.err)
        if code == 2:
            self.assertEqual((len(lines), process.out), (1, ""), process.err)
            return code, None, lines
        return code, schema.parse(process.out), lines

    def test_a_journal_cut_off_anywhere_gives_a_report_or_one_clear_line(self):
        whole = self.report_of(self.journal)[1]
        offsets = sorted(self.random.randrange(len(self.journal)) for _ in range(CUTS))
        writes = []
        for offset in [0, MAGIC_BYTES - 1, MAGIC_BYTES, *offsets, len(self.journal) - 1]:
            with self.subTest(offset=offset, of=len(self.journal)):
                code, report, lines = self.report_of(self.journal[:offset])
                if report is None:
                    self.assertIn(str(self.base / "journal"), lines[0])
                    continue
                self.assertEqual((code, report["run"]["state"]), (3, "cut_off"))
                self.assertEqual(report["verdict"]["outcome"], "inconclusive")
                writes.append(sum(harness.cluster(step)["writes"] for step in report["steps"]))
        self.assertEqual(writes, sorted(writes), "a longer journal tells of fewer writes")
        self.assertGreater(writes[-1], 0)
        self.assertLessEqual(writes[-1], sum(harness.cluster(step)["writes"] for step in whole["steps"]))

    def test_a_damaged_byte_ends_the_report_there_and_is_reported(self):
        for offset in sorted(self.random.randrange(MAGIC_BYTES, len(self.journal)) for _ in range(CUTS)):
            flipped = self.journal[offset] ^ (1 << self.random.randrange(8))
            with self.subTest(offset=offset, of=len(self.journal), flipped=flipped):
                damaged = self.journal[:offset] + bytes([flipped]) + self.journal[offset + 1:]
                code, report, lines = self.report_of(damaged)
                self.assertNotEqual(code, 0, "damage went unnoticed")
                if report is None:
                    self.assertIn(str(self.base / "journal"), lines[0])
                else:
                    self.assertTrue(report["notes"] or report["verdict"]["reasons"])

    def test_what_is_no_journal_is_refused(self):
        for text in (b"not a journal at all\n", b""):
            code, _, lines = self.report_of(text)
            self.assertEqual(code, 2)
            self.assertIn(str(self.base / "journal"), lines[0])
        self.assertIn("does not exist", self.plimsoll("report", self.base / "missing", code=2).err)


if __name__ == "__main__":
    harness.main()
