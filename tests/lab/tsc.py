"""How fast this machine's time stamp counter counts, which is what a host's counts by.

A host that measures it while its emulator has to wait for a CPU gets it wrong, and its clocks run at half or seven times their
rate from there on.
"""

import ctypes
import mmap
import platform
import time

# rdtsc; shl rdx, 32; or rax, rdx; ret
READ = b"\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0\xc3"
MEASURED_S = 0.1


def _moment(read):
    """Counter and clock at one moment: of some readings the one for which least time went by."""
    best = None
    for _ in range(20):
        before_ns = time.monotonic_ns()
        ticks = read()
        after_ns = time.monotonic_ns()
        if best is None or after_ns - before_ns < best[2]:
            best = ticks, (before_ns + after_ns) / 2, after_ns - before_ns
    return best[:2]


def rate_khz():
    """Thousands of ticks a second; None where the machine has no such counter."""
    if platform.machine() != "x86_64":
        return None
    with mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as code:
        code.write(READ)
        place = ctypes.c_char.from_buffer(code)
        read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(place))
        first_ticks, first_ns = _moment(read)
        time.sleep(MEASURED_S)
        last_ticks, last_ns = _moment(read)
        del place, read
    return round((last_ticks - first_ticks) / (last_ns - first_ns) * 1e6)
