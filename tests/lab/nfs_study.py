"""What a millisecond of network delay costs log writes on NFS, in a lab of one client and one server.

`plimsoll ab --toggle` measures NFS without and with the delay in turn, seconds apart: each millisecond each way must add two
to p50 for each round trip. Runs on a local disk, on NFS and with delays give tables of p50 by block size. Both are in docs/nfs.md.
"""

import argparse
import datetime
import pathlib
import shutil
import subprocess
import sys

import study_pictures
import study_tables
from image import LabError, PROJECT, agent_binaries
from study_figures import Figures
from study_paired import LEAST_ROUNDS
from study_run import Study, begin, lab

PAGE = PROJECT / "docs" / "nfs.md"
IMAGES = PROJECT / "docs" / "images"
BLOCK_SIZES_KIB = "4,8,16,32,64,128,256"
PAIRED = "1:4,16,64,128 4:4"
MOST_ROUNDS = 60  # of plimsoll ab

EPILOG = """\
It needs what scripts/lab needs, and root. PLIMSOLL_BIN names the directory of the programs; without it the release build is
made. Nothing else should run on the machine meanwhile. Exit code: 0 all checks pass, 1 one failed, 2 it could not be
measured, 3 none failed, but one is inconclusive: the machine was too busy.
"""


def _numbers(text):
    values = [int(each) for each in text.split(",")]
    if not values or min(values) < 1:
        raise argparse.ArgumentTypeError(f"'{text}': numbers from 1, separated by commas")
    return values


def _paired(text):
    count, colon, sizes = text.partition(":")
    if not colon or not count.isdigit() or int(count) < 1:
        raise argparse.ArgumentTypeError(f"'{text}': a number of queue managers and block sizes in KiB, such as 1:4,64")
    return int(count), _numbers(sizes)


def _parser():
    parser = argparse.ArgumentParser(prog="scripts/nfs-study", description=__doc__, epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", help="results (build/nfs-study/<UTC time>)")
    parser.add_argument("--paired", type=_paired, nargs="+", default=[_paired(each) for each in PAIRED.split()], metavar="QM:LIST",
                        help=f"queue managers, and block sizes in KiB to compare with and without the delay ({PAIRED})")
    parser.add_argument("--paired-delays-us", type=_numbers, default=[1000], metavar="LIST", help="added each way there (1000)")
    parser.add_argument("--paired-rounds", type=int, default=32, metavar="N",
                        help=f"rounds of each comparison, {LEAST_ROUNDS} to {MOST_ROUNDS}; 0: only the tables (32)")
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help="times that the tables of p50 are measured (2)")
    parser.add_argument("--duration", type=float, default=1, metavar="S", help="of one step (1)")
    parser.add_argument("--bsize-kib", type=_numbers, default=_numbers(BLOCK_SIZES_KIB), metavar="LIST",
                        help=f"block sizes of the tables in KiB ({BLOCK_SIZES_KIB})")
    parser.add_argument("--qm", type=_numbers, default=[1, 4], metavar="LIST", help="queue managers of the tables (1,4)")
    parser.add_argument("--delays-us", type=_numbers, default=[500, 1000], metavar="LIST",
                        help="added each way in the tables (500,1000)")
    parser.add_argument("--update-docs", action="store_true", help="write the generated part of docs/nfs.md, and its pictures")
    parser.add_argument("--from", dest="source", type=pathlib.Path, metavar="DIR",
                        help="measure nothing: take the results of an earlier study")
    return parser


def _measure(arguments, out):
    record = begin(out, [1024 * size for size in arguments.bsize_kib], arguments.qm, arguments.delays_us, arguments.duration)
    study = Study(out, agent_binaries() / "plimsoll", record, say=lambda text: print(text, flush=True))
    lab("up", "--hosts", "1", "--nfs", "--pin", timeout_s=900)
    try:
        if arguments.paired_rounds > 0:
            for delay_us in arguments.paired_delays_us:
                for count, sizes_kib in arguments.paired:
                    for size_kib in sizes_kib:
                        study.paired(count, 1024 * size_kib, delay_us, arguments.paired_rounds)
        study.measure(arguments.rounds)
    finally:
        lab("down")


def _main():
    arguments = _parser().parse_args()
    if arguments.rounds < 1:
        raise LabError(f"--rounds {arguments.rounds}: 1 or more")
    if arguments.paired_rounds != 0 and not LEAST_ROUNDS <= arguments.paired_rounds <= MOST_ROUNDS:
        raise LabError(f"--paired-rounds {arguments.paired_rounds}: {LEAST_ROUNDS} to {MOST_ROUNDS}, or 0 to leave them out; "
                       "fewer have no interval")
    out = arguments.source or arguments.out
    if out is None:
        out = PROJECT / "build" / "nfs-study" / datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    if arguments.source is None:
        _measure(arguments, out)
    figures = Figures(out)
    (out / "tables.md").write_text(study_tables.markdown(figures))
    pictures = study_pictures.pictures(figures)
    for name, picture in pictures.items():
        (out / name).write_text(picture)
    if arguments.update_docs:
        PAGE.write_text(study_tables.put_in(PAGE.read_text(), (out / "tables.md").read_text()))
        for name in pictures:
            shutil.copyfile(out / name, IMAGES / name)
    checks = figures.checks()
    for check in checks:
        print(f"{check.verdict:<12} {check.text}")
    print(f"results, tables.md and pictures: {out}")
    verdicts = {check.verdict for check in checks}
    return 1 if "FAIL" in verdicts else 3 if "INCONCLUSIVE" in verdicts else 0


if __name__ == "__main__":
    try:
        sys.exit(_main())
    except (LabError, OSError, subprocess.SubprocessError) as error:
        print(f"scripts/nfs-study: {error}", file=sys.stderr)
        sys.exit(2)
