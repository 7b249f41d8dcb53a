# SPDX-License-Identifier: MIT
"""The figures of a bench: samples, their medians, and their limits ("bars").

A figure is the cost that a tracer adds to a row. A bar counts as held or missed
only if the 95 % interval of the median is on one side of it; if other work on the
machine blurs that, the verdict is "unsure".
"""
import json
import math
import statistics

NS, RATIO, PLAIN = "ns", "ratio", "plain"


class Figure:
    """The samples of one tracer in one row. bare: the absolute value."""

    def __init__(self, row, tracer, bar=None):
        self.row, self.tracer, self.bar = row, tracer, bar
        self.samples = []

    @property
    def median(self):
        return statistics.median(self.samples)

    @property
    def interval(self):
        """The interval of the median, by order statistics; of few samples: all."""
        s = sorted(self.samples)
        n, out, below = len(s), -1, 0
        while below <= 0.025 * 2 ** n and out < n // 2:
            out += 1
            below += math.comb(n, out)
        out = max(out - 1, 0)
        return s[out], s[n - 1 - out]

    @property
    def verdict(self):
        if self.bar is None:
            return ""
        low, high = self.interval
        if high <= self.bar:
            return "held"
        return "MISSED" if low > self.bar else "unsure"


class Row:
    def __init__(self, part, name, unit):
        self.part, self.name, self.unit = part, name, unit
        self.figures = {}


class Table:
    """Rows in the order of their first sample."""

    def __init__(self, bars):
        self.rows, self.bars, self.notes = {}, bars, []

    def add(self, part, name, tracer, value, unit=NS):
        row = self.rows.setdefault(name, Row(part, name, unit))
        bar = self.bars.get((name, tracer))
        row.figures.setdefault(tracer, Figure(row, tracer, bar)).samples.append(value)

    def figures(self):
        for row in self.rows.values():
            yield from row.figures.values()

    def of_part(self, part):
        return [row for row in self.rows.values() if row.part == part]


def number(value, unit, added=True):
    """Formatted: "+33.1 ns", "1.02 x", "6.75 ms"."""
    sign = "+" if added and unit == NS and value >= 0 else ""
    if unit == RATIO:
        return "%.3fx" % value if added else "%.2f s" % (value / 1e9)
    if unit == PLAIN:
        return "%.2f" % value
    for size, name in ((1e9, "s"), (1e6, "ms"), (1e4, "us")):
        if abs(value) >= size:
            size = 1e3 if name == "us" else size
            return "%s%.2f %s" % (sign, value / size, name)
    return "%s%.1f ns" % (sign, value)


def spread(figure):
    low, high = figure.interval
    return "%s..%s" % (number(low, figure.row.unit), number(high, figure.row.unit))


def show(table, part, title):
    """The rows of a part. First ioreel with its bar, then the other tracers."""
    rows = table.of_part(part)
    if not rows:
        return
    others = dict.fromkeys(name for row in rows for name in row.figures)
    others = [name for name in others if name not in ("bare", "ioreel")]
    wide = max(len(row.name) for row in rows)
    print("\n== %s" % title)
    print("%-*s %10s %11s  %-22s %-17s" % (wide, "", "bare", "ioreel", "95 % interval", "bar"),
          *("%12s" % name for name in others))
    for row in rows:
        print(line(row, wide, others))


def line(row, wide, others):
    def cell(tracer):
        figure = row.figures.get(tracer)
        if not figure:
            return "-"
        return number(figure.median, row.unit, tracer != "bare")

    def other(tracer):
        verdict = row.figures[tracer].verdict if tracer in row.figures else ""
        return cell(tracer) + {"MISSED": "!", "unsure": "?"}.get(verdict, "")

    mine = row.figures.get("ioreel")
    bar = ""
    if mine and mine.bar is not None:
        bar = "%s %s" % (number(mine.bar, row.unit).lstrip("+"), mine.verdict)
    return " ".join(["%-*s %10s %11s  %-22s %-17s" % (
        wide, row.name, cell("bare"), cell("ioreel"), spread(mine) if mine else "", bar)] +
        ["%12s" % other(tracer) for tracer in others]).rstrip()


def summary(table):
    """The bars that were held."""
    told = [figure for figure in table.figures() if figure.verdict]
    said = []
    for verdict in ("held", "MISSED", "unsure"):
        of = [f for f in told if f.verdict == verdict]
        names = ", ".join("%s%s %s" % (f.row.name, " (off)" if f.tracer == "off" else "",
                                       number(f.median, f.row.unit)) for f in of)
        said.append("%d %s" % (len(of), verdict) +
                    (" (%s)" % names if of and verdict != "held" else ""))
    print("\nbars: %s" % "; ".join(said))


def as_dicts(table):
    for figure in table.figures():
        low, high = figure.interval
        yield {"part": figure.row.part, "row": figure.row.name, "tracer": figure.tracer,
               "unit": figure.row.unit, "median": figure.median, "low": low, "high": high,
               "bar": figure.bar, "verdict": figure.verdict, "samples": figure.samples}


def plain(value):
    if isinstance(value, float):
        return "%.6g" % value
    return "" if value is None else str(value)


def write(table, machine, folder):
    """cost.tsv: a figure a line; cost.json: with all samples."""
    rows = list(as_dicts(table))
    with open(folder + "/cost.json", "w") as f:
        json.dump({"machine": machine, "notes": table.notes, "figures": rows}, f, indent=1)
        f.write("\n")
    names = [n for n in rows[0] if n != "samples"] if rows else []
    with open(folder + "/cost.tsv", "w") as f:
        f.write("\t".join(names) + "\n")
        for row in rows:
            f.write("\t".join(plain(row[n]) for n in names) + "\n")
