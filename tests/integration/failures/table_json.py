"""Writes the table of failures as JSON, for tests in other languages: `python3 -B tests/integration/failures/table_json.py FILE`.

What is checked in a process of its own, and what a cell means, stay in Python: here kept, cleaned and takes are the names that
they have in outcomes.py.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "faultfs")]

import outcomes  # noqa: E402
import table  # noqa: E402


def name_of(outcome):
    (name,) = [name for name, value in vars(outcomes).items() if value is outcome]
    return name


def row_of(row):
    cell = row.cell
    return {
        "sees": [list(line.lines) if isinstance(line, table.Either) else [line] for line in cell.sees],
        "code": cell.code,
        "kept": name_of(cell.kept),
        "cleaned": name_of(cell.cleaned),
        "takes": name_of(cell.takes),
        "arguments": row.arguments(),
        "duration_s": row.duration_s(),
    }


def fault_of(fault):
    cells = {state: {"not_applicable": cell.why} for state, cell in fault.cells.items() if isinstance(cell, table.NotApplicable)}
    cells.update({row.state: row_of(row) for row in fault.rows()})
    return {"key": fault.key, "lease_s": fault.lease_s, "hang_limit_s": fault.hang_limit_s,
            "narrow_bytes_per_s": fault.narrow, "cells": cells}


def main():
    text = json.dumps({"states": table.STATES, "faults": [fault_of(fault) for fault in table.FAULTS]}, indent=1)
    pathlib.Path(sys.argv[1]).write_text(text + "\n")


if __name__ == "__main__":
    main()
