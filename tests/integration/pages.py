"""Pages of made-up reports, for the tests that look at them in a browser."""

import decimal
import json
import subprocess

import browser
import harness

CHARTS = "plimsoll.page.charts()"


def enough(writes, percent):
    """Whether ten of so many writes lie beyond a percentile."""
    return writes * (100 - decimal.Decimal(percent)) >= 1000


def choose(section, number):
    """Script that makes the choice of that number in a section's first list."""
    return (f"const s = document.querySelector('#{section} select'); s.selectedIndex = {number};"
            "s.dispatchEvent(new Event('change'));")


class PageTest(browser.BrowserTest):

    def sample(self, kind):
        """Opens the page of a made-up report and returns the report."""
        page = self.base / f"{kind}.html"
        page.write_bytes(subprocess.run([harness.binary("page_sample"), kind], check=True, stdout=subprocess.PIPE).stdout)
        self.browser.open(page)
        told = subprocess.run([harness.binary("page_sample"), kind, "--json"], check=True, stdout=subprocess.PIPE).stdout
        return json.loads(told)
