"""The commands of README.md, as they are there; but with small files, short steps, a criterion that holds, and directories of the test."""

import os
import pathlib
import re
import sys
import unittest

import harness
import ssh_hosts

README = (pathlib.Path(__file__).parents[2] / "README.md").read_text()
FIRST_SCREEN = README.split("\n## ")[0]
SMALL = 'case $1 in run) small="--file-size 256k" ;; esac'


def blocks(text):
    return re.findall(r"(?s)\n```\n(.*?)```", text)


class FirstScreen(unittest.TestCase):

    def test_it_shows_this_machine_ssh_and_kubernetes(self):
        ways = [re.findall(r"--launch (\w+)", block)[-1:] for block in blocks(FIRST_SCREEN)]
        self.assertEqual(ways, [[], ["ssh"], ["kubernetes"]])
        self.assertLess(FIRST_SCREEN.index("```\n\nEach run"), FIRST_SCREEN.index("!["), "the picture comes after the commands")


class Commands:
    """Tests with `tools`, which come first in the PATH of the commands."""

    def setUp(self):
        super().setUp()
        self.tools = self.base / "tools"
        self.tools.mkdir()

    def tool(self, name, text):
        (self.tools / name).write_text(text)
        (self.tools / name).chmod(0o755)

    def run_commands(self, commands, wrap=()):
        """Runs them in one shell, which ends at the first that fails. Returns what they printed."""
        environment = {**self.environment, "PATH": f"{self.tools}:{os.environ['PATH']}"}
        commands = commands.replace("--duration 60", "--duration 5").replace("p99<10ms", "p99<60s")
        process = self.start(harness.Process, [*wrap, "sh", "-ec", commands], env=environment)
        self.assertEqual(process.finish(), 0, f"{commands}\n{process.out}\n{process.err}")
        return process.out


class Here(Commands, harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        self.tool("plimsoll", f'#!/bin/sh\n{SMALL}\nexec {harness.binary("plimsoll")} "$@" $small\n')

    def test_this_machine(self):
        out = self.run_commands(blocks(FIRST_SCREEN)[0].replace("/mnt/mqlog", str(self.dir)))
        self.assertTrue(out.startswith("Verdict   PASS"), out)
        self.assert_nothing_left()

    def test_kubernetes(self):
        stand_in = pathlib.Path(__file__).with_name("stand_in_client.py").read_text()
        self.tool("kubectl", f"#!{sys.executable} -B\n{stand_in}")
        (self.tools / "programs").write_text(os.path.dirname(harness.binary("plimsoll-agent")))
        out = self.run_commands(blocks(FIRST_SCREEN)[2].replace("--dir /data", f"--dir {self.dir}"))
        self.assertTrue(out.startswith("Verdict   PASS"), out)
        (results,) = (self.base / "plimsoll-results").iterdir()
        self.assertEqual([(host["label"], host["node"]) for host in harness.report_of(results)["hosts"]],
                         [(f"plimsoll-{number}", f"worker-{number}") for number in range(3)])
        self.assertFalse((self.tools / "pods.json").exists(), "deleted")
        self.assert_nothing_left()


class OverSsh(Commands, ssh_hosts.SshTest):

    size = 3

    def setUp(self):
        super().setUp()
        (self.dir / "mqlog").mkdir()
        self.boot()
        config = self.user / "config"
        config.write_text(re.sub(r"(?m)^Host host(\d)$", r"Host node\1", config.read_text()))
        self.tool("ssh", f'#!/bin/sh\nexec /usr/bin/ssh -F {config} "$@"\n')
        self.tool("plimsoll",
                  f'#!/bin/sh\n{SMALL}\nexec {harness.binary("plimsoll")} "$@" $small --launch-agent {self.agent_file()}\n')

    def run_over_ssh(self, commands):
        out = self.run_commands(commands, wrap=self.network.on_controller())
        self.assertIn("\nVerdict   PASS", out)
        self.await_nothing_runs()
        self.assertEqual(list((self.dir / "mqlog").iterdir()), [])

    def test_the_first_screen(self):
        self.run_over_ssh(blocks(FIRST_SCREEN)[1])

    def test_without_installing_anything(self):
        (commands,) = blocks(README.split("\n## Without installing anything\n")[1].split("\n## ")[0])
        self.assertEqual([command.split()[1] for command in commands.splitlines()], ["hosts", "storage", "run"])
        self.run_over_ssh(commands)


if __name__ == "__main__":
    harness.main()
