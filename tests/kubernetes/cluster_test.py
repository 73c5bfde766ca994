"""What plimsoll kubernetes manifests prints, in a real control plane that enforces "restricted": created, bound, spread and removed."""

import json
import re
import subprocess

import control_plane
from control_plane import harness

import yaml

NAMESPACE = "mq"
CLASS = "under-test"
ZONES = {"node1": "east", "node2": "east", "node3": "west", "node4": "west"}
SETTLE_S = 120


def volume(name, mode):
    """A volume of the class; who would mount it is simulated."""
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {
        "storageClassName": CLASS, "capacity": {"storage": "20Gi"}, "accessModes": [mode],
        "persistentVolumeReclaimPolicy": "Retain", "nfs": {"server": "filer", "path": f"/{name}"}}}


class Cluster(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        self.cluster = control_plane.ControlPlane(self)
        for name, zone in ZONES.items():
            self.cluster.add_node(name, zone, disk="fast" if name in ("node2", "node4") else "slow")
        self.cluster.apply(
            {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": CLASS},
             "provisioner": "kubernetes.io/no-provisioner"},
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": {
                "pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted"}}})
        harness.wait_until(lambda: self.cluster.try_kubectl("get", "serviceaccount", "default", "-n", NAMESPACE).returncode == 0,
                           "the namespace's service account", SETTLE_S)

    def manifests(self, *more):
        return self.plimsoll("kubernetes", "manifests", "--storage-class", CLASS, "--namespace", NAMESPACE, *more).out

    def pods(self, app="plimsoll"):
        return self.cluster.get("pods", "-n", NAMESPACE, "-l", f"app={app}")

    def await_running(self, count):
        """The nodes of the pods that run, once there are so many."""

        def running():
            pods = [pod for pod in self.pods() if pod["status"].get("phase") == "Running"]
            return pods if len(pods) == count else None

        pods = harness.wait_until(running, f"{count} pods that run", SETTLE_S)
        return [pod["spec"]["nodeName"] for pod in pods]

    def await_bound(self, names):

        def bound():
            claims = self.cluster.get("persistentvolumeclaims", "-n", NAMESPACE)
            return {claim["metadata"]["name"] for claim in claims if claim["status"].get("phase") == "Bound"} == set(names)

        harness.wait_until(bound, f"the bound claims {names}", SETTLE_S)

    def remove(self, text):
        """What kubectl removes is gone, and with it what controllers made."""
        self.cluster.kubectl("delete", "-f", "-", stdin=text)
        for kind in ("pods", "persistentvolumeclaims", "statefulsets", "services", "jobs"):
            harness.wait_until(lambda kind=kind: not self.cluster.get(kind, "-n", NAMESPACE), f"no {kind} left", SETTLE_S)

    def test_pods_of_a_shared_volume_run_one_a_node_over_both_zones(self):
        self.cluster.apply(volume("shared", "ReadWriteMany"))
        text = self.manifests("--replicas", "3")
        self.cluster.apply(text)
        nodes = self.await_running(3)
        self.assertEqual(len(set(nodes)), 3, nodes)
        self.assertEqual({ZONES[node] for node in nodes}, {"east", "west"})
        self.await_bound(["plimsoll"])
        self.remove(text)

    def test_a_pod_without_a_node_of_its_own_waits(self):
        self.cluster.apply(volume("shared", "ReadWriteMany"))
        self.cluster.apply(self.manifests("--replicas", "5"))
        self.assertEqual(sorted(self.await_running(4)), sorted(ZONES))
        waiting = [pod for pod in self.pods() if pod["status"]["phase"] == "Pending"]
        self.assertEqual(len(waiting), 1)

        def reasons():
            (pod,) = self.cluster.get("pods", "-n", NAMESPACE, f"--field-selector=metadata.name={waiting[0]['metadata']['name']}")
            return [condition.get("message", "") for condition in pod["status"].get("conditions", [])]

        harness.wait_until(lambda: any("didn't match pod anti-affinity rules" in reason for reason in reasons()),
                           "that the scheduler names the rule", SETTLE_S)

    def test_each_pod_has_a_volume_of_its_own_on_the_nodes_that_were_selected(self):
        self.cluster.apply(*(volume(f"own{number}", "ReadWriteOnce") for number in range(3)))
        text = self.manifests("--access-mode", "RWO", "--replicas", "2", "--node-selector", "disk=fast")
        self.cluster.apply(text)
        self.assertEqual(sorted(self.await_running(2)), ["node2", "node4"])
        self.await_bound(["data-plimsoll-0", "data-plimsoll-1"])
        self.remove(text)

    def test_a_pod_that_is_not_restricted_is_refused_here(self):
        # What the other tests accept, they could also refuse.
        (one,) = [each for each in yaml.safe_load_all(self.manifests()) if each["kind"] == "StatefulSet"]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "namespace": NAMESPACE},
               "spec": one["spec"]["template"]["spec"]}
        self.cluster.kubectl("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(pod))
        for change in ({"allowPrivilegeEscalation": True}, {"capabilities": {}}):
            changed = json.loads(json.dumps(pod))
            changed["spec"]["containers"][0]["securityContext"].update(change)
            refused = self.cluster.try_kubectl("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(changed))
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn('violates PodSecurity "restricted', refused.stderr)

    def test_the_job_starts_with_what_the_commands_of_the_manifests_make(self):
        self.cluster.apply(volume("shared", "ReadWriteMany"))
        text = self.manifests("--job")
        commands = re.search(r"^# The Job needs .* by\n((?:#   .*\n)+)", text, re.MULTILINE).group(1)
        (self.base / "accept.yaml").write_text(self.plimsoll("plan", "example", "--ready", "nfs").out)
        script = "".join(line[1:] for line in commands.splitlines(keepends=True))
        subprocess.run(["bash", "-euc", script], cwd=self.base, env=self.cluster.environment, check=True, timeout=harness.LONG_S,
                       stdout=subprocess.DEVNULL)
        agents = {secret["metadata"]["name"]: set(secret["data"]) for secret in self.cluster.get("secrets", "-n", NAMESPACE)}
        self.assertEqual(agents["plimsoll-agents"],
                         {"ca.crt", *(f"plimsoll-{n}.plimsoll.{end}" for n in range(3) for end in ("crt", "key"))})
        self.assertEqual(agents["plimsoll-controller"], {"ca.crt", "controller.crt", "controller.key"})
        self.cluster.apply(text)
        self.await_running(3)
        self.await_job("Complete")
        self.remove(text)

    def await_job(self, condition):

        def reached():
            jobs = self.cluster.get("jobs", "-n", NAMESPACE)
            return [one for job in jobs for one in job["status"].get("conditions", [])
                    if one["type"] == condition and one["status"] == "True"]

        (found,) = harness.wait_until(reached, f"a job that is {condition}", SETTLE_S)
        return found

    def end_pod(self, name, code):
        """As a kubelet does: the container has ended with this exit code."""
        state = {"terminated": {"exitCode": code, "reason": "Completed" if code == 0 else "Error"}}
        patch = {"status": {"phase": "Failed", "containerStatuses": [
            {"name": "accept", "image": "plimsoll", "imageID": "", "ready": False, "restartCount": 0, "state": state}]}}
        self.cluster.kubectl("patch", "pod", name, "-n", NAMESPACE, "--subresource=status", "--patch", json.dumps(patch))

    def test_the_job_is_tried_again_for_agents_that_cannot_be_reached_and_for_nothing_else(self):
        # Its pods end when the test has them end.
        self.cluster.stop_kubelets()
        self.cluster.apply(volume("shared", "ReadWriteMany"))
        self.cluster.apply(self.manifests("--job"))

        def of_job(count):

            def all_there():
                pods = self.pods("plimsoll-accept")
                return pods if len(pods) == count else None

            return harness.wait_until(all_there, f"{count} pods of the job", SETTLE_S)

        (first,) = of_job(1)
        self.end_pod(first["metadata"]["name"], 4)
        pods = of_job(2)
        (second,) = [pod for pod in pods if pod["metadata"]["uid"] != first["metadata"]["uid"]]
        self.end_pod(second["metadata"]["name"], 3)
        failed = self.await_job("Failed")
        self.assertEqual(failed["reason"], "PodFailurePolicy")
        self.assertIn("exit code 3", failed["message"])
        self.assertEqual(len(self.pods("plimsoll-accept")), 2)


if __name__ == "__main__":
    harness.main()
