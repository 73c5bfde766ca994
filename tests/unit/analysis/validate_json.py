"""Checks JSON files against a JSON schema: validate_json.py SCHEMA FILE..."""
import json
import sys

import jsonschema


def no_constant(name):
    raise ValueError(f"{name} is not JSON")


def no_duplicates(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key stands twice")
    return members


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file, parse_constant=no_constant, object_pairs_hook=no_duplicates)


def main():
    schema = load(sys.argv[1])
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    wrong = 0
    for path in sys.argv[2:]:
        for error in validator.iter_errors(load(path)):
            print(f"{path}: {error.json_path}: {error.message}")
            wrong += 1
    if len(sys.argv) < 3:
        print("no file was given")
        wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
