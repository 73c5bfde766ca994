"""`--launch ssh`: hosts with nothing installed, each with a real sshd, and every way in which that can go wrong."""

import json
import os
import pathlib
import re
import signal
import stat
import subprocess

import harness
import ssh_hosts


class OneHost(ssh_hosts.SshTest):

    def test_a_run_copies_the_agent_measures_and_leaves_only_the_copy(self):
        self.boot()
        result = self.over_ssh()
        (host,) = result.report["hosts"]
        self.assertEqual((host["label"], host["address"]), ("host1", "host1"))
        self.assertGreater(harness.cluster(result.report["steps"][0])["writes"], 0)
        self.await_only_the_cached_agent()
        cached = self.hosts[0].cached
        self.assertEqual(cached.read_bytes(), self.agent_file().read_bytes())
        self.assertEqual(stat.S_IMODE(cached.stat().st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(cached.parent.stat().st_mode), 0o700)
        before = cached.stat()
        self.over_ssh()
        self.assertEqual((cached.stat().st_ino, cached.stat().st_mtime_ns), (before.st_ino, before.st_mtime_ns))
        self.over_ssh("--no-copy", copy=False)
        self.await_only_the_cached_agent()


if __name__ == "__main__":
    harness.main()
