"""Texts of strangers as HTML that does nothing: Markdown without HTML, links without targets, pictures not loaded.

The page's content security policy is the second wall; this is the first. Nothing in a response becomes an address
that a browser would ask for.
"""

from functools import lru_cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML

LONGEST_MARKDOWN = 100_000  # characters; longer texts are shown as they are written
MOST_BRACKETS = 5_000  # the parser's time grows with their square: ten seconds for fifty thousand


@lru_cache(maxsize=256)
def rendered(text: str) -> str:
    """Markdown as HTML without scripts, handlers, styles, frames, forms, addresses or pictures."""
    text = visible(text)
    if not text.strip():
        return '<p class="empty">(empty)</p>'
    if len(text) > LONGEST_MARKDOWN or text.count("[") > MOST_BRACKETS:
        return f'<pre class="plain">{escape(text)}</pre>'
    return str(_PARSER.render(text))


def visible(text: str) -> str:
    """A text that can be sent: lone surrogates and NUL, which no page can show, become a mark."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:
        return url.lower().startswith(("http://", "https://"))


class _Renderer(RendererHTML):
    """The elements that would load something, lead somewhere or carry a style."""

    def link_open(self, tokens: Any, idx: int, options: Any, env: Any) -> str:
        return '<span class="link">'

    def link_close(self, tokens: Any, idx: int, options: Any, env: Any) -> str:
        """Where the link would have led, as text, unless its own text says so."""
        depth, start = 1, idx
        while depth:
            start -= 1
            depth += {"link_close": 1, "link_open": -1}.get(tokens[start].type, 0)
        if tokens[start].markup == "autolink":
            return "</span>"
        return f'</span> <span class="address">({escape(str(tokens[start].attrGet("href")))})</span>'

    def image(self, tokens: Any, idx: int, options: Any, env: Any) -> str:
        """A picture is not loaded: asking for it would tell its owner that somebody reads this."""
        source = escape(str(tokens[idx].attrGet("src")))
        return f'<span class="picture">[picture: {escape(tokens[idx].content)} ({source})]</span>'

    def fence(self, tokens: Any, idx: int, options: Any, env: Any) -> str:
        """A block of code; its language is a word above it, never an attribute."""
        language = (tokens[idx].info.split(maxsplit=1) or [""])[0][:30]
        caption = f'<span class="language">{escape(language)}</span>' if language else ""
        code = escape(tokens[idx].content)
        return f'<div class="code">{caption}<pre tabindex="0"><code dir="ltr">{code}</code></pre></div>\n'

    def th_open(self, tokens: Any, idx: int, options: Any, env: Any) -> str:
        """A cell of a table without its alignment, which would be an inline style."""
        return f"<{tokens[idx].tag}>"

    td_open = th_open


_PARSER = _Parser(
    "default", {"html": False, "linkify": False, "typographer": False, "breaks": True}, renderer_cls=_Renderer
)
