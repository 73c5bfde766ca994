"""How large the page of an hour with 16 hosts of 4 queue managers is, and how long a real Chromium takes to open it.

page_bench.py [--runs N] [KIND]: KIND is a sample of page_sample (default: hour), which the preset `dev` builds with the tests;
PLIMSOLL_BIN names another place. Opening: from the navigation's start to the end of the page's load event, after which every chart
is drawn; each time in a browser of its own. The CPU time of the page's main thread, which is what it does, tells more where
others use the machine.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tests/integration"))
import browser  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("kind", nargs="?", default="hour")
    arguments = parser.parse_args()
    if browser.missing():
        raise SystemExit(browser.missing())
    sample = pathlib.Path(os.environ.get("PLIMSOLL_BIN", TREE / "build/dev/bin")) / "page_sample"
    html = subprocess.run([sample, arguments.kind], check=True, stdout=subprocess.PIPE).stdout
    times, cpu = [], []
    with tempfile.TemporaryDirectory(prefix="plimsoll-page-") as place:
        page = pathlib.Path(place) / "report.html"
        page.write_bytes(html)
        for _ in range(arguments.runs):
            view = browser.Browser()
            try:
                view.devtools("Performance.enable", timeDomain="threadTicks")
                view.open(page)
                metrics = view.devtools("Performance.getMetrics")["metrics"]
                cpu.append(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))
                times.append(view.script("return performance.getEntriesByType('navigation')[0].loadEventEnd") / 1e3)
            finally:
                view.close()
    print(f"page of '{arguments.kind}': {len(html) / 1e6:.2f} MB")
    for what, values in (("opened in", times), ("CPU time", cpu)):
        print(f"{what} {min(values):.2f} / {statistics.median(values):.2f} / {max(values):.2f} s (min / median / max of "
              f"{len(values)})")


if __name__ == "__main__":
    main()
