"""Manual pages and shell completion: made by the build from the same declarations as --help, so they say the same."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

import harness


class Manual(harness.PlimsollTest):

    def setUp(self):
        super().setUp()
        self.share = self.base / "share"
        for program in ("plimsoll", "plimsoll-agent"):
            subprocess.run([harness.binary(program), "--manual", self.share / program], check=True, timeout=60)

    def page(self, *command):
        program = command[0]
        return (self.share / program / "man" / "man1" / ("-".join(command) + ".1")).read_text()

    def help_of(self, *command):
        return subprocess.run([harness.binary(command[0]), *command[1:], "--help"], capture_output=True, text=True,
                              check=True, timeout=60).stdout

    def options_of(self, *command):
        """Every spelling of the options, from the first column of --help; an optional value is in brackets there."""
        columns = re.findall(r"(?m)^  (-[^\s[]+)", self.help_of(*command))
        return [spelling for column in columns for spelling in column.split(",")]

    def commands(self, *above):
        """Every command with its parents, as --help lists them."""
        found = [above]
        text = self.help_of(*above)
        if "Subcommands:" in text:
            listed = text.split("Subcommands:\n")[1].split("\n\n")[0]
            for name in re.findall(r"(?m)^  (\S+)", listed):
                if name == "help":
                    continue  # It takes a command and no options.
                found += self.commands(*above, name)
        return found

    def all_commands(self):
        return self.commands("plimsoll") + self.commands("plimsoll-agent")

    def test_each_command_has_a_page_with_exactly_the_options_of_its_help(self):
        commands = self.all_commands()
        self.assertGreater(len(commands), 12)
        pages = {path.stem for path in self.share.rglob("*.1")}
        self.assertEqual(pages, {"plimsoll-help"} | {"-".join(command) for command in commands})
        for command in commands:
            with self.subTest(command=command):
                expected = self.options_of(*command)
                text = self.page(*command).replace(r"\-", "-")
                headings = re.findall(r"\.TP\n\\fB(-[^\\]*)\\fR", text)
                listed = [spelling for heading in headings for spelling in heading.split(", ")]
                self.assertEqual(sorted(listed), sorted(expected))
                self.assertIn("--help", listed)

    def test_a_value_that_may_be_left_out_is_shown_in_brackets_behind_an_equals_sign(self):
        self.assertRegex(self.help_of("plimsoll", "run"), r"(?m)^  --until-steady\[=10m\] +Repeat")

    def test_no_line_of_help_is_longer_than_100_columns(self):
        for command in self.all_commands():
            lines = self.help_of(*command).splitlines()
            self.assertEqual([line for line in lines if len(line) > 100], [], command)

    def test_pages_are_good_roff(self):
        if shutil.which("groff") is None:
            raise unittest.SkipTest("groff is not installed")
        for path in sorted(self.share.rglob("*.1")):
            with self.subTest(page=path.name):
                done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", path], capture_output=True, text=True,
                                      check=False, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertRegex(path.read_text(), r"(?m)^\.SH NAME\n\S+ \\- \S")

    def test_a_page_says_what_help_says(self):
        text = re.sub(r"\\(e|-|\(aq|&)", lambda found: {"e": "\\", "-": "-", "(aq": "'", "&": ""}[found[1]],
                      self.page("plimsoll", "clean"))
        self.assertIn("Remove the leftovers", text)
        self.assertIn(".SH EXAMPLES\n.nf\nplimsoll clean --hosts node[1-4] --dir /mnt/mqlog --yes\n.fi\n", text)
        self.assertIn("3 something could not be removed, or interrupted", text)

    def completed(self, *words, program="plimsoll"):
        """What bash offers for the last of these words."""
        script = self.share / program / "bash-completion" / "completions" / program
        function = "_" + program.replace("-", "_")
        done = subprocess.run(
            ["bash", "--norc", "--noprofile", "-c",
             f'. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); {function}; printf "%s\\n" "${{COMPREPLY[@]}}"; '
             f'complete -p {program} >&2', "bash", script, program, *words],
            capture_output=True, text=True, check=True, timeout=60, cwd=self.dir)
        self.assertEqual(done.stderr, f"complete -F {function} {program}\n")
        return sorted(done.stdout.split("\n")[:-1])

    def test_bash_completes_commands_and_options(self):
        self.assertEqual(self.completed("r"), ["report", "restart-time", "run"])
        self.assertEqual(self.completed("plan", "ch"), ["check"])
        self.assertEqual(self.completed("run", "--bsi"), ["--bsize", "--bsize-mix"])
        self.assertEqual(self.completed("plan", "check", "--bsi"), ["--bsize", "--bsize-mix"])
        self.assertEqual(self.completed("--vers"), ["--version"])
        self.assertEqual(self.completed("hosts", "--no-such"), [""])
        self.assertEqual(self.completed("--max-b", program="plimsoll-agent"), ["--max-bytes"])

    def test_bash_completes_values(self):
        self.assertEqual(self.completed("fsck", "--level", "s"), ["standard"])
        self.assertEqual(self.completed("--log-level", "w", program="plimsoll-agent"), ["warn"])
        (self.dir / "a plan.yaml").touch()
        (self.dir / "a directory").mkdir()
        self.assertEqual(self.completed("run", "a p"), ["a plan.yaml"])
        self.assertEqual(self.completed("run", "--dir", "a"), ["a directory"])
        self.assertEqual(self.completed("run", "--csv-file", "a"), ["a directory", "a plan.yaml"])
        self.assertEqual(self.completed("run", "--qm", ""), [""])

    def test_every_option_of_every_command_is_completed(self):
        for command in self.all_commands():
            with self.subTest(command=command):
                offered = self.completed(*command[1:], "-", program=command[0])
                self.assertEqual(offered, sorted(self.options_of(*command)))

    def test_zsh_takes_its_completion(self):
        text = (self.share / "plimsoll" / "zsh" / "site-functions" / "_plimsoll").read_text()
        self.assertTrue(text.startswith("#compdef plimsoll\n"))
        for command in self.commands("plimsoll"):
            self.assertIn(f"_{'-'.join(command)}() {{\n", text)
        if shutil.which("zsh") is None:
            self.skipTest("zsh is not installed")
        subprocess.run(["zsh", "-n", self.share / "plimsoll" / "zsh" / "site-functions" / "_plimsoll"], check=True, timeout=60)

    def test_they_are_installed_with_their_programs(self):
        build = pathlib.Path(os.environ["PLIMSOLL_BIN"]).parent
        if shutil.which("cmake") is None or not (build / "cmake_install.cmake").exists():
            raise unittest.SkipTest("no build tree with its cmake beside the programs")
        for component, program in (("agent", "plimsoll-agent"), ("controller", "plimsoll")):
            subprocess.run(["cmake", "--install", build, "--component", component, "--prefix", self.dir / component],
                           check=True, capture_output=True, timeout=harness.LONG_S)
            share = self.dir / component / "share"
            for path in (f"man/man1/{program}.1", f"bash-completion/completions/{program}", f"zsh/site-functions/_{program}"):
                self.assertEqual((share / path).read_text(), next(self.share.glob(f"{program}/{path}")).read_text())
        self.assertTrue((self.dir / "controller/share/man/man1/plimsoll-run.1").exists())


if __name__ == "__main__":
    harness.main()
