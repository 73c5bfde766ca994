"""The study's tables in Markdown, and their place in docs/nfs.md."""

import datetime
import math
import statistics

import study_paired
from image import LabError

BEGIN, END = "<!-- Made by `scripts/nfs-study --update-docs`: begin -->", "<!-- end -->"


def put_in(page, tables):
    """The page with its generated part renewed."""
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise LabError(f"docs/nfs.md has no one place for the tables, from '{BEGIN}' to '{END}'")
    return page[:page.index(BEGIN)] + BEGIN + "\n\n" + tables + "\n" + page[page.index(END):]


def _table(headings, rows):
    lines = ["| " + " | ".join(headings) + " |", "| " + " | ".join("---:" for _ in headings) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def delay_name(delay_us):
    return f"+ {delay_us / 1000:g} ms" if delay_us else "NFS"


def condition_name(place, delay_us):
    return {"disk": "local disk", "bare": "NFS, no netem"}.get(place) or delay_name(delay_us)


def size_name(block_bytes):
    return f"{block_bytes // 1024}&nbsp;KiB"


def queue_managers_name(count):
    return "one queue manager" if count == 1 else f"{count} queue managers"


def _ms(value):
    return "–" if value is None else f"{value:.2f}"


def _measured(figures):
    study, host = figures.study, figures.environment["host"]
    rounds = len(figures.conditions("nfs", 0))
    load = statistics.fmean(study["load_average"])
    begun = datetime.datetime.fromisoformat(study["begun"])
    options = [*_paired_options(study["paired"]), ("rounds", rounds), ("duration", f"{study['duration_s']:g}"),
               ("qm", _list(study["queue_managers"])), ("bsize-kib", _list(size // 1024 for size in figures.block_sizes)),
               ("delays-us", _list(figures.delays_us))]
    command = " ".join(["scripts/nfs-study", *(f"--{name} {value}" for name, value in options), "--update-docs"])
    return (f"Measured on {begun:%d %B %Y}: emulated hosts ({host['kernel']}) on a machine with {study['processors']} processors,\n"
            f"whose load average was {load:.1f}, the emulators included; mount options\n`{study['mount']}`.\n\n```\n{command}\n```")


def _paired_options(paired):
    if not paired:
        return [("paired-rounds", 0)]
    sizes, delays = {}, {each["delay_us"]: None for each in paired}
    for each in paired:
        sizes.setdefault(each["queue_managers"], {})[each["block_size_bytes"] // 1024] = None
    return [("paired", " ".join(f"{count}:{_list(of_count)}" for count, of_count in sizes.items())),
            ("paired-delays-us", _list(delays)), ("paired-rounds", paired[0]["rounds"])]


def _list(values):
    return ",".join(map(str, values))


def _pings(figures):
    rows = []
    for place, delay_us in (("bare", 0), ("nfs", 0), *(("nfs", delay_us) for delay_us in figures.delays_us)):
        if figures.conditions(place, delay_us):
            ping = figures.ping_ms(place, delay_us)
            set_us = figures.study["base_us"] + delay_us if place == "nfs" else 0
            rows.append([condition_name(place, delay_us), f"{2 * set_us / 1000:g}", _ms(ping),
                         f"{ping - figures.ping_ms('nfs', 0):+.2f}"])
    return ("**The delay itself**: round trip between the storage cards, by `ping`; milliseconds.\n\n" +
            _table(["each way", "set, both ways", "ping, median", "over NFS"], rows))


def _p50(figures, queue_managers):
    columns = [("disk", 0), ("bare", 0), *(("nfs", delay_us) for delay_us in (0, *figures.delays_us))]
    columns = [column for column in columns if figures.conditions(*column)]
    rows = []
    for size in figures.block_sizes:
        row = [size_name(size)]
        for place, delay_us in columns:
            values = [cell.p50_ms for cell in figures.cells(place, delay_us, queue_managers, size)]
            row.append(f"{statistics.fmean(values):.2f} ({min(values):.2f}–{max(values):.2f})")
        rows.append(row)
    return (f"**p50 of a write, {queue_managers_name(queue_managers)}**, in milliseconds: mean of the repeats "
            "(smallest–largest).\n\n" + _table(["block", *(condition_name(*column) for column in columns)], rows))


def _finding(row):
    """What `plimsoll ab` has on p50, in its own words."""
    if row is None:
        return ["–", "–"]
    words = {"better": "better", "worse": "worse", "small": "within minimum", "not_clear": "not significant"}
    ratio = f"{row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f})" if "low" in row and "high" in row else "–"
    return [ratio, words.get(row["finding"], "–")]


def _shifts(figures):
    if not figures.shifts:
        return ""
    rows = [[size_name(shift.block_bytes), str(shift.queue_managers), delay_name(shift.delay_us), str(shift.round_trips),
             f"{shift.expected_ms:g}", str(shift.ping), _bold(shift.p50), *_finding(shift.comparison), shift.verdict]
            for shift in figures.shifts]
    return (f"**Shift of p50** in milliseconds: median of {figures.study['paired'][0]['rounds']} rounds and its "
            f"{100 * (1 - study_paired.CHANCE):g} % interval;\nratio and finding by `plimsoll ab`, with a 95 % interval.\n\n" +
            _table(["block", "QMs", "each way", "round trips", "as set", "by ping", "p50", "p50 ratio", "finding", "check"], rows))


def _bold(estimate):
    median, _, interval = str(estimate).partition(" ")
    return f"**{median}** {interval}" if math.isfinite(estimate.high_ms) else str(estimate)


def _kernel(figures, queue_managers):
    rows = []
    for size in figures.block_sizes:
        writes, commits, _ = figures.operations_a_write(queue_managers, size)
        for delay_us in (0, *figures.delays_us):
            def of(kind, field, size=size, delay_us=delay_us):
                return _ms(figures.operations(queue_managers, size, delay_us, kind, field))

            ours = statistics.fmean(cell.avg_ms for cell in figures.cells("nfs", delay_us, queue_managers, size))
            rows.append([size_name(size), delay_name(delay_us), f"{writes / commits:.1f} + 1" if commits else "1",
                         f"{ours:.2f}", of("write", "round_trip_ms"), of("write", "execute_ms"),
                         of("commit", "round_trip_ms"), of("commit", "execute_ms")])
    return (f"**NFS client statistics, {queue_managers_name(queue_managers)}**: means in milliseconds. "
            "\"WRITEs + COMMITs\" are those\nof one of our writes, as counted.\n\n" +
            _table(["block", "each way", "WRITEs + COMMITs", "our mean", "WRITE rtt", "WRITE execute", "COMMIT rtt",
                    "COMMIT execute"], rows))


def _step(figures, queue_managers):
    below = [size for size in figures.block_sizes if size <= figures.wsize_bytes]
    above = [size for size in figures.block_sizes if size > figures.wsize_bytes]
    if not below or not above:
        return ""
    low, high = max(below), min(above)
    rows = []
    for delay_us in (0, *figures.delays_us):
        first, second = (figures.p50_ms("nfs", delay_us, queue_managers, size) for size in (low, high))
        rows.append([delay_name(delay_us), _ms(first), _ms(second), _ms(second - first)])
    return (f"**The step at wsize, {queue_managers_name(queue_managers)}**: p50 in milliseconds.\n\n" +
            _table(["each way", size_name(low), size_name(high), "step"], rows))


def markdown(figures):
    """All that is generated of docs/nfs.md."""
    counts = figures.study["queue_managers"]
    parts = [_shifts(figures)]
    if figures.shifts:
        parts.append("![Shift of p50 by block size, with its interval, beside the delay as set](images/nfs-delay.svg)")
    parts += [_measured(figures), *(_p50(figures, count) for count in counts)]
    parts.append("![p50 by block size, on the local disk, on NFS and with each delay](images/nfs-latency.svg)")
    parts += [_pings(figures), _step(figures, counts[0]), _kernel(figures, counts[0])]
    return "\n\n".join(part for part in parts if part) + "\n"
