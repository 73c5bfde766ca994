"""A long or narrow way between a controller and an agent: passes TCP on, later or more slowly.

`link_proxy.py TARGET [--delay S] [--back BYTES_PER_S]` prints the port that it listens on. Each direction of each connection is
late by the delay; what comes back from the target passes at the given rate, connection by connection.
"""

import argparse
import collections
import socket
import sys
import threading
import time


def pump(source, sink, delay_s, bytes_per_s):
    """Copies one direction: reads at once, so that only the delay and the rate hold anything up."""
    waiting = collections.deque()
    changed = threading.Condition()

    def read():
        while True:
            try:
                piece = source.recv(2048)
            except OSError:
                piece = b""
            with changed:
                # A narrow way takes no more than it passes on.
                while bytes_per_s and len(waiting) > 4:
                    changed.wait()
                waiting.append((time.monotonic() + delay_s, piece))
                changed.notify_all()
            if not piece:
                return

    threading.Thread(target=read, daemon=True).start()
    while True:
        with changed:
            while not waiting:
                changed.wait()
            due, piece = waiting.popleft()
            changed.notify_all()
        time.sleep(max(0, due - time.monotonic()))
        if bytes_per_s:
            time.sleep(len(piece) / bytes_per_s)
        try:
            if not piece:
                sink.shutdown(socket.SHUT_WR)
                return
            sink.sendall(piece)
        except OSError:
            source.close()
            return


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--delay", type=float, default=0)
    parser.add_argument("--back", type=float, default=0)
    arguments = parser.parse_args()
    host, _, port = arguments.target.rpartition(":")
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        client, _ = listener.accept()
        target = socket.socket()
        if arguments.back:
            # Nothing shall be taken that cannot be passed on.
            target.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        target.connect((host, int(port)))
        for one in (client, target):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=pump, args=(client, target, arguments.delay, 0), daemon=True).start()
        threading.Thread(target=pump, args=(target, client, arguments.delay, arguments.back), daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
