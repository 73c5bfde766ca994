"""Prints docs/failures.md, made from the table that the tests play: `python3 -B tests/integration/failures/page.py > docs/failures.md`."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "faultfs")]

import table  # noqa: E402

HEAD = """\
# What happens when things break

Generated from the table that the tests run (`tests/integration/failures/table.py`): a test checks every row below. Regenerate it
with `python3 -B tests/integration/failures/page.py > docs/failures.md`.

Two hosts, alpha and beta, run with `--on-host-loss abort`; the fault always hits beta. With `continue`, the default, the
run continues with alpha if beta is lost while both write or later; the report is still inconclusive, unless a criterion
for `hosts` is given and holds. `...` stands for anything. Lines after "beta:" are in the log of beta's agent.

| state of the run | means |
| --- | --- |
"""

LIMITS = """\
## Limits of time

None ends a run that makes progress, however long it takes; all are set in the plan or on the command line.

| limit | default | what it bounds |
| --- | --- | --- |
| `--lease` | 10 s | An agent that receives no message for this long stops its writers and cleans up; no write starts after that, not even in an agent that was suspended and resumed. The controller declares a host lost that sends no message for this long, also while it collects host facts before the run or probes clocks before a step. |
| `--hang-limit` | 2 min | The controller declares a host lost that makes no progress for this long while the run waits for it: while it prepares, after the end of a step, while it removes its files. Each filled piece, completed write, removed file or received frame is progress. The limit does not apply while a step runs. |
| `plimsoll-agent --stop-wait` | 10 s | On SIGTERM an agent waits as long as its session makes progress, and this long for a call that does not return; then it logs what it leaves and exits. |
| `plimsoll hosts` | 10 s | Time limit of an answer. |

A network cut that is shorter than the lease loses nothing. If two heartbeats (a tenth of the lease apart, at most a
second) are not answered, the controller keeps the lease over new connections: the old one recovers only with its next
retransmission, which after a cut may take as long as the cut did, and recovers in one direction before the other. An agent receives
its last message up to one heartbeat before a cut, so a cut must be shorter than the lease by that much.

Frames of a start that was cancelled, because a host received it too late, belong to no step and are discarded. The journal has all
others that the controller received.
"""


CHANGED = """\
## Results are changed afterwards

`plimsoll verify DIR` compares results with their `digest.txt`, `plimsoll verify DIR --digest X` also that list with the digest that the
command printed when it ended ([evidence.md](evidence.md)). `verify_test.py` checks each row.

| what happens to the results | what is printed | exit code |
| --- | --- | --- |
| nothing | `INTACT` | 0 |
| a byte of a listed file is changed | `report.json was changed: its SHA-256 is not the one in digest.txt` | 1 |
| a listed file is removed | `journal is missing` | 1 |
| a symbolic link takes the place of a listed file | `report.json is a symbolic link` | 1 |
| the verdict in `report.json` is changed, and `digest.txt` with it | `report.json has the verdict PASS, and the journal gives FAIL` | 1 |
| a figure in `report.json` is changed, and `digest.txt` with it | `report.json is not the report that the journal gives` | 1 |
| all files are replaced by those of another run | `digest.txt was changed or is of other results: its SHA-256 is not that of --digest` | 1 |
| the line of a file is removed from `digest.txt` | `digest.txt does not list journal` | 1 |
| `digest.txt` is removed | `digest.txt is missing: ` | 3 |
| all are removed | `DIR holds no results: ` | 2 |
"""


PATTERNS = """\
## A pattern file is damaged, or another one

A run or a search that plays recorded writes ([playback.md](playback.md)) reads the whole file before it contacts an agent: nothing is
made on a host. `playback_test.py` and `pattern_file_test` check each row.

| what happens to the file | what is printed | exit code |
| --- | --- | --- |
| a bit of it is changed, it is cut off, or another one has its name | `FILE: its SHA-256 is ..., and the plan's (pattern_sha256) is ...: this is another file, or it was changed` | 2 |
| the same without `pattern_sha256`, where it contradicts itself | `FILE: damaged at byte ...` | 2 |
| something else has its name | `FILE: not a pattern file`, `FILE is a directory`, `FILE is not a regular file` | 2 |
| it is removed | `open FILE: No such file or directory (2)` | 2 |
| it is changed in place while hosts get their writes | `FILE changed after it was opened` | 2 |
"""


def code_of(cell):
    return "–" if cell.code is None else str(cell.code)


def line(text):
    if isinstance(text, table.Either):
        return " or ".join(map(line, text.lines))
    return "`" + text.replace("|", "\\|").replace("[log] ", "").replace("plimsoll: ", "") + "`"


def cells(fault):
    for state in table.STATES:
        cell = fault.cells[state]
        if isinstance(cell, table.NotApplicable):
            yield f"| {state} | not applicable: {cell.why} | | | | |"
            continue
        sees = "<br>".join(line(text) for text in cell.sees) or "nothing: it is dead"
        yield (f"| {state} | {sees} | {code_of(cell)} | {cell.kept.words} | {cell.cleaned.words} | "
               f"{cell.takes.words} |")


def page():
    text = HEAD + "".join(f"| {state} | {table.STATE_MEANS[state]} |\n" for state in table.STATES)
    for fault in table.FAULTS:
        text += f"\n## {fault.title}\n\n{fault.what}\n\n"
        text += "| state | what is printed | exit code | kept | cleaned up | takes |\n| --- | --- | --- | --- | --- | --- |\n"
        text += "\n".join(cells(fault)) + "\n"
    return text + "\n" + CHANGED + "\n" + PATTERNS + "\n" + LIMITS


if __name__ == "__main__":
    print(page(), end="")
