#!/usr/bin/env python3
"""Draws server/layers.svg, the README's picture, from server/layers.txt; --check only compares."""

import html
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNIT, GAP, MARGIN, ARROW, LINE = 118, 12, 16, 26, 20
STYLE = """
  .page { fill: #ffffff } .box { fill: #eef4fb; stroke: #4a7ab5 } .word { fill: #d6e5f6 }
  text { fill: #1b2733; font: 13px sans-serif; text-anchor: middle } .title { font-weight: bold }
  .folder { fill: #35618f; font: 12px monospace } line, .tip { fill: #4a7ab5; stroke: #4a7ab5 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } .box { fill: #16263a; stroke: #6ea3dd } .word { fill: #25405f }
    text { fill: #e6edf3 } .folder { fill: #9cc4f0 } line, .tip { fill: #6ea3dd; stroke: #6ea3dd }
  }
"""


class Box:
    def __init__(self, text, x, y):
        width, self.title, *lines = (part.strip() for part in text.split(";"))
        self.text, self.folder, words = lines + [""] * (3 - len(lines))
        self.words = words.split()
        if self.folder and not (ROOT / self.folder).is_dir():
            sys.exit(f"server/layers.txt: there is no folder {self.folder}")
        self.x, self.y, self.w = x, y, int(width) * UNIT - GAP
        self.middle = x + self.w / 2
        self.h = LINE * (2 + bool(self.folder) + 1.5 * bool(self.words)) + 8

    def draw(self):
        lines = [("title", self.title), ("", self.text), ("folder", self.folder)]
        yield f'<rect class="box" x="{self.x:g}" y="{self.y:g}" width="{self.w:g}" height="{self.h:g}" rx="6"/>'
        for n, (kind, words) in enumerate(line for line in lines if line[1]):
            y = self.y + LINE * (n + 1)
            yield f'<text class="{kind}" x="{self.middle:g}" y="{y:g}">{html.escape(words)}</text>'
        each = (self.w - GAP) / max(len(self.words), 1)
        for n, word in enumerate(self.words):
            x, y = self.x + GAP + n * each, self.y + self.h - 1.6 * LINE
            yield f'<rect class="word" x="{x:g}" y="{y:g}" width="{each - GAP:g}" height="24" rx="4"/>'
            yield f'<text x="{x + (each - GAP) / 2:g}" y="{y + 16:g}">{word}</text>'


def picture(text):
    rows, y = [], MARGIN
    for line in (line for line in text.splitlines() if line[:1] not in ("", "#")):
        row, x = [], MARGIN
        for part in line.split("|"):
            row.append(Box(part, x, y))
            x += row[-1].w + GAP
        rows.append([box for box in row if box.title])
        y += max(box.h for box in rows[-1]) + ARROW
    width, height = 7 * UNIT - GAP + 2 * MARGIN, y - ARROW + MARGIN
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}">'
    yield f"<style>{STYLE}</style>"
    yield f'<rect class="page" width="{width:g}" height="{height:g}" rx="8"/>'
    for n, row in enumerate(rows):
        for box in row:
            yield from box.draw()
            # An arrow stands over the middle of the narrower of the two boxes that it joins.
            under = (b for later in rows[n + 1 :] for b in later if b.x <= box.middle <= b.x + b.w)
            over = (b for r in rows[:n][::-1] for b in r if b.x <= box.middle <= b.x + b.w)
            ends = [(box, b) for b in [next(under, None)] if b and b.w > box.w]
            ends += [(b, box) for b in [next(over, None)] if b and b.w >= box.w]
            for upper, lower in ends:
                yield f'<line x1="{box.middle:g}" y1="{upper.y + upper.h:g}" x2="{box.middle:g}" y2="{lower.y - 8:g}"/>'
                yield f'<path class="tip" d="M{box.middle - 5:g} {lower.y - 9:g}h10l-5 9z"/>'
    yield "</svg>"


svg = "\n".join(picture((ROOT / "server/layers.txt").read_text())) + "\n"
if "--check" not in sys.argv:
    (ROOT / "server/layers.svg").write_text(svg)
elif (ROOT / "server/layers.svg").read_text() != svg:
    sys.exit("server/layers.svg is not what scripts/picture.py draws: run it")
