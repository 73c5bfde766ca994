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
    return text + "\n" + LIMITS


if __name__ == "__main__":
    print(page(), end="")
