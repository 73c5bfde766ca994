"""A client for `--launch` that needs no cluster: what `kubectl get pods` and `kubectl exec` do, with "pods" on this machine.

Run as `CLIENT [--context=C] [--namespace=N] get pods --selector=KEY=VALUE|POD... --output=json` or
`CLIENT [...] exec -i|-it POD [--container=C] -- PROGRAM [ARGUMENT...]`. Beside it are `pods.json`, and the directory of the program in
`programs`. An agent gets the name of its pod, as the host name of a pod would give it. `apply -f FILE` makes the pods of a StatefulSet, each on a
node of its own, `rollout status KIND/NAME` finds them there, and `delete -f FILE` removes them.
"""

import json
import os
import pathlib
import pty
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).parent


def relay(source, sink):
    """Until the source ends, or the sink takes nothing more."""
    try:
        while data := os.read(source, 65536):
            while data:
                data = data[os.write(sink, data):]
    except OSError:
        pass
    try:
        os.close(sink)
    except OSError:
        pass


def run(command, terminal):
    """The program, with streams of its own: it ends with this client. Returns its exit code."""
    environment = {**os.environ, "PATH": (HERE / "programs").read_text().strip()}
    if terminal:
        controller, program_side = pty.openpty()
        process = subprocess.Popen(command, stdin=program_side, stdout=program_side, stderr=program_side, env=environment,
                                   start_new_session=True)
        os.close(program_side)
        threading.Thread(target=relay, args=(0, os.dup(controller)), daemon=True).start()
        relay(controller, os.dup(1))
        return process.wait()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True)
    threading.Thread(target=relay, args=(0, process.stdin.fileno()), daemon=True).start()
    relay(process.stdout.fileno(), os.dup(1))
    code = process.wait()
    return code if code >= 0 else 128 - code


def pods():
    file = HERE / "pods.json"
    return json.loads(file.read_text())["items"] if file.exists() else []


def get_pods(words):
    """As kubectl prints them: a list, or the one pod that is named."""
    names = [word for word in words if not word.startswith("--")]
    missing = set(names) - {pod["metadata"]["name"] for pod in pods()}
    if missing:
        print(f'Error from server (NotFound): pods "{min(missing)}" not found', file=sys.stderr)
        return 1
    found = [pod for pod in pods() if pod["metadata"]["name"] in names]
    for word in words:
        if word.startswith("--selector="):
            label, _, value = word.removeprefix("--selector=").partition("=")
            found = [pod for pod in pods() if pod["metadata"]["labels"].get(label) == value]
    print(json.dumps(found[0] if len(names) == 1 else {"kind": "List", "items": found}))
    return 0


def change(words):
    """apply -f, rollout status and delete -f of a StatefulSet."""
    file = HERE / "pods.json"
    if words[0] == "rollout":
        return 0 if pods() else 1
    import yaml  # Where nothing is applied it is not needed.
    objects = list(filter(None, yaml.safe_load_all(pathlib.Path(words[2]).read_text())))
    (stateful_set,) = (each for each in objects if each["kind"] == "StatefulSet")
    if words[0] == "delete":
        file.unlink()
        return 0
    made = [{"metadata": {"name": f"{stateful_set['metadata']['name']}-{number}",
                          "labels": stateful_set["spec"]["template"]["metadata"]["labels"]},
             "spec": {"nodeName": f"worker-{number}"}, "status": {"phase": "Running"}}
            for number in range(stateful_set["spec"]["replicas"])]
    file.write_text(json.dumps({"kind": "List", "items": made}))
    return 0


def main(words):
    with open(HERE / "calls", "a", encoding="utf-8") as calls:
        calls.write(" ".join(words) + "\n")
    words = [word for word in words if not word.startswith(("--context=", "--namespace="))]
    if words[:2] == ["get", "pods"]:
        return get_pods(words[2:])
    if words[0] in ("apply", "rollout", "delete"):
        return change(words)
    pod = words[2]
    if pod.startswith("gone"):
        print(f'Error from server (NotFound): pods "{pod}" not found', file=sys.stderr)
        return 1
    if pod.startswith("banner"):
        os.write(1, f"Welcome to {pod}\n".encode())
    try:
        code = run([*words[words.index("--") + 1:], "--name", pod], words[1] == "-it")
    except FileNotFoundError as error:
        print(f'error: exec: "{error.filename}": executable file not found in $PATH', file=sys.stderr)
        code = 126
    if code != 0:
        print(f"command terminated with exit code {code}", file=sys.stderr)
    return code


if __name__ == "__main__":
    # The thread that reads standard input may wait for good.
    sys.stderr.flush()
    result = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(result)
