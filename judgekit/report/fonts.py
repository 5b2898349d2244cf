"""Fonts for text of every script: which installed font shows which character of a document.

Only characters that the document holds are looked up, and only fonts that are installed are named: without them a
document compiles too, and shows code points. The fallback of luaotfload does not do here: it tears emoji that joiners
and variation selectors make one, and leaves a box where no font has a character.
"""

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

from judgekit.report.escaping import IN_TEXT_FONT, JOINERS

FIRST = ("Noto Sans", "Noto Sans CJK SC", "Noto Sans SC", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Color Emoji")
LAST = ("Noto Sans Symbols", "Noto Sans Symbols2", "Noto Sans Math", "DejaVu Sans", "Latin Modern Math")
SCRIPTS = {"Noto Sans Arabic": "Arabic", "Noto Sans Hebrew": "Hebrew", "Noto Sans Devanagari": "Devanagari"}
CHINESE = {"rm": "Noto Serif CJK SC", "sf": "Noto Sans CJK SC", "tt": "Noto Sans CJK SC"}  # of the Chinese editions


class _Font(NamedTuple):
    family: str
    style: str
    file: Path
    number: int  # of the cut in the file
    characters: str  # ranges of code points, as fontconfig writes them: ``20-7e a0``

    def shows(self, wanted: set[int]) -> set[int]:
        ranges = [[int(end, 16) for end in part.split("-")] for part in self.characters.split()]
        return {code for code in wanted if any(ends[0] <= code <= ends[-1] for ends in ranges)}


@cache
def _installed() -> list[_Font]:
    """Every cut of every font; empty without fontconfig."""
    if not shutil.which("fc-list"):
        return []
    command = ["fc-list", "--format", "%{family[0]}\t%{style[0]}\t%{file}\t%{index}\t%{charset}\n"]
    listing = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    rows = [line.split("\t") for line in sorted(listing.splitlines())]
    return [_Font(family, style, Path(file), int(index) & 0xFFFF, codes) for family, style, file, index, codes in rows]


def font_declarations(text: str) -> list[str]:
    r"""LaTeX that declares the fonts that ``text`` needs and which characters each of them shows."""
    left = {ord(c) for c in set(text) if not IN_TEXT_FONT.match(c) and c.isprintable() and c not in JOINERS}
    plain = [font for font in _installed() if font.style in ("Regular", "Book")] if left else []
    others = sorted({font.family for font in plain if font.family.startswith(("Noto Sans ", "Noto Serif "))})
    lines: list[str] = []
    table: dict[int, str] = {}
    for family in dict.fromkeys((*FIRST, *LAST, *others)):
        font = next((font for font in plain if font.family == family), None)
        if font and (shown := font.shows(left)):
            name = f"excerptfont{chr(ord('a') + len(lines) // 26)}{chr(ord('a') + len(lines) % 26)}"
            script = f",Script={SCRIPTS[family]}" if family in SCRIPTS else ""  # without it a font joins no letters
            options = f"Path={font.file.parent}/,FontIndex={font.number},Renderer=HarfBuzz{script}"
            lines.append(rf"\newfontfamily\{name}{{{font.file.name}}}[{options}]% {family}")
            table |= dict.fromkeys(shown, name)
            left -= shown
    entries = ",".join(f'[{code}]="{table[code]}"' for code in sorted(table))
    return [*lines, rf"\directlua{{judgekit_fonts={{{entries}}}}}"]


def chinese_declarations() -> list[str]:
    r"""LaTeX that gives babel its fonts for Chinese, by file: a look-up by name would index every font there is."""
    lines = []
    for command, family in CHINESE.items():
        cuts = {font.style: font for font in _installed() if font.family == family}
        if "Regular" not in cuts:
            lines.append(rf"\PackageError{{results}}{{{family} is not installed}}{{See setup/latex.sh.}}")
            continue
        regular, bold = cuts["Regular"], cuts.get("Bold", cuts["Regular"])
        options = f"Path={regular.file.parent}/,Extension={regular.file.suffix},Renderer=HarfBuzz,Scale=\\chinesescale"
        for shape in ("Upright", "Italic", "SmallCaps", "Bold", "BoldItalic"):
            cut = bold if shape.startswith("Bold") else regular
            options += f",{shape}Font={cut.file.stem},{shape}Features={{FontIndex={cut.number}}}"
        lines.append(rf"\babelfont[chinese-simplified]{{{command}}}[{options}]{{{regular.file.stem}}}")
    return lines
