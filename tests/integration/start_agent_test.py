"""The script that starts an agent over ssh, by itself: the program that it hashed is the one that it starts."""

import contextlib
import hashlib
import os
import pathlib
import subprocess

import harness

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "controller/launch/start_agent.sh"
VERSION = "1.2.3"
GOOD = f"#!/bin/sh\n[ $1 = --version ] && echo plimsoll-agent {VERSION} || echo the good one\n"
OTHER = GOOD.replace("the good one", "ANOTHER ONE")


class StartAgent(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        self.cache = self.base / "above/cache"
        self.tools = self.base / "tools"
        self.tools.mkdir()

    def put(self, text, cache):
        directory = cache / VERSION
        directory.mkdir(parents=True, mode=0o700)
        (directory / "plimsoll-agent").write_text(text)
        (directory / "plimsoll-agent").chmod(0o700)

    def start(self):
        """What the script prints to a controller that sends what it asks for."""
        settings = {"version": VERSION, "sum": hashlib.sha256(GOOD.encode()).hexdigest(), "size": len(GOOD),
                    "machine": os.uname().machine, "cache": self.cache, "run": self.base / "run/agent"}
        script = "".join(f"{name}='{value}'\n" for name, value in settings.items()) + SCRIPT.read_text() + "main --listen x\n"
        answers = {"plimsoll-launch need": GOOD, "plimsoll-launch ready": "go\n"}
        shell = subprocess.Popen(["sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=0, umask=0o22,
                                 env={**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}"})
        printed = []
        with shell, contextlib.suppress(BrokenPipeError):
            shell.stdin.write(script)
            for line in shell.stdout:
                printed.append(line.rstrip("\n"))
                shell.stdin.write(answers.get(printed[-1], ""))
                if printed[-1].startswith("plimsoll-launch ended"):
                    shell.stdin.close()
        return [line.removeprefix("plimsoll-launch ") for line in printed]

    def after_hashing(self, commands):
        """Has sha256sum do this once it has its sum."""
        tool = self.tools / "sha256sum"
        tool.write_text(f"#!/bin/sh\nPATH=${{PATH#*:}}\nsha256sum\n{commands}\n")
        tool.chmod(0o755)

    def test_the_agent_that_is_in_the_cache_is_started(self):
        self.put(GOOD, self.cache)
        self.assertEqual(self.start(), ["ready", "the good one", "ended 0"])

    def test_it_is_copied_where_it_is_missing_or_another_one(self):
        for before in (None, OTHER):
            if before is not None:
                (self.cache / VERSION / "plimsoll-agent").write_text(before)
            printed = self.start()
            self.assertEqual(printed, ["need", "ready", "the good one", "ended 0"])

    def test_what_is_put_in_the_place_of_a_directory_after_it_was_checked_is_not_started(self):
        for replaced in (self.cache / VERSION, self.cache, self.cache.parent):
            with self.subTest(replaced.name):
                self.put(GOOD, self.cache)
                planted = self.base / "planted"
                self.put(OTHER, planted / self.cache.relative_to(replaced) if replaced != self.cache / VERSION else planted)
                source = planted / VERSION if replaced == self.cache / VERSION else planted
                self.after_hashing(f"[ -e '{replaced}.moved' ] || {{ mv '{replaced}' '{replaced}.moved'; mv '{source}' '{replaced}'; }}")
                self.assertEqual(self.start()[1:2], ["the good one"])
                subprocess.run(["rm", "-rf", self.cache.parent, self.base / "above.moved", planted], check=True)

    def test_a_directory_above_the_cache_in_which_others_may_write_is_refused(self):
        self.put(GOOD, self.cache)
        for directory, mode, kind in ((self.cache / VERSION, 0o770, "private"), (self.cache, 0o770, "above"),
                                      (self.cache.parent, 0o777, "above")):
            directory.chmod(mode)
            self.assertEqual(self.start(), [f"fail {kind} {directory}"])
            directory.chmod(0o755)
        self.cache.parent.chmod(0o1777)
        self.assertEqual(self.start()[1:2], ["the good one"], "nobody can rename another's file there")

    def test_an_agent_that_others_may_write_is_copied_again(self):
        self.put(GOOD, self.cache)
        (self.cache / VERSION / "plimsoll-agent").chmod(0o777)
        self.assertEqual(self.start()[0], "need")
        self.assertEqual(self.start()[0], "ready")


if __name__ == "__main__":
    harness.main()
