"""The study's pictures: SVG that is readable on light and dark ground."""

import math
import statistics

NAMES = ("nfs-delay.svg", "nfs-latency.svg")
WIDTH, PANEL_HEIGHT, TOP, BOTTOM, LEFT, RIGHT = 760, 220, 46, 42, 52, 12

# The colours are those of report.html.
STYLE = """<style>
svg { --ground: #ffffff; --ink: #18222d; --soft: #55626f; --grid: #e8edf1;
      --c0: #68737f; --c1: #0072b2; --c2: #c98300; --c3: #d55e00; --c4: #009e73; --c5: #cc79a7 }
@media (prefers-color-scheme: dark) {
  svg { --ground: #191f26; --ink: #e4e9ee; --soft: #9dabb8; --grid: #27313a;
        --c0: #a5b0bb; --c1: #4a9fdc; --c2: #f0b440; --c3: #ff8b4a; --c4: #2fbf98; --c5: #e29bc4 }
}
text { font: 12px sans-serif; fill: var(--ink) } .soft { fill: var(--soft) } .grid { stroke: var(--grid) }
.wsize { stroke: var(--soft); stroke-dasharray: 4 4 } .line { fill: none; stroke-width: 2 }
.set { stroke-width: 1; stroke-dasharray: 6 3 }
</style>"""
# So that nobody needs the colours.
MARKS = ("square", "circle", "diamond", "triangle")


def _round_above(value):
    """The least of 1, 2, 5, 10 ... that is not below the value."""
    power = 10 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * 0.999)


def _mark(kind, x, y, color):
    shape = {"square": "M-4,-4h8v8h-8z", "circle": "M-4.5,0a4.5,4.5 0 1 0 9,0a4.5,4.5 0 1 0 -9,0z",
             "diamond": "M0,-6l5,6l-5,6l-5,-6z", "triangle": "M0,-5.5l5.5,9.5h-11z"}[kind]
    return f'<path d="{shape}" transform="translate({x:.1f},{y:.1f})" fill="var(--c{color})"/>'


class _Panel:
    """A chart over block sizes; milliseconds go up from `low`, 0 or below."""

    def __init__(self, left, width, title, sizes, wsize_bytes, low, high):
        self._left, self._width, self._sizes = left, width, sizes
        step = _round_above((high - low) / 5)
        self._low, self._high = step * math.floor(low / step), step * math.ceil(high / step)
        self.parts = [f'<text x="{left}" y="{TOP - 12}">{title}</text>']
        for n in range(round((self._high - self._low) / step) + 1):
            value = self._low + n * step
            y = self.y(value)
            self.parts.append(f'<path class="grid" d="M{left},{y:.1f}h{width}"/>'
                              f'<text class="soft" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
        for size in self._sizes:
            self.parts.append(f'<text class="soft" x="{self.x(size):.1f}" y="{TOP + PANEL_HEIGHT + 18}" '
                              f'text-anchor="middle">{size // 1024}</text>')
        self.parts.append(f'<text class="soft" x="{left + width / 2}" y="{TOP + PANEL_HEIGHT + 36}" text-anchor="middle">'
                          "size of a write in KiB</text>")
        below = [size for size in self._sizes if size <= wsize_bytes]
        if below and len(below) < len(self._sizes):
            x = (self.x(below[-1]) + self.x(self._sizes[len(below)])) / 2
            self.parts.append(f'<path class="wsize" d="M{x:.1f},{TOP}v{PANEL_HEIGHT}"/>'
                              f'<text class="soft" x="{x - 5:.1f}" y="{TOP + 12}" text-anchor="end">up to wsize</text>')

    def x(self, size):
        return self._left + self._width * (self._sizes.index(size) + 0.5) / len(self._sizes)

    def y(self, value):
        return TOP + PANEL_HEIGHT * (1 - (value - self._low) / (self._high - self._low))

    def series(self, values, color):
        """`values`: milliseconds by block size."""
        points = " ".join(f"{self.x(size):.1f},{self.y(value):.1f}" for size, value in values.items())
        self.parts.append(f'<polyline class="line" stroke="var(--c{color})" points="{points}"/>')
        for size, value in values.items():
            self.point(size, value, color, 0)

    def bar(self, size, low, high, color, aside):
        """One that goes beyond the panel ends at its edge, without an end of its own."""
        x = self.x(size) + aside
        path = f"M{x:.1f},{self.y(max(low, self._low)):.1f}V{self.y(min(high, self._high)):.1f}"
        path += "".join(f"M{x - 3:.1f},{self.y(end):.1f}h6" for end in (low, high) if self._low <= end <= self._high)
        self.parts.append(f'<path stroke="var(--c{color})" d="{path}"/>')

    def point(self, size, value, color, aside):
        self.parts.append(_mark(MARKS[color % len(MARKS)], self.x(size) + aside, self.y(value), color))

    def level(self, size, value, color):
        half = self._width / len(self._sizes) / 2
        path = f"M{self.x(size) - half:.1f},{self.y(value):.1f}h{2 * half:.1f}"
        self.parts.append(f'<path class="set" stroke="var(--c{color})" d="{path}"/>')


def _legend(entries):
    parts, x = [], LEFT
    for color, text in entries:
        parts.append(_mark(MARKS[color % len(MARKS)], x + 6, 13, color) + f'<text x="{x + 16}" y="17">{text}</text>')
        x += 36 + 7 * len(text)
    return parts


def _picture(title, parts):
    height = TOP + PANEL_HEIGHT + BOTTOM
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">',
        f"<title>{title}</title>", STYLE, f'<rect width="{WIDTH}" height="{height}" fill="var(--ground)"/>', *parts, "</svg>\n"])


def _name(delay_us):
    return f"NFS + {delay_us / 1000:g} ms each way" if delay_us else "NFS"


def _panels(counts):
    """Queue managers, and where their panel lies."""
    width = (WIDTH - RIGHT - LEFT * len(counts)) / len(counts)
    return [(count, LEFT + n * (width + LEFT), width) for n, count in enumerate(counts)]


def _panel_title(count):
    return "one queue manager" if count == 1 else f"{count} queue managers"


def latency(figures):
    columns = [("disk", 0, "local disk"), *(("nfs", delay_us, _name(delay_us)) for delay_us in (0, *figures.delays_us))]
    columns = [column for column in columns if figures.conditions(*column[:2])]
    parts = _legend([(n, text) for n, (_, _, text) in enumerate(columns)])
    for count, left, width in _panels(figures.study["queue_managers"]):
        lines = [{size: figures.p50_ms(place, delay_us, count, size) for size in figures.block_sizes}
                 for place, delay_us, _ in columns]
        panel = _Panel(left, width, f"p50 in ms, {_panel_title(count)}", figures.block_sizes, figures.wsize_bytes, 0,
                       max(max(line.values()) for line in lines))
        for color, line in enumerate(lines):
            panel.series(line, color)
        parts += panel.parts
    return _picture("p50 of a write by its size: local disk, NFS, NFS with a delay", parts)


def delay(figures):
    """The shifts of p50 by rounds; None without any."""
    if not figures.shifts:
        return None
    delays_us = sorted({each.delay_us for each in figures.shifts})
    parts = _legend([(n + 2, _name(delay_us)) for n, delay_us in enumerate(delays_us)])
    parts.append(f'<text class="soft" x="{WIDTH - RIGHT}" y="17" text-anchor="end">dashed: expected of the delay as set</text>')
    for count, left, width in _panels(sorted({each.queue_managers for each in figures.shifts})):
        shifts = [each for each in figures.shifts if each.queue_managers == count]
        ends = [end for each in shifts for end in (0, each.expected_ms, each.p50.low_ms, each.p50.high_ms) if math.isfinite(end)]
        panel = _Panel(left, width, f"shift of p50 in ms, {_panel_title(count)}", sorted({each.block_bytes for each in shifts}),
                       figures.wsize_bytes, min(ends), max(ends))
        for each in shifts:
            number = delays_us.index(each.delay_us)
            aside = 14 * (number - statistics.fmean(range(len(delays_us))))
            panel.level(each.block_bytes, each.expected_ms, number + 2)
            panel.bar(each.block_bytes, each.p50.low_ms, each.p50.high_ms, number + 2, aside)
            panel.point(each.block_bytes, each.p50.ms, number + 2, aside)
        parts += panel.parts
    return _picture("Shift of p50 by a delay in the network, by the size of a write", parts)


def pictures(figures):
    """By name, those that the figures give."""
    made = dict(zip(NAMES, (delay(figures), latency(figures))))
    return {name: picture for name, picture in made.items() if picture is not None}
