"""Runs a program on a kernel that seems to lack system calls: without_calls.py CALL[,CALL...] PROGRAM [ARGUMENT...]

They fail with ENOSYS. The exit code is the program's, or 77 where python3-seccomp is missing.
"""

import errno
import os
import sys

try:
    import seccomp
except ImportError:
    print("NOT TESTED: python3-seccomp is not installed")
    sys.exit(77)

rules = seccomp.SyscallFilter(defaction=seccomp.ALLOW)
for call in sys.argv[1].split(","):
    rules.add_rule(seccomp.ERRNO(errno.ENOSYS), call)
rules.load()
os.execv(sys.argv[2], sys.argv[2:])
