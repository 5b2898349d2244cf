"""Fonts for text of every script: which installed font shows which character of a document.

Only characters that the document holds are looked up, and only fonts that are installed are named, so that a
document compiles on a machine without any of them: those characters then show as code points.
"""

import re
import shutil
import subprocess
from pathlib import Path

from judgekit.escaping import IN_TEXT_FONT, JOINERS

FIRST = ("Noto Sans", "Noto Sans CJK SC", "Noto Sans SC", "Noto Sans Arabic", "Noto Sans Hebrew")
EMOJI = "Noto Color Emoji"
CHINESE = {"rm": "Noto Serif CJK SC", "sf": "Noto Sans CJK SC", "tt": "Noto Sans CJK SC"}  # of the Chinese editions
LAST = ("Noto Sans Symbols", "Noto Sans Symbols2", "Noto Sans Math", "DejaVu Sans", "Latin Modern Math")


def installed_fonts():
    """Regular cuts of the fonts that may help, by family: ``{family: (file, index)}``; empty without fontconfig."""
    if not shutil.which("fc-list"):
        return {}
    listing = subprocess.run(
        ["fc-list", "--format", "%{file}\t%{index}\t%{family[0]}\t%{style}\n"],
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout
    fonts = {}
    for line in sorted(listing.splitlines()):
        file, index, family, style = line.split("\t")
        wanted = family in (*FIRST, EMOJI, *LAST) or re.match("Noto (Sans|Serif) ", family)
        if (wanted and "Regular" in style) or (family in ("DejaVu Sans", EMOJI) and style.startswith(("Book", "Reg"))):
            fonts.setdefault(family, (file, int(index) & 0xFFFF))
    return fonts


def assign_fonts(text):
    """Choose a font for each character of ``text`` that the text font may lack.

    Returns
    -------
    dict of int to tuple
        Code point to ``(family, file, index)``; characters that no font has are left out.
    """
    from fontTools.ttLib import TTFont, TTLibError

    wanted = {ord(c) for c in set(text) if not IN_TEXT_FONT.match(c) and c.isprintable() and c not in JOINERS}
    fonts = installed_fonts() if wanted else {}
    others = sorted(set(fonts) - {*FIRST, EMOJI, *LAST})
    chosen = {}
    for family in (*FIRST, EMOJI, *LAST, *others):
        if family not in fonts or not (open_ones := wanted - set(chosen)):
            continue
        file, index = fonts[family]
        try:
            with TTFont(file, fontNumber=index, lazy=True) as font:
                has = set(font.getBestCmap() or ())
        except (OSError, TTLibError):
            continue  # a broken font is as good as none
        chosen.update(dict.fromkeys(open_ones & has, (family, file, index)))
    return chosen


def font_declarations(text):
    r"""LaTeX that declares the fonts that ``text`` needs and which characters each of them shows."""
    chosen = assign_fonts(text)
    lines = ["% written by judgekit.latex; do not edit"]
    names = {}
    for family, file, index in sorted(set(chosen.values())):
        names[family] = f"excerptfont{chr(ord('a') + len(names) // 26)}{chr(ord('a') + len(names) % 26)}"
        folder, _, name = file.rpartition("/")
        options = f"Path={folder}/,FontIndex={index},Renderer=HarfBuzz"
        # Without its script a font does not join letters.
        scripts = {"Noto Sans Arabic": "Arabic", "Noto Sans Hebrew": "Hebrew", "Noto Sans Devanagari": "Devanagari"}
        if family in scripts:
            options += f",Script={scripts[family]}"
        lines.append(rf"\newfontfamily\{names[family]}{{{name}}}[{options}]% {family}")
    table = ",".join(f'[{code}]="{names[chosen[code][0]]}"' for code in sorted(chosen))
    lines.append(rf"\directlua{{judgekit_fonts={{{table}}}}}")
    return "\n".join(lines) + "\n"


def chinese_declarations():
    r"""LaTeX that gives babel its fonts for Chinese, by file: a look-up by name would index every font there is."""
    lines = ["% written by judgekit.latex; do not edit"]
    for command, family in CHINESE.items():
        cuts = _cuts(family)
        if "Regular" not in cuts:
            lines.append(rf"\PackageError{{results}}{{{family} is not installed}}{{See setup/latex.sh.}}")
            continue
        regular = Path(cuts["Regular"][0])
        options = [f"Path={regular.parent}/,Extension={regular.suffix},Renderer=HarfBuzz", r"Scale=\chinesescale"]
        for shape in ("Upright", "Italic", "SmallCaps", "Bold", "BoldItalic"):
            file, index = cuts.get("Bold" if shape.startswith("Bold") else "Regular", cuts["Regular"])
            options.append(f"{shape}Font={Path(file).stem},{shape}Features={{FontIndex={index}}}")
        lines.append(rf"\babelfont[chinese-simplified]{{{command}}}[{','.join(options)}]{{{regular.stem}}}")
    return "\n".join(lines) + "\n"


def _cuts(family):
    """The regular and the bold cut of a family: ``{"Regular": (file, index), ...}``; empty if it is not installed."""
    if not shutil.which("fc-list"):
        return {}
    command = ["fc-list", "--format", "%{file}\t%{index}\t%{style[0]}\n", f":family={family}"]
    listing = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    rows = [line.split("\t") for line in sorted(listing.splitlines())]
    return {style: (file, int(index) & 0xFFFF) for file, index, style in rows if style in ("Regular", "Bold")}
