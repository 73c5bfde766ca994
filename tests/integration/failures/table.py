"""What can go wrong, in which state of a run, and what then happens: the cases of the tests, and of docs/failures.md.

A cell is what a user must be able to rely on. `sees` are lines as they are printed, "..." standing for anything; each is looked
for in what the controller (or, behind "beta:" or "alpha:", that agent) prints.
"""

import dataclasses
import re
from typing import Callable, Optional

import faults
import harness
import outcomes
from outcomes import (AT_ONCE, BY_ITSELF, EMPTY, HANG_LIMIT, JOURNAL, LEASE, LEASE_AGAIN, MEASURED, NOTHING, OWN_LENGTH, PRINTED, REMADE, REPORT,
                      STARTED_AGAIN, UNTIL_ALL_CAME, WHEN_LET_GO, WHEN_WOKEN, WHOLE)

DURATION_S = 3

STATES = ("preparing", "ready", "armed", "running", "draining")

STATE_MEANS = {
    "preparing": "beta fills its extents",
    "ready": "beta has filled them and waits for alpha",
    "armed": "both know when to start",
    "running": "both write",
    "draining": "the step is over, and a last write of beta is still in flight",
}


@dataclasses.dataclass(frozen=True, init=False)
class Either:
    """One of several lines: who finds out first is not certain."""
    lines: tuple

    def __init__(self, *lines):
        object.__setattr__(self, "lines", lines)


@dataclasses.dataclass(frozen=True)
class Cell:
    """What happens."""
    sees: tuple
    code: Optional[int]  # None: the controller is dead
    kept: outcomes.Kept
    cleaned: outcomes.Cleaned
    takes: outcomes.Takes


@dataclasses.dataclass(frozen=True)
class NotApplicable:
    why: str


@dataclasses.dataclass(frozen=True)
class Row:
    """One cell with the fault and the state that it belongs to."""
    fault: "Fault"
    state: str
    cell: Cell

    def duration_s(self):
        return self.fault.duration_s or (1.5 if self.state == "draining" else DURATION_S)

    def arguments(self):
        """What `plimsoll run` is started with, beside hosts and directories."""
        fault = self.fault
        files = "16" if self.state in ("preparing", "ready") else "3"
        return ("--on-host-loss", "abort", "--lease", f"{fault.lease_s}s", "--hang-limit", f"{fault.hang_limit_s}s", "--file-size", "64k", "--num-files",
                files, "--duration", str(self.duration_s()), "--warmup", "0", "--min-free", "0", *fault.load, *fault.options)

    def play(self, scene):
        self.fault.inject(scene)
        result = self.cell.takes.await_end(scene, self.cell.code)
        self.assert_seen(scene, result)
        self.cell.kept.check(scene, result)
        self.cell.cleaned.check(scene)

    def assert_seen(self, scene, result):
        # The report is wrapped for people.
        text = re.sub(r"\s+", " ", result.err + result.out)
        for line in self.cell.sees:
            if isinstance(line, Either):
                patterns = [_pattern(one) for one in line.lines]
                if not any(re.search(pattern, text) for pattern in patterns):
                    scene.fail(f"nobody says one of {patterns}\n{result}\n--- beta\n{scene.beta.err}")
                continue
            who, colon, rest = line.partition(": ")
            who, wanted = (who, rest) if colon and who in ("beta", "alpha") and rest.startswith("[") else ("", line)
            pattern = _pattern(wanted.removeprefix("[log] "))
            if who:
                harness.wait_until(lambda: re.search(pattern, {"beta": scene.beta, "alpha": scene.alpha}[who].err),
                                   f"/{pattern}/ in the log of {who}")
            elif not re.search(pattern, text):
                scene.fail(f"nobody says /{pattern}/\n{result}\n--- beta\n{scene.beta.err}")


def _pattern(wanted):
    return ".*".join(re.escape(part) for part in re.sub(r"\s+", " ", wanted).split("..."))


@dataclasses.dataclass(frozen=True)
class Fault:
    """Something that goes wrong, with a cell for each state."""
    key: str
    group: str
    title: str
    what: str
    inject: Callable
    cells: dict
    network: bool = False
    narrow: int = 0
    results_on_faultfs: bool = False
    lease_s: int = 1
    hang_limit_s: int = 30
    options: tuple = ()
    load: tuple = ("--rate", "40")
    duration_s: float = 0
    after_the_hang: str = ""
    beta_wrap: Callable = lambda scene: []
    by_hand: bool = False  # the hold of "draining" is let go by the fault alone

    def rows(self):
        return [Row(self, state, cell) for state, cell in self.cells.items() if isinstance(cell, Cell)]


def lost(reason, takes, cleaned):
    """Cells of a host that is lost, by state. Where nothing was measured nothing is kept."""
    line = f"plimsoll: host beta is lost: {reason}"
    early = Cell((line, "plimsoll: beta (...) was lost while preparing"), 4, NOTHING, cleaned, takes)
    late = Cell((line, f"* beta: data until ...; ended early: {reason}", "beta was lost: ",
                 "host beta was lost (--on-host-loss abort)"), 3, REPORT, cleaned, takes)
    return {
        "preparing": early,
        "ready": early,
        "armed": Cell((line, "Ended early: host beta was lost (--on-host-loss abort)"), 3, EMPTY, cleaned, takes),
        "running": late,
        "draining": late,
    }


def found_out_first_by_either(takes, cleaned):
    """Cells of a host that hears nothing and may still be heard: it tells that its lease is over, or is given up before."""
    silent = "plimsoll: host beta is lost: lease expired: no message for 1s"
    over = "lease expired: no message from the controller for 1s"
    early = Cell((Either(silent, f"plimsoll: beta: {over}"),), 4, NOTHING, cleaned, takes)
    late = Cell((Either(silent, f"plimsoll: host beta is lost: the session broke: {over}"),
                 Either("Ended early: host beta was lost (--on-host-loss abort)",
                        f"Ended early: host beta failed: {over}")), 3, REPORT, cleaned, takes)
    return {"preparing": early, "ready": early, "armed": dataclasses.replace(late, kept=EMPTY), "running": late,
            "draining": late}


def both_ended_early(data):
    """Lines of a run whose hosts ended by themselves, since their leases expired. Whose end the controller reads first, and
    whether a host's session or its writers find out first, is not certain; that each host's end is reported is."""
    ends = tuple(Either(*(f"* {host}: {data}; ended early: {why}" for why in (EXPIRED, EXPIRED_FOR_WRITERS)))
                 for host in ("alpha", "beta"))
    return (*ends, Either(*(f"Step 1 ended early: {who}: {EXPIRED}" for who in ("host alpha failed", "host beta failed", "alpha")),
                          f"Step 1 ended early: alpha: {EXPIRED_FOR_WRITERS}",
                          *(f"The run ended early: host {host} failed: {EXPIRED}" for host in ("alpha", "beta"))))


def everywhere(cell):
    return {state: cell for state in STATES}


NO_WRITE = NotApplicable("nothing is written in this state")
SILENT = "lease expired: no message for 1s"
EXPIRED = "lease expired: no message from the controller for 1s"
EXPIRED_FOR_WRITERS = "lease expired: no message from the controller"
KILLED_SEES = "beta: [log] session of ... ends: "


def write_errors():
    """One fault for each error that a write can end with."""
    names = {
        "ENOSPC": ("the disk is full", "No space left on device (28)", 2),
        "EDQUOT": ("the quota is used up", "Disk quota exceeded (122)", 2),
        "EIO": ("the device fails", "Input/output error (5)", 4),
        "ESTALE": ("the server no longer knows the file", "Stale file handle (116)", 4),
        "EROFS": ("the file system has become read-only", "Read-only file system (30)", 2),
    }
    for name, (title, text, code) in names.items():
        failed = (f"beta/qm1 failed: pwritev2 .../qm1/active/S...LOG: {text}, 4096 bytes at offset ",
                  "* beta: data until ...; ended early: qm1: pwritev2 ", "host beta failed: pwritev2 ")
        yield Fault(
            key=f"write-{name.lower()}", group="storage", title=f"{name} from a write: {title}",
            what=f"A write of beta ends with {name}.",
            inject=faults.write_error(name), after_the_hang=f" error={name}", by_hand=True, lease_s=3,
            cells={
                "preparing": Cell((f"plimsoll: beta: pwritev2 .../beta/qm1/active/S...LOG: {text} at offset ... while "
                                   "filling the extent",), code, NOTHING, BY_ITSELF, AT_ONCE),
                "ready": NO_WRITE,
                "armed": NO_WRITE,
                "running": Cell(failed, 3, REPORT, BY_ITSELF, AT_ONCE),
                "draining": Cell(failed[:2], 3, REPORT, BY_ITSELF, AT_ONCE),
            })


FAULTS = [
    Fault("agent-killed", "agent", "The agent is killed", "`kill -9` of beta's agent.", faults.kill_beta,
          lost("the session broke: ", AT_ONCE, STARTED_AGAIN)),
    Fault("agent-frozen", "agent", "The agent is suspended, then resumed",
          "SIGSTOP of beta's agent, SIGCONT when the run is over.", faults.freeze_beta,
          lost(SILENT, LEASE, WHEN_WOKEN)),
    Fault("link-down", "network", "The host's link goes down, for longer than the lease",
          "beta's cable is pulled.", faults.unplug, lost(SILENT, LEASE, BY_ITSELF), network=True),
    Fault("packets-dropped", "network", "All packets are dropped, for longer than the lease",
          "A filter drops all packets from and to beta.", faults.drop("input", "output"),
          lost(SILENT, LEASE, BY_ITSELF), network=True),
    Fault("packets-dropped-out", "network", "What the host sends is dropped, for longer than the lease",
          "A filter drops what beta sends.", faults.drop("output"), lost(SILENT, LEASE, BY_ITSELF), network=True),
    Fault("packets-dropped-in", "network", "Packets to the host are dropped, for longer than the lease",
          "A filter drops all packets to beta. Whichever side notices first reports it: beta that it received no message from "
          "the controller, or the controller that it received none from beta.", faults.drop("input"),
          found_out_first_by_either(LEASE, BY_ITSELF), network=True),
    Fault("cut-short", "network", "The host is cut off for less than the lease",
          "beta's cable is pulled for 1.5 s, with a lease of 3 s.", faults.unplug_for(1.5),
          everywhere(Cell(("COMPLETED (no criteria)",), 0, WHOLE, BY_ITSELF, OWN_LENGTH)), network=True, lease_s=3,
          duration_s=5),
    Fault("drop-short", "network", "Packets are dropped for less than the lease",
          "A filter drops everything from and to beta for 1.5 s, with a lease of 3 s.", faults.drop_for(1.5),
          everywhere(Cell(("COMPLETED (no criteria)",), 0, WHOLE, BY_ITSELF, OWN_LENGTH)), network=True, lease_s=3,
          duration_s=5),
    Fault("controller-killed", "controller", "The controller is killed", "`kill -9` of `plimsoll run`.",
          faults.kill_controller,
          {**everywhere(Cell((KILLED_SEES,), None, JOURNAL, BY_ITSELF, AT_ONCE)),
           "draining": Cell((), None, JOURNAL, WHEN_LET_GO, AT_ONCE)}),
    Fault("controller-frozen", "controller", "The controller is suspended, then resumed",
          "SIGSTOP of `plimsoll run` for longer than the lease.", faults.freeze_controller, {
              "preparing": Cell(("lease expired",), 4, NOTHING, BY_ITSELF, LEASE),
              "ready": Cell(("lease expired",), 4, NOTHING, BY_ITSELF, LEASE),
              "armed": Cell(both_ended_early("no data"), 3, EMPTY, BY_ITSELF, LEASE),
              "running": Cell(both_ended_early("data until ..."), 3, REPORT, BY_ITSELF, LEASE),
              "draining": Cell((EXPIRED, "plimsoll: host beta is lost: " + SILENT, "* beta: data until ...; ended early: " + SILENT,
                                "Step 1 ended early: host ... failed: " + EXPIRED), 3, REPORT, WHEN_LET_GO, LEASE_AGAIN),
          }),
    Fault("controller-cut-off", "controller", "The controller is cut off from all hosts, for longer than the lease",
          "The cables of alpha and beta are pulled.", faults.unplug_all, {
              "preparing": Cell(("was lost while preparing",), 4, NOTHING, BY_ITSELF, LEASE),
              "ready": Cell(("was lost while preparing",), 4, NOTHING, BY_ITSELF, LEASE),
              "armed": Cell((" is lost: " + SILENT,), 3, EMPTY, BY_ITSELF, LEASE),
              "running": Cell((" is lost: " + SILENT, "data until "), 3, REPORT, BY_ITSELF, LEASE),
              "draining": Cell(("host beta is lost: " + SILENT,), 3, REPORT, WHEN_LET_GO, LEASE),
          }, network=True),
    Fault("results-full", "controller", "The controller's own disk is full",
          "Writing the journal, and the report at the end, ends with ENOSPC.", faults.fill_results_disk,
          everywhere(Cell(("plimsoll: the journal cannot be written any more: write .../journal: No space left on device "
                           "(28); measuring continues", "plimsoll: write .../journal: No space left on device (28)",
                           "the journal is incomplete"), 3, PRINTED, BY_ITSELF, OWN_LENGTH)),
          results_on_faultfs=True, lease_s=3),
    Fault("results-gone", "controller", "The results directory is removed while the run goes on",
          "Somebody removes the whole directory.", faults.remove_results,
          everywhere(Cell(("plimsoll: the journal cannot be written any more: write .../journal: No such file or directory "
                           "(2); measuring continues", "the journal is incomplete"), 3, REMADE, BY_ITSELF, OWN_LENGTH)),
          lease_s=3),
    *write_errors(),
    Fault("directory-removed", "storage", "The directory is removed under the writers",
          "Somebody removes beta's directory below `--dir`.", faults.remove_directory, {
              "preparing": Cell(("plimsoll: beta: ...No such file or directory",), 2, NOTHING, BY_ITSELF, AT_ONCE),
              **{state: Cell(("Not removed: beta: .../beta was removed while it was in use",
                              "COMPLETED (no criteria)"), 0, WHOLE,
                             BY_ITSELF, OWN_LENGTH) for state in ("ready", "armed", "running", "draining")},
          }, lease_s=3),
    Fault("hang-returns", "hang", "A write hangs, and returns",
          "A write of beta takes more than a second, and less than `--hang-limit`.", faults.hang_for_a_while, {
              "preparing": Cell(("COMPLETED (no criteria)",), 0, WHOLE, BY_ITSELF, OWN_LENGTH),
              "ready": NO_WRITE,
              "armed": NO_WRITE,
              "running": Cell(("beta/qm1 in one write for ", "COMPLETED (no criteria)"), 0, WHOLE, BY_ITSELF, OWN_LENGTH),
              "draining": Cell(("beta/qm1 in one write for ", "COMPLETED (no criteria)"), 0, WHOLE, BY_ITSELF, OWN_LENGTH),
          }, hang_limit_s=60, lease_s=3, by_hand=True),
    Fault("hang-for-ever", "hang", "A write hangs and does not return",
          "A write of beta never returns; nothing can end the thread.", faults.hang_for_ever, {
              "preparing": Cell(("plimsoll: host beta is lost: no progress for 2s (--hang-limit) while it "
                                 "prepared; qm1 has been filling .../beta/qm1/active/S...LOG since ",
                                 "was lost while preparing"), 4, NOTHING, WHEN_LET_GO, HANG_LIMIT),
              "ready": NO_WRITE,
              "armed": NO_WRITE,
              **{state: Cell(("plimsoll: host beta is lost: no progress for 2s (--hang-limit) while waiting "
                              "for the step's last writes; qm1 has been in one write to .../beta/qm1/active/S...LOG since ",
                              "In flight when the data end: beta/qm1, since ", "the figures do not include a write that had been in flight for "), 3, REPORT, WHEN_LET_GO, HANG_LIMIT) for state in ("running", "draining")},
          }, hang_limit_s=2, lease_s=3, by_hand=True),
    Fault("removal-hangs", "hang", "Closing and removing the files hangs",
          "When the run is over, the first close of beta does not return.", faults.hang_removal, {
              **{state: NotApplicable("nothing is removed in this state") for state in STATES[:3]},
              "running": Cell(("plimsoll: host beta is lost: no progress for 2s (--hang-limit) while its "
                               "files were removed",), 3, MEASURED, WHEN_LET_GO, HANG_LIMIT),
              "draining": NotApplicable("as in running"),
          }, hang_limit_s=2, lease_s=3),
    Fault("wall-clock", "clock", "The wall clock of a host jumps", "beta's wall clock is set a day ahead.",
          faults.jump_wall_clock,
          {
              **everywhere(Cell(("COMPLETED (no criteria)", "beta: its wall clock was set by 86400... s during the run"), 0, WHOLE, BY_ITSELF,
                                OWN_LENGTH)),
              # It may not be asked for its clock any more.
              "draining": Cell(("COMPLETED (no criteria)",), 0, WHOLE, BY_ITSELF, OWN_LENGTH),
          },
          beta_wrap=faults.with_false_wall_clock, lease_s=3),
    Fault("slow-stream", "network", "The path back is slower than the writers",
          "What beta sends passes at 5 kB/s, connection by connection: it writes traces three times as fast.",
          lambda scene: None, {
              **{state: NotApplicable("results come while writers write") for state in STATES[:3]},
              "running": Cell(("COMPLETED (no criteria)",), 0, WHOLE, BY_ITSELF, UNTIL_ALL_CAME),
              "draining": NotApplicable("as in running"),
          }, narrow=5_000, load=("--rate", "5000"), hang_limit_s=60),
]
