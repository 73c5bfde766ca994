"""`plimsoll watch` on programs that write without a write call: io_submit and io_uring, also where a thread of the kernel
submits. Their writes are counted and not measured, so that no figure passes a criterion."""

import re
import subprocess

import harness
import watching

# Begins at a line on its standard input: writes pages of a log asynchronously, checks each of them, and then writes others
# with pwrite. Prints "ready", or what the kernel refuses; ends with its standard input. Arguments: directory, "io_submit",
# "io_uring" or "io_uring_thread", "early" for a ring that is there before the line or "late", writes of both kinds.
SUBMITTER = r"""
import ctypes, mmap, os, platform, struct, sys, time

directory, kind, moment, submitted, plain = *sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5])
IO_SETUP, IO_SUBMIT, IO_GETEVENTS = {"x86_64": (206, 209, 208), "aarch64": (0, 2, 4)}[platform.machine()]
IO_URING_SETUP, IO_URING_ENTER = 425, 426
PAGE = 4096
libc = ctypes.CDLL(None, use_errno=True)
log = os.open(os.path.join(directory, "active", "S0000000.LOG"), os.O_CREAT | os.O_RDWR | os.O_DSYNC, 0o600)
page = mmap.mmap(-1, PAGE)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))


def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    if result < 0:
        print(f"refused: {kind}: {os.strerror(ctypes.get_errno())}", flush=True)
        sys.exit()
    return result


def get(memory, place):
    return struct.unpack_from("I", memory, place)[0]


class IoSubmit:
    def __init__(self):
        context = ctypes.c_ulong()
        call(IO_SETUP, 8, ctypes.addressof(context))
        self.context = context.value
        self.request = ctypes.create_string_buffer(64)
        self.requests = ctypes.c_void_p(ctypes.addressof(self.request))
        self.event = ctypes.create_string_buffer(32)

    def write(self, place):
        # struct iocb with IOCB_CMD_PWRITE.
        struct.pack_into("QIIHhIQQq", self.request, 0, 0, 0, 0, 1, 0, log, address, PAGE, place)
        call(IO_SUBMIT, self.context, 1, ctypes.addressof(self.requests))
        call(IO_GETEVENTS, self.context, 1, 1, ctypes.addressof(self.event), 0)
        return struct.unpack_from("q", self.event, 16)[0]


class IoUring:
    # IORING_SETUP_SQPOLL.
    THREAD = 2

    def __init__(self, flags):
        self.flags = flags
        params = ctypes.create_string_buffer(120)
        struct.pack_into("5I", params, 0, 0, 0, flags, 0, 1000)
        self.fd = call(IO_URING_SETUP, 8, ctypes.addressof(params))
        entries, completions = struct.unpack_from("2I", params, 0)
        _, self.tail, self.mask, _, self.state, _, self.array = struct.unpack_from("7I", params, 40)
        self.done_head, self.done_tail, self.done_mask, _, _, self.results = struct.unpack_from("6I", params, 80)
        self.queue = mmap.mmap(self.fd, self.array + 4 * entries, offset=0)
        self.done = mmap.mmap(self.fd, self.results + 16 * completions, offset=0x8000000)
        self.requests = mmap.mmap(self.fd, 64 * entries, offset=0x10000000)

    def write(self, place):
        tail = get(self.queue, self.tail)
        slot = tail & get(self.queue, self.mask)
        # struct io_uring_sqe with IORING_OP_WRITE.
        request = struct.pack("BBHiQQII", 23, 0, 0, log, place, address, PAGE, 0)
        self.requests[64 * slot:64 * (slot + 1)] = request.ljust(64, b"\0")
        struct.pack_into("I", self.queue, self.array + 4 * slot, slot)
        struct.pack_into("I", self.queue, self.tail, tail + 1)
        if self.flags == 0:
            call(IO_URING_ENTER, self.fd, 1, 1, 1, 0, 0)
        head = get(self.done, self.done_head)
        while get(self.done, self.done_tail) == head:
            # IORING_SQ_NEED_WAKEUP: the kernel's thread sleeps.
            if get(self.queue, self.state) & 1:
                call(IO_URING_ENTER, self.fd, 0, 0, 2, 0, 0)
            time.sleep(0.0005)
        result = self.results + 16 * (head & get(self.done, self.done_mask)) + 8
        struct.pack_into("I", self.done, self.done_head, head + 1)
        return struct.unpack_from("i", self.done, result)[0]


make = {"io_submit": IoSubmit, "io_uring": lambda: IoUring(0), "io_uring_thread": lambda: IoUring(IoUring.THREAD)}[kind]
asynchronous = make() if moment == "early" else None
print("ready", flush=True)
sys.stdin.readline()
asynchronous = asynchronous or make()
for number in range(submitted):
    page[:8] = struct.pack("Q", number + 1)
    assert asynchronous.write(PAGE * number) == PAGE
    assert os.pread(log, 8, PAGE * number) == page[:8]
for number in range(submitted, submitted + plain):
    os.pwrite(log, page, PAGE * number)
sys.stdin.readline()
"""

SUBMITTED = 60
PLAIN = 40


class Submitted(watching.WatchingTest):

    def await_or_skip(self, program, condition, what):
        harness.wait_until(lambda: condition() or "refused" in program.out, what)
        if "refused" in program.out:
            self.skipTest(program.out.strip())

    def watch_submitter(self, kind, moment="late"):
        """Watches asynchronous writes and others; the counts of the agent. Fails where a criterion passes."""
        program = self.start_program(SUBMITTER, kind, moment, SUBMITTED, PLAIN, stdin=subprocess.PIPE)
        self.await_or_skip(program, lambda: "ready" in program.out, "the program")
        process = self.start_watch("--pid", program.pid, "--interval", "1", "--duration", "60", "--max-overhead", "100",
                                   "--require", "max<1h", out=f"{kind}-{moment}")
        self.await_lines(process)
        program.write(b"\n")
        # What was submitted before the others has been counted when they are.
        self.await_or_skip(program, lambda: re.search(rf"\| +{PLAIN} ", process.err) or not process.running(),
                           "the plain writes")
        program.write(b"\n")
        self.assertEqual(program.finish(), 0, program.err)
        result = self.finish_watch(process, code=3)
        self.assertEqual(harness.cluster(result.report["steps"][0])["latency"]["count"], PLAIN)
        self.assertTrue(result.report["watch"]["bounds"])
        self.assertEqual(result.report["verdict"]["outcome"], "inconclusive")
        self.assertEqual([one["outcome"] for one in result.report["verdict"]["criteria"]], ["inconclusive"])
        by_thread = kind == "io_uring_thread"
        self.assertIn("a thread of the kernel submits I/O (io_uring with IORING_SETUP_SQPOLL), which is not measured" if by_thread
                      else "with io_submit or io_uring_enter, which is not measured", " ".join(result.report["verdict"]["reasons"]))
        return result.report["watch"]["hosts"][0]["counts"]

    def test_writes_by_io_submit_are_counted_and_pass_nothing(self):
        self.assertEqual(self.watch_submitter("io_submit")["async_submissions"], SUBMITTED)

    def test_writes_by_io_uring_are_counted_and_pass_nothing(self):
        self.assertEqual(self.watch_submitter("io_uring")["async_submissions"], SUBMITTED)

    def test_writes_that_a_thread_of_the_kernel_submits_pass_nothing(self):
        # No system call shows them.
        for moment in ("early", "late"):
            with self.subTest(ring=moment):
                counts = self.watch_submitter("io_uring_thread", moment)
                self.assertEqual((counts["self_submitting_processes"], counts["async_submissions"]), (1, 0))


if __name__ == "__main__":
    harness.main()
