"""plimsoll kubernetes manifests: what it prints is what Kubernetes' published schemas describe, and fits certificates and docs."""

import glob
import json
import pathlib
import re
import shlex
import unittest
import zipfile

import jsonschema
import yaml

import harness

TOP = pathlib.Path(__file__).resolve().parents[2]
SCHEMAS = TOP / "build" / "kubernetes-schema"
# The oldest whose schema has a rule of podFailurePolicy as the API server does, and the newest that there is.
VERSIONS = ("1.29", "1.33", "1.37")
DEFINITIONS = "/api/_definitions.json#"
FORMS = [
    [],
    ["--access-mode", "RWO"],
    ["--job"],
    ["--job", "--access-mode", "RWO", "--results-claim", "evidence"],
    ["--namespace", "mq", "--name", "mqtest", "--image", "registry.example.com:5000/plimsoll@sha256:0123", "--size", "1Ti",
     "--node-selector", "node-role.kubernetes.io/mq=", "--node-selector", "disk=fast", "--cpu", "500m", "--memory", "512Mi",
     "--fs-group", "10001", "--replicas", "12"],
]


def _within(node):
    """The schema with references within itself."""
    if isinstance(node, dict):
        return {key: value.replace(DEFINITIONS, "#") if key == "$ref" and isinstance(value, str) else _within(value)
                for key, value in node.items()}
    return [_within(each) for each in node] if isinstance(node, list) else node


class Manifests(harness.PlimsollTest):

    def manifests(self, *more):
        return self.plimsoll("kubernetes", "manifests", "--storage-class", "nfs-csi", *more).out

    def validator(self, wheel, version, item):
        """Of an object, without properties that the schema does not know; each kind and version once."""
        group, _, version_of_group = item["apiVersion"].rpartition("/")
        name = "-".join(filter(None, (item["kind"].lower(), group, version_of_group)))
        directory = f"kubernetes_validate/kubernetes-json-schema/v{version}.0-local-strict"
        key = (version, name)
        if key not in self.validators:
            schema = json.loads(wheel.read(f"{directory}/{name}.json"))
            schema["$defs"] = json.loads(wheel.read(f"{directory}/_definitions.json"))["$defs"]
            self.validators[key] = jsonschema.Draft202012Validator(_within(schema))
        return self.validators[key]

    def test_every_object_is_as_the_published_schemas_have_it(self):
        wheels = glob.glob(str(SCHEMAS / "kubernetes_validate-*.whl"))
        if not wheels:
            raise unittest.SkipTest("Kubernetes' schemas are not there: scripts/kubernetes-schema fetches them")
        self.validators = {}
        with zipfile.ZipFile(wheels[0]) as wheel:
            for form in FORMS:
                items = [item for item in yaml.safe_load_all(self.manifests(*form)) if item]
                self.assertGreaterEqual(len(items), 2)
                for version in VERSIONS:
                    for item in items:
                        faults = [f"{error.json_path}: {error.message}"
                                  for error in self.validator(wheel, version, item).iter_errors(item)]
                        self.assertEqual(faults, [], (version, item["kind"], form))
            # It can fail: a word that Kubernetes does not have, and a number in the place of a text.
            wrong = next(yaml.safe_load_all(self.manifests("--access-mode", "RWO")))
            wrong["spec"]["clusterIp"] = wrong["spec"].pop("clusterIP")
            self.assertTrue(list(self.validator(wheel, VERSIONS[-1], wrong).iter_errors(wrong)))

    def test_the_certificates_that_it_names_are_those_that_are_made(self):
        text = self.manifests("--job", "--replicas", "3", "--name", "mq")
        (hosts,) = re.findall(r"tls init certificates --hosts '(.*)'", text)
        certificates = self.base / "certificates"
        self.plimsoll("tls", "init", certificates, "--hosts", hosts)
        agent = next(item for item in yaml.safe_load_all(text) if item and item["kind"] == "StatefulSet")
        (container,) = agent["spec"]["template"]["spec"]["containers"]
        job = next(item for item in yaml.safe_load_all(text) if item and item["kind"] == "Job")
        (controller,) = job["spec"]["template"]["spec"]["containers"]
        for command in [*([word.replace("$(POD_NAME)", f"mq-{number}") for word in container["command"]] for number in range(3)),
                        controller["command"]]:
            files = [word.rpartition("/")[2] for word in command if word.startswith("--tls-")]
            self.assertEqual(len(files), 3)
            for file in files:
                self.assertTrue((certificates / file).exists(), file)

    def test_the_programs_take_the_command_lines_of_the_pods(self):
        text = self.manifests("--job", "--replicas", "1")
        items = {item["kind"]: item for item in yaml.safe_load_all(text) if item}
        (agent,) = items["StatefulSet"]["spec"]["template"]["spec"]["containers"]
        (job,) = items["Job"]["spec"]["template"]["spec"]["containers"]
        certificates = self.base / "certificates"
        self.plimsoll("tls", "init", certificates, "--hosts", "plimsoll-0.plimsoll")

        def here(words):
            for there, place in (("=/tls/", f"={certificates}/"), ("=/data", f"={self.dir}"), ("$(POD_NAME)", "plimsoll-0"),
                                 ("=/results/", f"={self.base}/"), ("0.0.0.0:7461", "127.0.0.1:0"), ("/plan/", f"{self.base}/")):
                words = [word.replace(there, place) for word in words]
            return [harness.binary(words[0]), *words[1:]]

        self.start(harness.Agent, here(agent["command"])).await_listening()
        # On one host alone its load takes longer to show that it is steady.
        plan = self.plimsoll("plan", "example", "--ready", "nfs").out.replace("duration: 60s", "duration: 120s")
        (self.base / "accept.yaml").write_text(plan)
        # Nothing resolves the name of a pod here: the plan and all options were read before it could not be reached.
        process = self.start(harness.Process, here(job["command"]))
        self.assertEqual(process.finish(), 4, process.err)
        self.assertIn("plimsoll-0.plimsoll", process.err)

    def test_what_kubernetes_would_refuse_is_refused_in_one_line(self):
        for more, message in (
            (["--size", "20g"], "--size: '20g' is not a size: expected a whole number above 0 with Ki, Mi, Gi or Ti, such as 20Gi"),
            (["--access-mode", "ROX"], "--access-mode: 'ROX' is not a valid value: expected one of RWX, RWO; did you mean RWX?"),
            (["--replicas", "0"], "--replicas: '0' is out of range: expected a number from 1 to 1000"),
            (["--image", "a b"], "--image: 'a b' is not an image: expected such as registry.example.com/plimsoll:1.0"),
        ):
            with self.subTest(more=more):
                done = self.plimsoll("kubernetes", "manifests", "--storage-class", "nfs-csi", *more, code=2)
                self.assertEqual((done.out, done.err), ("", f"plimsoll: {message}\n"))

    def test_the_commands_of_the_docs_are_good(self):
        text = re.sub(r"\\\n\s*", "", (TOP / "docs" / "kubernetes.md").read_text())
        commands = re.findall(r"^plimsoll (kubernetes manifests [^|>#\n]*)", text, re.MULTILINE)
        self.assertGreaterEqual(len(commands), 2)
        for command in commands:
            self.assertIn("kind: StatefulSet", self.plimsoll(*shlex.split(command)).out)


if __name__ == "__main__":
    harness.main()
