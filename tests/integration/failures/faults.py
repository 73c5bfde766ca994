"""How each thing goes wrong. Each is a function of a scene that has been brought into its state."""

import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

import harness

FAKETIME = "faketime/libfaketimeMT.so.1"


def kill_beta(scene):
    scene.beta.signal(signal.SIGKILL)
    scene.let_beta_go()


def freeze_beta(scene):
    scene.beta.signal(signal.SIGSTOP)
    scene.wake = lambda: scene.beta.signal(signal.SIGCONT)
    # A thread in the kernel ends its call, and stops then; the others must not go on with what it did.
    harness.wait_until(lambda: harness.is_stopped(scene.beta.agent_pid, but_for_calls=True), "beta to stop")
    scene.let_beta_go()


def unplug(scene):
    scene.network.unplug(2)


def unplug_all(scene):
    scene.network.unplug(1)
    scene.network.unplug(2)


def unplug_for(seconds):

    def inject(scene):
        scene.network.unplug(2)
        time.sleep(seconds)  # The length of the cut is what is tested.
        scene.network.plug_in(2)
        scene.let_beta_go()

    return inject


def _nft(scene, text):
    if shutil.which("nft") is None:
        raise unittest.SkipTest("nft (nftables) is not installed")
    subprocess.run([*scene.network.on_host(2), "nft", "-f", "-"], input=text.encode(), check=True, timeout=60)


def drop(*hooks):

    def inject(scene):
        chains = "".join(f"chain {hook} {{ type filter hook {hook} priority 0; iif != lo drop; }}\n" if hook == "input" else
                         f"chain {hook} {{ type filter hook {hook} priority 0; oif != lo drop; }}\n" for hook in hooks)
        _nft(scene, f"table inet cut {{\n{chains}}}\n")

    return inject


def drop_for(seconds):
    begin = drop("input", "output")

    def inject(scene):
        begin(scene)
        time.sleep(seconds)  # The length of the cut is what is tested.
        _nft(scene, "delete table inet cut\n")
        scene.let_beta_go()

    return inject


def kill_controller(scene):
    scene.run_process.signal(signal.SIGKILL)


def freeze_controller(scene):
    """Until both agents have ended their sessions: that is what tells that their lease has run out."""
    scene.run_process.signal(signal.SIGSTOP)
    for agent in (scene.alpha, scene.beta):
        agent.await_err("session of .* ends: ")
    scene.run_process.signal(signal.SIGCONT)


def fill_results_disk(scene):
    # Opening and making files goes on: inodes are not what is short.
    scene.results_fs.fault("write * error=ENOSPC").await_hits()
    scene.let_beta_go()


def remove_results(scene):
    shutil.rmtree(scene.out)
    scene.run_process.await_err("the journal cannot be written")
    scene.let_beta_go()


def write_error(name):

    def inject(scene):
        if scene.row.state == "draining":
            scene.let_beta_go()
            return
        # While the hold stands, so that preparing cannot end before the fault is there.
        scene.fs.fault(f"write */beta/*.LOG error={name}")
        if scene.row.state == "preparing":
            scene.let_beta_go()

    return inject


def remove_directory(scene):
    (directory,) = scene.fs.backing.glob("plimsoll-*/beta")
    shutil.rmtree(directory)
    scene.let_beta_go()


def _await_hang_shown(scene):
    harness.wait_until(lambda: " has been " in scene.doing(scene.beta), "an agent that tells of a write in flight")


def hang_for_a_while(scene):
    if scene.row.state != "draining":
        hang = scene.fs.fault("write */beta/*.LOG count=1 hang")
        scene.let_beta_go()
        hang.await_waiting()
        scene.hold = hang
    _await_hang_shown(scene)
    if scene.row.state != "preparing":
        scene.run_process.await_err("beta/qm1 in one write for ")
    scene.let_go()


def hang_for_ever(scene):
    if scene.row.state == "draining":
        return
    if scene.hold is not None:
        scene.let_beta_go()
    scene.hold = scene.fs.fault("write */beta/*.LOG count=1 hang")
    scene.hold.await_waiting()


def hang_removal(scene):
    # Closing comes first; on a network file system it waits for the server too.
    scene.hold = scene.fs.fault("flush */beta/*.LOG count=1 hang")
    scene.hold.await_waiting()


def _faketime():
    for directory in pathlib.Path("/usr/lib").glob("*-linux-gnu"):
        if (directory / FAKETIME).exists():
            return directory / FAKETIME
    raise unittest.SkipTest("libfaketime is not installed")


def with_false_wall_clock(scene):
    scene.false_clock = scene.base / "clock"
    scene.false_clock.write_text("+0\n")
    return ["env", f"LD_PRELOAD={_faketime()}", f"FAKETIME_TIMESTAMP_FILE={scene.false_clock}", "FAKETIME_NO_CACHE=1",
            "FAKETIME_DONT_FAKE_MONOTONIC=1"]


def jump_wall_clock(scene):
    new = scene.base / "clock.new"
    new.write_text("+1d\n")
    os.replace(new, scene.false_clock)
    scene.let_beta_go()
