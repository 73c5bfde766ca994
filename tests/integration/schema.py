"""Checks JSON of the programs against its schema in docs."""

import functools
import json
import pathlib

import jsonschema

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


@functools.cache
def _validator(name):
    layout = json.loads((DOCS / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(layout)
    return jsonschema.Draft202012Validator(layout)


def parse(text, name="report"):
    """The report in `text`; an AssertionError that names the place where it breaks the schema of that name."""
    report = json.loads(text)
    errors = [f"{error.json_path}: {error.message}" for error in _validator(name).iter_errors(report)]
    if errors:
        raise AssertionError(f"the report breaks docs/{name}.schema.json:\n" + "\n".join(errors[:10]))
    return report
