"""docs/failures.md says what the table says."""

import unittest

import page
import table

import harness


class Page(unittest.TestCase):

    def test_the_page_is_made_from_the_table(self):
        committed = (page.HERE.parents[2] / "docs" / "failures.md").read_text()
        self.assertEqual(committed, page.page(),
                         "make it again with: python3 -B tests/integration/failures/page.py > docs/failures.md")

    def test_every_fault_says_something_of_every_state(self):
        for fault in table.FAULTS:
            self.assertEqual(sorted(fault.cells), sorted(table.STATES), fault.key)


if __name__ == "__main__":
    harness.main()
