"""Every row of the table of failures: `failures_test.py GROUP [-k PART]` plays those of a group, several at a time."""

import argparse
import concurrent.futures
import os
import sys
import time
import unittest

import scene
import table

from scene import faultfs, harness

# They mostly wait.
AT_A_TIME = 6


def play(row):
    """Runs one row as a test of its own; what came of it."""
    result = unittest.TestResult()
    begin = time.monotonic()
    scene.Scene(row).run(result)
    return row, result, time.monotonic() - begin


class Failures(unittest.TestCase):
    rows = []

    def test_every_row_goes_as_the_page_says(self):
        faultfs.own_mounts()
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            for row, result, seconds in pool.map(play, self.rows):
                name = f"{row.fault.key}, {row.state}"
                trouble = [text for _, text in result.errors + result.failures]
                skipped = [why for _, why in result.skipped]
                verdict = "FAILED" if trouble else f"skipped: {skipped[0]}" if skipped else "ok"
                print(f"{name}: {verdict} ({seconds:.1f} s)", file=sys.stderr, flush=True)
                with self.subTest(name):
                    self.assertEqual(trouble, [], "\n".join(trouble))
                    if skipped:
                        self.skipTest(skipped[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("group", choices=sorted({fault.group for fault in table.FAULTS}))
    parser.add_argument("-k", default="", help="only rows with this in their name")
    arguments = parser.parse_args()
    Failures.rows = [
        row for fault in table.FAULTS if fault.group == arguments.group for row in fault.rows()
        if arguments.k in f"{fault.key}, {row.state}"
    ]
    if not Failures.rows:
        sys.exit("no such row")
    sys.argv[1:] = []
    harness.main()


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    main()
