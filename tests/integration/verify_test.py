"""`plimsoll verify`: results are those that were recorded, or the file that differs is named; sha256sum gives the same digest."""

import hashlib
import json
import re
import shutil
import subprocess

import harness

DIGEST = re.compile(r"(?m)^Digest  sha256:([0-9a-f]{64})$")
LOAD = ("--rate", "50", "--arrival", "even", "--require", "p50<5s")


def sha256sum(directory, *arguments):
    """What coreutils say, in that directory."""
    return subprocess.run(["sha256sum", *arguments], cwd=directory, capture_output=True, text=True, check=True, timeout=60).stdout


def flip(path):
    """Changes one byte in the middle of the file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


class VerifyTest(harness.PlimsollTest):
    in_memory = True
    runs_ahead = True

    def digest_in(self, text):
        (digest,) = DIGEST.findall(text)
        return digest

    def verify(self, directory, *arguments, code=0):
        return self.plimsoll("verify", directory, *arguments, code=code)

    def listed(self, directory):
        return [line.split("  ", 1)[1] for line in (directory / "digest.txt").read_text().splitlines()]

    def list_again(self, directory):
        """What somebody who changes a file and knows of the list does to it."""
        (directory / "digest.txt").write_text(sha256sum(directory, *self.listed(directory)))

    def assert_intact(self, directory, digest):
        """Both forms of the command find nothing, and coreutils come to the same digest."""
        names = self.listed(directory)
        self.assertEqual(names, sorted(names))
        sums = sha256sum(directory, *names)
        self.assertEqual(hashlib.sha256(sums.encode()).hexdigest(), digest)
        self.assertEqual(sha256sum(directory, "digest.txt"), f"{digest}  digest.txt\n")
        self.assertEqual(sha256sum(directory, "--check", "--strict", "digest.txt"), "".join(f"{name}: OK\n" for name in names))
        shown = self.verify(directory)
        self.assertTrue(shown.out.startswith(f"{sums}Digest  sha256:{digest}\nINTACT   "), shown)
        self.assertEqual(shown.err, "")
        compared = self.verify(directory, "--digest", f"sha256:{digest}")
        self.assertRegex(compared.out, rf"\ADigest  sha256:{digest}\nINTACT   .*{len(names)} files in {directory}\n\Z")
        self.assertEqual(compared.err, "")

    def assert_changed(self, directory, told, *arguments):
        """The difference is named, on a line of its own."""
        result = self.verify(directory, *arguments, code=1)
        self.assertIn(f"plimsoll: {directory}: {told}\n", result.err, result)
        self.assertRegex(result.out, rf"(?m)^CHANGED   \d+ differences? in {directory}$")
        return result

    def spoiled(self, directory, name, told, change):
        """What `change` makes of the file is named, with and without the digest, until it is undone."""
        digest = self.digest_in(self.verify(directory).out)
        kept = self.base / "kept"
        shutil.copy2(directory / name, kept)
        change(directory / name)
        for arguments in ((), ("--digest", digest)):
            self.assert_changed(directory, told, *arguments)
        (directory / name).unlink(missing_ok=True)
        shutil.move(kept, directory / name)
        self.verify(directory, "--digest", digest)


class Run(VerifyTest):

    def test_a_run_is_intact_and_sha256sum_gives_its_digest(self):
        result = self.run_plan(*LOAD, "--duration", "1s", "--change", "CHG0012345", "--operator", "J. Doe", code=(0, 3))
        digest = self.digest_in(result.out)
        self.assertEqual(self.listed(result.results), ["journal", "report.csv", "report.json", "report.txt", "timeline.csv"])
        self.assert_intact(result.results, digest)
        self.assertIn(digest, (result.results / "report.html").read_text())
        plan = result.report["plan"]
        self.assertEqual((plan["change"], plan["operator"]), ("CHG0012345", "J. Doe"))
        self.assertRegex((result.results / "report.txt").read_text(), r"(?m)^  Change +--change +CHG0012345\n  Operator +--operator +J\. Doe$")
        # The digest follows from the journal, in whatever directory that is.
        for form in ((), ("--print-only",), ("--full",), ("--summary", "md")):
            again = self.plimsoll("report", result.results, *form, code=result.code)
            self.assertIn(f"sha256:{digest}", again.out)
        self.assertNotIn("sha256:", self.plimsoll("report", result.results, "--json", code=result.code).out)
        self.assert_intact(result.results, digest)
        copy = self.base / "copy"
        copy.mkdir()
        shutil.copy(result.results / "journal", copy)
        self.assertEqual(self.digest_in(self.plimsoll("report", copy, code=result.code).out), digest)

    def test_each_changed_missing_or_linked_file_is_named(self):
        results = self.run_plan().results
        elsewhere = self.base / "elsewhere"
        for name in self.listed(results):
            with self.subTest(name):
                self.spoiled(results, name, f"{name} was changed: its SHA-256 is not the one in digest.txt", flip)
                self.spoiled(results, name, f"{name} is missing", lambda path: path.unlink())

                def link(path):
                    elsewhere.unlink(missing_ok=True)
                    path.rename(elsewhere)
                    path.symlink_to(elsewhere)

                self.spoiled(results, name, f"{name} is a symbolic link", link)

    def test_a_report_whose_verdict_does_not_follow_from_the_journal_is_named_whatever_the_list_says(self):
        result = self.run_plan("--require", "iops>=1000000", code=(1, 3))
        results, digest, outcome = result.results, self.digest_in(result.out), result.report["verdict"]["outcome"]
        whole = (results / "report.json").read_text()
        (results / "report.json").write_text(whole.replace(f'"outcome": "{outcome}"', '"outcome": "pass"'))
        forged = f"report.json has the verdict PASS, and the journal gives {outcome.upper()}"
        self.assert_changed(results, forged)
        self.assert_changed(results, "report.json was changed: its SHA-256 is not the one in digest.txt")
        self.list_again(results)
        told = self.assert_changed(results, forged)
        self.assertEqual(len(told.errors), 1, told)
        self.assert_changed(results, "digest.txt was changed or is of other results: its SHA-256 is not that of --digest", "--digest", digest)
        # A figure alone.
        (results / "report.json").write_text(re.sub(r'"writes": (\d+)', r'"writes": 1\1', whole, count=1))
        self.list_again(results)
        self.assert_changed(results, "report.json is not the report that the journal gives")
        (results / "report.json").write_text(whole)
        self.list_again(results)
        self.assert_intact(results, digest)
        # Other files that show the report.
        for name in ("report.txt", "report.csv", "timeline.csv"):
            kept = (results / name).read_bytes()
            flip(results / name)
            self.list_again(results)
            self.assert_changed(results, f"{name} does not show the report that the journal gives")
            (results / name).write_bytes(kept)
        self.list_again(results)
        # The journal of another run, with its report.
        other = self.run_plan().results
        for name in self.listed(results):
            shutil.copy(other / name, results / name)
        self.assert_changed(results, "journal was changed: its SHA-256 is not the one in digest.txt")
        self.list_again(results)
        self.verify(results)
        self.assert_changed(results, "digest.txt was changed or is of other results: its SHA-256 is not that of --digest", "--digest", digest)

    def test_a_list_that_is_changed_is_named(self):
        result = self.run_plan()
        results, digest = result.results, self.digest_in(result.out)
        whole = (results / "digest.txt").read_text()
        (results / "digest.txt").write_text("".join(line for line in whole.splitlines(True) if not line.endswith("  journal\n")))
        self.assert_changed(results, "digest.txt does not list journal")
        for text in ("", whole + "\n", whole.replace("  journal", "  ../journal"), whole.upper()):
            (results / "digest.txt").write_text(text)
            self.assertRegex(self.verify(results, code=1).err, rf"plimsoll: {results}: digest.txt is not a list of files of a result: ")
        (results / "digest.txt").rename(self.base / "list")
        (results / "digest.txt").symlink_to(self.base / "list")
        self.assert_changed(results, "digest.txt is a symbolic link")
        (results / "digest.txt").unlink()
        for arguments in ((), ("--digest", digest)):
            (line,) = self.verify(results, *arguments, code=3).errors
            self.assertIn(f"{results}: digest.txt is missing: ", line)
        self.assertNotIn("sha256:", self.plimsoll("report", results, "--print-only").out)
        # It is a function of the journal.
        self.assertEqual(self.digest_in(self.plimsoll("report", results).out), digest)
        self.assert_intact(results, digest)

    def test_a_report_that_is_made_again_does_not_hide_a_change(self):
        result = self.run_plan()
        results, digest = result.results, self.digest_in(result.out)
        flip(results / "journal")
        again = self.plimsoll("report", results, code=3)
        self.assertIn("\nDigest  none: files differ from digest.txt (plimsoll verify names them)\n", again.out)
        self.assertNotIn(digest, (results / "report.html").read_text())
        self.assert_changed(results, "journal was changed: its SHA-256 is not the one in digest.txt")
        self.assert_changed(results, "report.json was changed: its SHA-256 is not the one in digest.txt")

    def test_the_digest_that_is_given_is_compared_in_every_spelling_and_others_are_refused(self):
        result = self.run_plan()
        digest = self.digest_in(result.out)
        for spelling in (digest, digest.upper(), f"sha256:{digest}"):
            self.verify(result.results, "--digest", spelling)
        self.assert_changed(result.results, "digest.txt was changed or is of other results: its SHA-256 is not that of --digest", "--digest",
                            "0" * 64)
        for spelling in (digest[1:], f"{digest}0", f"md5:{digest}", "x" * 64):
            self.assertIn("is not a SHA-256: give the 64 hexadecimal digits",
                          self.verify(result.results, "--digest", spelling, code=2).err)

    def test_what_is_no_result_is_refused(self):
        self.assertIn("does not exist", self.verify(self.base / "missing", code=2).err)
        self.assertIn("holds no results", self.verify(self.dir, code=2).err)
        results = self.run_plan().results
        self.assertIn("is not a directory; name the directory of the results", self.verify(results / "journal", code=2).err)

    def test_a_search_has_its_curve_in_the_list(self):
        out = self.base / "limit"
        process = self.start_plimsoll("limit", "--dir", self.dir, "--file-size", "64k", "--num-files", "2", "--require", "p50<5s",
                                      "--duration", "300ms", "--warmup", "0", "--hold", "300ms", "--budget", "10s", "--out", out, wrap=harness.ahead())
        self.assertIn(process.finish(), (0, 1, 3), process.err)
        self.assertIn("curve.csv", self.listed(out))
        self.assert_intact(out, self.digest_in(process.out))


class Parts(VerifyTest):

    def test_an_acceptance_covers_its_parts(self):
        out = self.base / "accepted"
        process = self.start_plimsoll("accept", "--dir", self.dir, "--file-size", "64k", "--num-files", "2", *LOAD, "--duration", "5s",
                                      "--warmup", "200ms", "--parts", "fsck,load", "--runs", "1", "--out", out)
        code = process.finish(harness.LONG_S)
        self.assertIn(code, (0, 1, 3), process.err)
        digest = self.digest_in(process.out)
        names = self.listed(out)
        self.assertLessEqual({"accept.json", "accept.txt", "fsck-1/fsck.json", "load-1/journal", "load-1/report.json"}, set(names))
        self.assert_intact(out, digest)
        self.assertIn(digest, (out / "accept.html").read_text())
        for part in ("fsck-1", "load-1"):
            self.assert_intact(out / part, self.digest_in(self.verify(out / part).out))
        self.assertEqual(self.digest_in(self.plimsoll("report", out, code=code).out), digest)
        self.assert_intact(out, digest)
        self.assertIn("\nCommand   ", (out / "accept.txt").read_text())
        self.assertIn(" accept --dir ", json.loads((out / "accept.json").read_text())["controller"]["command"])
        self.assertIn("one of them, such as load-1", self.plimsoll("export", out, "--format", "evidence", code=2).err)
        self.assertIn("holds no results of a run", self.plimsoll("export", out / "fsck-1", "--format", "evidence", code=2).err)
        self.assertIn("\r\nwrite,1,", self.plimsoll("export", out / "load-1", "--format", "evidence").out)
        for name in names:
            with self.subTest(name):
                self.spoiled(out, name, f"{name} was changed: its SHA-256 is not the one in digest.txt", flip)
        self.spoiled(out, "load-1/journal", "load-1/journal is missing", lambda path: path.unlink())
        # Made to fit in every list, it is still not what was recorded.
        flip(out / "load-1" / "report.json")
        for directory in (out / "load-1", out):
            self.list_again(directory)
        self.assert_changed(out, "digest.txt was changed or is of other results: its SHA-256 is not that of --digest", "--digest", digest)
        flip(out / "load-1" / "journal")
        self.list_again(out)
        self.assertRegex(self.verify(out, code=1).err, r"load, run 1: load-1/journal was changed or replaced: ")

    def test_rounds_of_ab_cover_their_runs(self):
        out = self.base / "ab"
        for name in ("a", "b"):
            (self.dir / name).mkdir()
        process = self.start_plimsoll("ab", "--vary", f"dir={self.dir / 'a'},{self.dir / 'b'}", "--duration", "300ms", "--warmup", "0",
                                      "--file-size", "64k", "--delay", "1ms", "--rounds", "6", "--out", out, wrap=harness.ahead())
        self.assertIn(process.finish(harness.LONG_S), (0, 3), process.err)
        names = self.listed(out)
        self.assertLessEqual({"ab.json", "compare.json", "a/journal", "b/report.json"}, set(names))
        self.assert_intact(out, self.digest_in(process.out))
        # The comparison is made again, wherever the results are.
        self.verify(shutil.copytree(out, self.base / "moved"))
        for name, told in (("compare.json", "compare.json is not the comparison that the journals give"),
                           ("compare.txt", "compare.txt does not show the comparison that the journals give")):
            kept = (out / name).read_text()
            (out / name).write_text(kept.replace('"replicates": ', '"replicates": 1') if name == "compare.json" else kept + "\n")
            self.list_again(out)
            self.assert_changed(out, told)
            (out / name).write_text(kept)
        self.list_again(out)
        self.verify(out)
        for name in ("ab.json", "compare.json", "a/journal", "b/report.json"):
            self.spoiled(out, name, f"{name} was changed: its SHA-256 is not the one in digest.txt", flip)
        flip(out / "b" / "journal")
        self.list_again(out)
        self.assertIn("b/journal was changed or replaced: its SHA-256 is not the one in ab.json", self.verify(out, code=1).err)


if __name__ == "__main__":
    harness.main()
