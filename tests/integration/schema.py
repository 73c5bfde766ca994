"""Checks reports against docs/report.schema.json."""

import functools
import json
import pathlib

import jsonschema

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "docs" / "report.schema.json"


@functools.cache
def _validator():
    layout = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(layout)
    return jsonschema.Draft202012Validator(layout)


def parse(text):
    """The report in `text`; an AssertionError that names the place where it breaks the schema."""
    report = json.loads(text)
    errors = [f"{error.json_path}: {error.message}" for error in _validator().iter_errors(report)]
    if errors:
        raise AssertionError("the report breaks docs/report.schema.json:\n" + "\n".join(errors[:10]))
    return report
