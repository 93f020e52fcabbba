"""Makes the fonts of ``trick_envs/view/font`` from an installed DejaVu: subsets for Pillow, outlines for SVG.

python tests/pictures/make_font.py [/usr/share/fonts/truetype/dejavu]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib
from fontTools.pens.basePen import BasePen
from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

OUT = Path(__file__).parents[2] / "trick_envs/view/font"
WEIGHTS = {"bold": "DejaVuSans-Bold.ttf", "book": "DejaVuSans.ttf"}
LATIN = "".join(map(chr, [*range(0x20, 0x7F), *range(0xA1, 0x100)])) + "–—‘’“”…−×"
SYMBOLS = "♠♥♦♣★●▲■◆⬟⬢▶◀►→←↑↓✓♛"
EM = 256  # units of an outline


class Outline(BasePen):
    """An outline as relative SVG commands, so that outlines can be chained."""

    def __init__(self, glyphs: Any, scale: float) -> None:
        super().__init__(glyphs)
        self.scale, self.parts, self.at, self.start, self.first = scale, [], (0, 0), (0, 0), None

    def _rel(self, *points: Any) -> str:
        rounded = [(round(x * self.scale), round(-y * self.scale)) for x, y in points]
        text = " ".join(f"{x - self.at[0]} {y - self.at[1]}" for x, y in rounded)
        self.at = rounded[-1]
        return text.replace(" -", "-")

    def _moveTo(self, point: Any) -> None:
        self.at = self.start
        text = self._rel(point)
        self.start = self.at
        if self.first is None:
            self.first = self.at
        else:
            self.parts.append(f"m{text}")

    def _lineTo(self, point: Any) -> None:
        self.parts.append(f"l{self._rel(point)}")

    def _curveToOne(self, one: Any, two: Any, three: Any) -> None:
        self.parts.append(f"c{self._rel_curve(one, two, three)}")

    def _qCurveToOne(self, one: Any, two: Any) -> None:
        self.parts.append(f"q{self._rel_curve(one, two)}")

    def _rel_curve(self, *points: Any) -> str:
        rounded = [(round(x * self.scale), round(-y * self.scale)) for x, y in points]
        text = " ".join(f"{x - self.at[0]} {y - self.at[1]}" for x, y in rounded)
        self.at = rounded[-1]
        return text.replace(" -", "-")

    def _closePath(self) -> None:
        self.parts.append("z")


def main() -> None:
    default = Path(matplotlib.get_data_path()) / "fonts/ttf"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    outlines: dict[str, dict[str, Any]] = {}
    for weight, name in WEIGHTS.items():
        font = TTFont(folder / name)
        wanted = LATIN + (SYMBOLS if weight == "bold" else "")
        options = Options(layout_features=[], hinting=False, name_IDs=[0, 1, 2, 13], notdef_outline=True)
        options.drop_tables += ["kern", "GPOS", "GSUB", "GDEF", "FFTM"]
        subsetter = Subsetter(options)
        subsetter.populate(text=wanted)
        subsetter.subset(font)
        font.save(OUT / f"{weight}.ttf")
        glyphs, names, scale = font.getGlyphSet(), font.getBestCmap(), EM / font["head"].unitsPerEm
        outlines[weight] = {}
        for letter in wanted:
            if ord(letter) not in names:
                raise SystemExit(f"{name} has no {letter!r}")
            recording, pen = DecomposingRecordingPen(glyphs), Outline(glyphs, scale)
            glyphs[names[ord(letter)]].draw(recording)
            recording.replay(pen)
            advance = round(glyphs[names[ord(letter)]].width * scale)
            if pen.first is None:
                outlines[weight][letter] = [advance]
            else:
                outlines[weight][letter] = [advance, *pen.first, "".join(pen.parts), *pen.start]
    (OUT / "outlines.json").write_text(json.dumps(outlines, ensure_ascii=False, separators=(",", ":")) + "\n")
    for path in sorted(OUT.iterdir()):
        print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
