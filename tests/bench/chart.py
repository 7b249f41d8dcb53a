# SPDX-License-Identifier: MIT
"""An SVG of a bench: a column for the cost of each tracer, on logarithmic scales,
and a tick at the limit of ioreel."""
from html import escape
from math import log10

import figures

COLOURS = {"ioreel": "#4477aa", "Darshan+DXT": "#66ccee", "DFTracer": "#228833",
           "Recorder": "#ccbb44", "strace": "#ee6677"}
LEFT, WIDTH, BAR, GAP = 240, 1120, 11, 14
DECADE = 88  # px


class Panel:
    """Rows of one unit below each other; value(figure) is what is drawn."""

    def __init__(self, title, rows, labels, value):
        self.title, self.rows, self.labels, self.value = title, rows, labels, value

    def x(self, value):
        """One decade of the scale left of the first label is no bar at all."""
        return LEFT + DECADE * max(0, log10(max(value, 1e-12)) - log10(self.labels[0][0]))

    def height(self):
        return 60 + sum(self.row_height(row) for row in self.rows)

    def row_height(self, row):
        return BAR * len(self.drawn(row)) + GAP

    @staticmethod
    def drawn(row):
        return [row.figures[name] for name in COLOURS if name in row.figures]

    def draw(self, y):
        out = [text(LEFT, y + 14, self.title, size=13)]
        bottom = y + self.height() - 28
        for value, label in self.labels:
            at = self.x(value)
            out.append('<line x1="%.0f" y1="%d" x2="%.0f" y2="%d" stroke="#ddd"/>'
                       % (at, y + 24, at, bottom))
            out.append(text(at, bottom + 12, label, "middle", "#666"))
        y += 28
        for row in self.rows:
            out += self.draw_row(row, y)
            y += self.row_height(row)
        return out

    def draw_row(self, row, y):
        drawn = self.drawn(row)
        out = [text(LEFT - 6, y + BAR * len(drawn) / 2 + 4, row.name, "end")]
        for k, figure in enumerate(drawn):
            at, top = self.x(self.value(figure.median)), y + BAR * k
            out.append('<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>' % (
                LEFT, top, max(at - LEFT, 1), BAR - 1, COLOURS[figure.tracer]))
            if figure.bar is not None:
                bar = self.x(self.value(figure.bar))
                out.append('<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#000" '
                           'stroke-width="2"/>' % (bar, top - 2, bar, top + BAR + 1))
                at = max(at, bar)
            out.append(text(at + 5, top + BAR - 2, "%s %s %s" % (
                figure.tracer, figures.number(figure.median, row.unit), figure.verdict)))
        return out


def text(x, y, words, anchor="start", colour="#000", size=10):
    return '<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s" font-size="%d">%s</text>' % (
        x, y, anchor, colour, size, escape(words))


def write(table, machine, path):
    rows = [row for row in table.rows.values() if "ioreel" in row.figures]
    panels = [
        Panel("Time added (| is the bar)", [r for r in rows if r.unit == figures.NS],
              [(10 ** n, "%d %s" % (10 ** (n % 3), ("ns", "us", "ms")[n // 3]))
               for n in range(8)],
              lambda ns: ns),
        Panel("Jobs: slower by (| is the bar)", [r for r in rows if r.unit == figures.RATIO],
              [(10 ** n, "%g %%" % 10 ** (n + 2)) for n in range(-3, 2)],
              lambda ratio: ratio - 1)]
    y, out = 40, []
    for panel in panels:
        if panel.rows:
            out += panel.draw(y)
            y += panel.height() + 20
    head = "Medians of interleaved rounds; %(cpu)s, %(cores)d cores, load %(load).2f, %(time)s"
    with open(path, "w") as f:
        f.write('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" '
                'font-family="sans-serif">\n<rect width="100%%" height="100%%" fill="white"/>\n'
                % (WIDTH, y))
        f.write("\n".join([text(10, 20, head % machine, size=11)] + out) + "\n</svg>\n")
