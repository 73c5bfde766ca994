"""scripts/check-words keeps the old phrases of scripts/words.txt out of messages, help, comments, pages and docs."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
CHECK = TREE / "scripts" / "check-words"


class Words(unittest.TestCase):

    def check(self, root):
        return subprocess.run([sys.executable, "-B", CHECK, root], capture_output=True, text=True, check=False, timeout=60)

    def planted(self, files):
        """What it prints of a tree with these files."""
        with tempfile.TemporaryDirectory(prefix="plimsoll-test-") as place:
            for name, text in files.items():
                path = pathlib.Path(place, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            done = self.check(place)
        return done.returncode, done.stdout.splitlines()

    def test_the_tree_is_clean(self):
        done = self.check(TREE)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_a_phrase_in_a_message_in_help_or_in_a_page_is_named_with_its_place(self):
        code, lines = self.planted({
            "agent/a.cc": 'error("the writer stood still");\n',
            "proto/plimsoll/v1/plan.proto": '  help: "A host that is given up"\n',
            "controller/page/a.js": "// The writer's name.\nshow('one',\n     'a \\'host\\' that stood', `two\nwho stood`);\n",
            "controller/page/a.html": "<p title=\"a\">All hosts stood.</p>\n",
            "docs/a.md": "# A page\n\nThe kernel says so.\n",
            "README.md": "All hosts stood.\n",
            "tests/a/README.md": "The host is given up.\n",
            "packaging/postinst": "#!/bin/sh\n# All hosts stood.\n",
        })
        self.assertEqual(code, 1)
        self.assertEqual([line.split(": ")[0] for line in lines],
                         ["agent/a.cc:1", "proto/plimsoll/v1/plan.proto:1", "controller/page/a.js:3", "controller/page/a.js:4",
                          "controller/page/a.html:1", "README.md:1", "docs/a.md:3", "packaging/postinst:2", "tests/a/README.md:1"])
        self.assertEqual(lines[0], "agent/a.cc:1: 'stood': write stalled, suspended; affected")

    def test_a_phrase_in_a_comment_of_sources_headers_and_the_protocol_is_named_with_its_place(self):
        code, lines = self.planted({
            "agent/a.cc": 'call("http://a//b");  // It stood still.\n',
            "common/a.h": "// What the agent is told.\nint a;\n  // It shall end.\n",
            "controller/b.h": "int rows;  // The harness's own.\n",
            "proto/plimsoll/v1/a.proto": "  // The host is given up.\n  int64 a = 1;  // Writes one after another.\n",
        })
        self.assertEqual(code, 1)
        self.assertEqual([line.split(": ")[0] for line in lines],
                         ["agent/a.cc:1", "common/a.h:1", "common/a.h:3", "controller/b.h:1", "proto/plimsoll/v1/a.proto:1",
                          "proto/plimsoll/v1/a.proto:2", "proto/plimsoll/v1/a.proto:2"])

    def test_keys_includes_scripts_comments_and_the_terms_keep_their_names(self):
        self.assertEqual(
            self.planted({
                "controller/a.cc": '#include "controller/run/told.h"\nadd("unserved");\nadd("stalls.stretches");\n',
                "controller/page/a.js": "// It stood still: the writer's.\nput(row.stretches, 'unserved');\n",
                "build/dev/a.md": "All hosts stood.\n",
                "docs/a.md": "The key `unserved` counts writes that were not issued.\n",
                "docs/terms.md": "| stretch | not used any more: stall interval |\n",
            }), (0, []))

    def test_words_that_only_look_alike_are_left_alone(self):
        self.assertEqual(
            self.planted({
                "docs/a.md": "A standby instance takes over. Amendments, outstanding writes and rows are fine. "
                             "A stretched cluster between 5 % and 10 %. Semiconductor. The lease expired. "
                             "There is no limit, and it is no longer there. The interval is no wider than that.\n",
                "agent/a.cc": 'error("lost between %d writes", n);\n',
                "agent/a.h": "// Asks for a step that is as long as the last one. Foretold. See http://a/b.\n",
            }), (0, []))

    def assert_found(self, name, lines):
        """Each of these lines of a file has a hit."""
        _, found = self.planted({name: "\n".join(lines) + "\n"})
        hit = {int(line.split(":")[1]) for line in found}
        self.assertEqual([line for number, line in enumerate(lines, start=1) if number not in hit], [])

    def test_each_phrase_of_the_file_is_found(self):
        phrases = ("who stood", "hosts that ran", "three writes in a row", "a stretch of slow writes", "told from chance",
                   "what lies under a directory", "given up", "nothing gets on", "nothing heard", "due and not started", "unserved", "behind its schedule",
                   "rate not held", "what was asked for", "writes one after another", "intended start", "between %",
                   "our avg", "what the kernel says", "late max", "the harness may have been the bottleneck", "20 medians",
                   "where that is more", "cannot tell storage from path", "resent", "no criterion given",
                   "ended before its time", "writes lie beyond it", "in what else they differ", "waiting hard", "not told",
                   "as by default", "speaks against a log", "an earlier agent", "conducts", "mend", "words of the system",
                   "reporting a hole", "come back", "writes on schedule", "whichever is more", "hosts shall stop",
                   "it is to be read", "the path is no directory")
        self.assert_found("docs/a.md", phrases)
        self.assert_found("agent/a.h", [f"// {phrase}" for phrase in phrases])
        self.assert_found("agent/a.cc", [f'error("{phrase} {{}}");' for phrase in phrases])

    def test_comments_leave_out_more_phrases_than_messages(self):
        phrases = ("the harness", "starts on schedule", "hosts one after the other", "an untold second")
        self.assert_found("agent/a.h", [f"// {phrase}" for phrase in phrases])
        self.assertEqual(self.planted({"docs/a.md": "\n".join(phrases) + "\n"}), (0, []))


class Format(unittest.TestCase):

    def test_an_unknown_argument_is_refused_before_anything_is_formatted(self):
        for arguments in (["--chek"], ["--check", "more"], [""]):
            done = subprocess.run([TREE / "scripts" / "format", *arguments], capture_output=True, text=True, check=False,
                                  timeout=60, env={"PATH": "/usr/bin:/bin", "HOME": "/"})
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("usage: scripts/format [--check]", done.stderr)


if __name__ == "__main__":
    unittest.main()
