"""The same log writes on a local disk, on NFS, and on NFS with a delay in the network, in a lab of one client and one server.

Checks that each millisecond that is added each way shows as two milliseconds a write, and makes the tables and pictures of
docs/nfs.md.
"""

import argparse
import datetime
import math
import pathlib
import shutil
import subprocess
import sys

import study_pictures
import study_tables
import study_toggle
from image import LabError, PROJECT, agent_binaries
from study_figures import Figures
from study_run import SETTINGS_FILE, Study, begin, lab, reopen

PAGE = PROJECT / "docs" / "nfs.md"
IMAGES = PROJECT / "docs" / "images"
BLOCK_SIZES_KIB = "4,8,16,32,64,128,256"

EPILOG = """\
It needs what scripts/lab needs, and root. PLIMSOLL_BIN names the directory of the programs; without it the release build is
made. Nothing else should run on the machine meanwhile. Exit code: 0 all checks pass, 1 one failed, 2 it could not be
measured, 3 none failed, but the machine was too restless to tell.
"""


def _numbers(text):
    values = [int(each) for each in text.split(",")]
    if not values or min(values) < 1:
        raise argparse.ArgumentTypeError(f"'{text}': numbers from 1, separated by commas")
    return values


def _growing(text):
    values = _numbers(text)
    if values != sorted(set(values)):
        raise argparse.ArgumentTypeError(f"'{text}': each must be larger than the one before")
    return values


def _numbers_or_none(text):
    return [] if text == "none" else _numbers(text)


def _parser():
    parser = argparse.ArgumentParser(prog="scripts/nfs-study", description=__doc__, epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", help="results (build/nfs-study/<UTC time>)")
    parser.add_argument("--duration", type=float, default=2, metavar="S", help="of one step (2)")
    parser.add_argument("--rounds", type=int, default=6, metavar="N", help="times that each delay is measured, 2 or more (6)")
    parser.add_argument("--bsize-kib", type=_numbers, default=_numbers(BLOCK_SIZES_KIB), metavar="LIST",
                        help=f"block sizes in KiB ({BLOCK_SIZES_KIB})")
    parser.add_argument("--qm", type=_numbers, default=[1, 4], metavar="LIST", help="queue managers (1,4)")
    parser.add_argument("--delays-us", type=_numbers, default=[500, 1000], metavar="LIST", help="added each way (500,1000)")
    parser.add_argument("--toggle-kib", type=_numbers_or_none, default=[4, 16, 64], metavar="LIST",
                        help="block sizes of the steps in which delays come and go, or none (4,16,64)")
    parser.add_argument("--toggle-delays-us", type=_growing, default=[1000, 3000], metavar="LIST",
                        help="added each way there, the smallest first (1000,3000)")
    parser.add_argument("--toggle-duration", type=float, default=240, metavar="S", help="of one of these steps (240)")
    parser.add_argument("--update-docs", action="store_true", help="write the generated part of docs/nfs.md, and its pictures")
    parser.add_argument("--toggle-again", action="store_true",
                        help="of the study that is in --out measure only these steps, again, and keep all else")
    parser.add_argument("--from", dest="source", type=pathlib.Path, metavar="DIR",
                        help="measure nothing: take the results of an earlier study")
    return parser


def _measure(arguments, out):
    record = reopen(out) if arguments.toggle_again else begin(
        out, [1024 * size for size in arguments.bsize_kib], arguments.qm, arguments.delays_us, arguments.duration)
    study = Study(out, agent_binaries() / "plimsoll", record, say=lambda text: print(text, flush=True))
    lab("up", "--hosts", "1", "--nfs", "--pin", timeout_s=900)
    try:
        if arguments.toggle_again:
            study.forget_toggled()
        else:
            study.measure(arguments.rounds)
        for size in arguments.toggle_kib:
            study_toggle.measure(study, 1024 * size, arguments.toggle_delays_us, arguments.toggle_duration)
    finally:
        lab("down")


def _main():
    arguments = _parser().parse_args()
    if arguments.rounds < 2:
        raise LabError("--rounds: one round has no scatter, and so no error can be stated; 2 or more")
    least_s = math.ceil(study_toggle.least_s(len(arguments.toggle_delays_us)))
    if arguments.toggle_kib and arguments.toggle_duration < least_s:
        raise LabError(f"--toggle-duration {arguments.toggle_duration:g}: the delays come and go too seldom to tell anything; "
                       f"{least_s} or more")
    out = arguments.source or arguments.out
    measured = out is not None and (out / SETTINGS_FILE).exists()
    if arguments.source is None and measured != arguments.toggle_again:
        raise LabError(f"--out {out}: there is a study already" if measured else "--toggle-again: --out names no study")
    if out is None:
        out = PROJECT / "build" / "nfs-study" / datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    if arguments.source is None:
        _measure(arguments, out)
    figures = Figures(out)
    (out / "tables.md").write_text(study_tables.markdown(figures))
    for name, picture in study_pictures.pictures(figures).items():
        (out / name).write_text(picture)
    if arguments.update_docs:
        PAGE.write_text(study_tables.put_in(PAGE.read_text(), (out / "tables.md").read_text()))
        for name in study_pictures.NAMES:
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
