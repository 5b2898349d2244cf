r"""Any text made safe to print: for LaTeX (under LuaLaTeX, with ``report/results.sty``) and for Markdown tables.

Benchmark text may hold anything and is not trusted. Characters outside the text font go through ``\unitext``, which
picks a font or shows the code point.
"""

import html
import re
import unicodedata
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import jinja2

TEXT = {"\\": "backslash", "^": "asciicircum", "~": "asciitilde", "`": "asciigrave", '"': "quotedbl", "|": "bar"}
SIGNS = {"−": "-", "≤": r"\leq", "≥": r"\geq", "≠": r"\neq", "≈": r"\approx", "→": r"\rightarrow", "∞": r"\infty"}
SPECIAL = {
    **{character: rf"\{character}" for character in "{}$&#%_"},
    **{character: rf"\text{name}{{}}" for character, name in TEXT.items()},
    **{sign: rf"\ensuremath{{{command}}}" for sign, command in SIGNS.items()},
    "<": r"\textless\kern0pt{}",  # twice makes a French quotation mark otherwise
    ">": r"\textgreater\kern0pt{}",
    "\u00a0": "~",
    "\u00ad": r"\-",
    **dict.fromkeys("\t\n\r", " "),
    # Without a mark of their own: zero-width space, direction marks, word joiner, byte-order mark.
    **dict.fromkeys("\u200b\u200e\u200f\u2060\ufeff", ""),
}
# Shown by their codes: controls, surrogates, unassigned and private ones; and embeddings and overrides of direction,
# which would make a text read otherwise than it is stored.
HIDDEN = {"Cc", "Cs", "Cn", "Co"}
OVERRIDES = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
# Printable ASCII, Latin-1, Latin Extended-A and the common typographic marks: in every text font.
IN_TEXT_FONT = re.compile("[\x20-\x7e\u00a1-\u00ac\u00ae-\u017f–—‘’“”„…•†‡€]")
# Hebrew, Arabic, Syriac, Thaana, NKo and the presentation forms: written from right to left.
RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff"
RTL_RUN = re.compile(f"([{RIGHT_TO_LEFT}](?:[\\s0-9.,;:!?()-]*[{RIGHT_TO_LEFT}])*)")
# The text font would join these into a dash or a quotation mark; what was written is shown instead.
LIGATURES = re.compile(r"(?<=-)(?=-)|(?<=')(?=')|(?<=,)(?=,)")
JOINERS = "\u200d\ufe0e\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
LONGEST_WORD = 18


def escape(text: object) -> str:
    r"""Any text as one line of LaTeX that prints it and does nothing else.

    >>> print(escape("50% of $5_000"), escape("a\x00b"))
    50\% of \$5\_000 a\codepoint{0000}b
    """
    return by_direction(unicodedata.normalize("NFC", str(text)), _escape)


def by_direction(text: str, inner: Callable[[str], str]) -> str:
    """``inner`` of each part of ``text``, with runs of right-to-left letters marked as such."""
    parts = RTL_RUN.split(text)
    return "".join(rf"\rtltext{{{inner(part)}}}" if i % 2 else inner(part) for i, part in enumerate(parts))


def _kind(character: str) -> str:
    """Whether a character is plain in the text font, foreign to it, or hidden (shown by its code)."""
    if character in SPECIAL or IN_TEXT_FONT.match(character):
        return "plain"
    return "hidden" if character in OVERRIDES or unicodedata.category(character) in HIDDEN else "foreign"


def _escape(text: str) -> str:
    latex = ""
    for kind, run in groupby(text, _kind):
        if kind == "foreign":
            latex += rf"\unitext{{{''.join(run)}}}"
        else:
            latex += "".join(SPECIAL.get(c, c) if kind == "plain" else rf"\codepoint{{{ord(c):04X}}}" for c in run)
    return LIGATURES.sub(r"\\kern0pt{}", latex)


def escape_markdown(text: object) -> str:
    """Any text as a cell of a Markdown table that shows it as it is.

    >>> escape_markdown("a|b <i> $5")
    'a\\\\|b &lt;i&gt; &#36;5'
    """
    text = "".join(f"U+{ord(c):04X}" if _kind(c) == "hidden" else c for c in str(text))
    shown = html.escape(" ".join(text.split()), quote=False).replace("$", "&#36;")  # two of them would begin a formula
    return re.sub(r"([\\`*_~\[\]|])", r"\\\1", shown)


def _tears(text: str, end: int) -> bool:
    """Whether a cut before ``text[end]`` would tear a cluster of characters."""
    return text[end] in JOINERS or text[end - 1] == "\u200d" or bool(unicodedata.combining(text[end]))


def break_word(word: str) -> str:
    """LaTeX for one word, with points to break a line where it is long (other scripts break anyway)."""
    if len(word) <= LONGEST_WORD:
        return _escape(word)
    pieces, start = [], 0
    for i in range(1, len(word)):
        after_mark = i - start >= 4 and word[i - 1] in "/_-.,;:=&?+)]}|\\"
        if (after_mark or i - start >= 8) and not _tears(word, i):
            pieces.append(word[start:i])
            start = i
    return r"\wordbreak{}".join(_escape(piece) for piece in [*pieces, word[start:]])


def break_words(text: str) -> str:
    """LaTeX for words, with points to break a line in long ones."""
    return " ".join(map(break_word, text.split(" ")))


def typeset(text: str, limit: int = 600) -> str:
    r"""Text of a data set as ``\excerpt{...}`` for running text or a paragraph column, whatever the text is.

    New lines show as a mark; blank text as *(empty)*; beyond ``limit`` characters, how many were left out.

    >>> print(typeset("Say \\input{x}"))
    \excerpt{Say \textbackslash{}input\{x\}}
    """
    whole = unicodedata.normalize("NFC", text.strip())
    if not whole:
        return r"\excerpt{\emptytext}"
    end = min(limit, len(whole))
    while 0 < end < len(whole) and _tears(whole, end):
        end -= 1
    kept = whole[: end or limit].rstrip()
    lines = [" ".join(line.split()) for line in re.split(r"\r\n|[\n\r\v\f\x85\u2028\u2029]", kept)]
    shown = r" \newlinemark{} ".join(by_direction(line, break_words) for line in lines if line)
    cut = rf" \cutmark{{{len(whole) - len(kept):,}}}" if len(kept) < len(whole) else ""
    return rf"\excerpt{{{shown}{cut}}}"


def template(name: str, **filters: Callable[..., str]) -> jinja2.Template:
    """A template of this folder, with signs that neither LaTeX nor Markdown knows; ``filters`` escape its texts."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        comment_start_string="<#",
        comment_end_string="#>",
    )
    environment.filters.update(filters)
    return environment.get_template(name)


def rendered(made: jinja2.Template, block: str, **words: Any) -> str:
    """A block of a template, filled in."""
    return "".join(made.blocks[block](made.new_context(words))).removesuffix("\n")
