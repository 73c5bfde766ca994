"""Prints docs/failures.md, made from the table that the tests play: `python3 -B tests/integration/failures/page.py > docs/failures.md`."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "faultfs")]

import table  # noqa: E402

HEAD = """\
# What happens when things break

Made from the table that the tests play (`tests/integration/failures/table.py`): every line below is seen by a test that fails
when it is not so. Make it again with `python3 -B tests/integration/failures/page.py > docs/failures.md`.

Two hosts, alpha and beta, run with `--on-host-loss abort`; it is beta that something happens to. With `continue`, the default, the
run continues with alpha where beta is lost while both write or later; the report is inconclusive all the same, unless a criterion
for `hosts` is given and holds. `...` stands for anything. Lines after "beta:" are in the log of beta's agent.

| state of the run | means |
| --- | --- |
"""

LIMITS = """\
## Limits of time

None ends a run in which things get on, however long it lasts; all are in the plan or on the command line.

| limit | default | what it bounds |
| --- | --- | --- |
| `--lease` | 10 s | An agent that hears nothing for this long stops its writers and cleans up; no write starts after it, not even in an agent that was frozen and woken. The controller gives up a host that it hears nothing from for this long, also when it asks for its facts before the run or for its clock before a step. |
| `--hang-limit` | 2 min | The controller gives up a host that gets nothing done for this long while the run waits for it: while it prepares, from the end of a step on, while it removes its files. A piece that was filled, a write that ended, a file that was removed, or figures that came begin it anew. It is not counted while a step runs. |
| `plimsoll-agent --stop-wait` | 10 s | An agent that is told to end (SIGTERM) waits for as long as something gets on, and for this long for a call that does not return; then it says what it leaves and ends. |
| `plimsoll hosts` | 10 s | How long it waits for an answer. |

A cut of the network that is shorter than the lease loses nothing. Where two heartbeats (a tenth of the lease apart, at most a
second) are not answered, the controller keeps the lease over new connections: the old one comes back only when its next
retransmission is due, which after a cut may last as long as the cut did, and in one direction earlier than in the other. An agent
hears its last message up to one heartbeat before a cut, so that a cut must be shorter than the lease by that.

Frames of a start that was called off, because a host got it too late, belong to no step and are not kept. All others that the
controller received are in the journal.
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
