"""Journals of earlier versions give what they gave then; those of later ones are refused in one clear line.

tests/data/journals holds a small journal of each form that journals had, and the report that is expected of it. A report
may have learnt to tell more since: what it told then, it must tell still.
"""

import json
import os
import pathlib
import shutil
import zlib

import harness
import invariants
from journal_bytes import HEADER
import schema

JOURNALS = pathlib.Path(__file__).resolve().parents[1] / "data" / "journals"


def differences(expected, told, where="$"):
    """Where `told` does not say what is expected; more keys are no difference."""
    if isinstance(expected, dict) and isinstance(told, dict):
        return [line for key, value in expected.items()
                for line in (differences(value, told[key], f"{where}.{key}") if key in told else [f"{where}.{key} is gone"])]
    if isinstance(expected, list) and isinstance(told, list) and len(expected) == len(told):
        return [line for number, pair in enumerate(zip(expected, told))
                for line in differences(*pair, f"{where}[{number}]")]
    return [] if expected == told else [f"{where}: expected {expected!r}, told {told!r}"]


def record(payload, journal_format):
    return HEADER.pack(len(payload), journal_format, 0, zlib.crc32(payload)) + payload


class OldJournals(harness.PlimsollTest):

    def test_every_form_that_journals_had_gives_the_report_that_it_gave(self):
        places = sorted(path for path in JOURNALS.iterdir() if path.is_dir())
        self.assertGreaterEqual(len(places), 2)
        for place in places:
            with self.subTest(place.name):
                process = self.start_plimsoll("report", "--json", "--print-only", place)
                code = process.finish()
                told = schema.parse(process.out)
                invariants.check(told, reports_stalls=place.name != "format1-protocol1")
                if os.environ.get("PLIMSOLL_UPDATE_GOLDEN"):
                    (place / "report.json").write_text(process.out)
                expected = json.loads((place / "report.json").read_text())
                self.assertEqual(differences(expected, told), [])
                self.assertEqual(code, 0 if expected["verdict"]["outcome"] == "pass" else 3)
                writes = sum(harness.cluster(step)["latency"]["count"] for step in told["steps"])
                self.assertGreater(writes, 0)
                reads = sum(scope["latency"]["count"] for step in told["steps"] for operation in step.get("operations", [])
                            if operation["name"] == "read" for scope in operation["scopes"] if scope["kind"] == "cluster")
                rows = self.plimsoll("export", place, "--format", "csv", "--output", "-").out.splitlines()
                self.assertEqual(len([row for row in rows if not row.startswith("#")]), writes + reads + 1)

    def journal_with(self, more):
        """A results directory with the latest journal and a record behind it."""
        results = self.base / "results"
        shutil.copytree(sorted(JOURNALS.iterdir())[-1], results)
        with open(results / "journal", "ab") as journal:
            journal.write(more)
        return results

    def test_a_journal_of_a_later_form_is_refused_and_nothing_is_written(self):
        results = self.journal_with(record(b"", 6))
        before = (results / "report.json").read_text()
        result = self.plimsoll("report", results, code=2)
        (line,) = result.errors
        self.assertRegex(line, rf"^plimsoll: {results}/journal: record \d+ has format 6; this version reads formats up to 5; use the version that wrote it, or a newer one$")
        self.assertEqual((results / "report.json").read_text(), before)
        self.assertEqual(self.plimsoll("export", results, "--format", "csv", code=2).errors, [line])

    def test_a_record_of_a_kind_that_is_not_known_is_left_out_and_reported(self):
        # Field 2047, length-delimited, empty.
        results = self.journal_with(record(b"\xfa\x7f\x00", 3))
        result = self.plimsoll("report", "--json", "--print-only", results, code=3)
        reasons = schema.parse(result.out)["verdict"]["reasons"]
        self.assertTrue(any("its kind is not known here" in reason for reason in reasons), reasons)


if __name__ == "__main__":
    harness.main()
