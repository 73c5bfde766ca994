"""Pages of made-up reports, for the tests that look at them in a browser."""

import decimal
import json
import re
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

    def changed(self, kind, change):
        """Opens the page of a made-up report whose report in the page's data a function has changed."""
        self.changed_data(kind, lambda data: change(data["report"]))

    def changed_data(self, kind, change):
        """The same with all of the page's data."""
        self.sample(kind)
        page = self.base / f"{kind}.html"
        text = page.read_text()
        found = re.search(r'(<script type="application/json" id="data">)(.*?)(</script>)', text, re.DOTALL)
        data = json.loads(found.group(2))
        change(data)
        told = json.dumps(data).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
        page.write_text(text[:found.start(2)] + told + text[found.end(2):])
        self.browser.open(page)
