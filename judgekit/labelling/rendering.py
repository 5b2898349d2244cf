"""Texts of strangers as HTML that does nothing: Markdown without HTML, links without targets, pictures not loaded.

The page's content security policy is the second wall; this is the first. Nothing that a response says becomes an
address that a browser would ask for.
"""

from functools import lru_cache
from html import escape

LONGEST_MARKDOWN = 100_000  # characters; longer texts are shown as they are written
MOST_BRACKETS = 5_000  # the parser's time grows with their square: ten seconds for fifty thousand
SCHEMES = ("http://", "https://")


@lru_cache(maxsize=1)
def parser():
    """The Markdown parser, with renderers of its own for links and pictures."""
    from markdown_it import MarkdownIt

    made = MarkdownIt("default", {"html": False, "linkify": False, "typographer": False, "breaks": True})
    made.validateLink = lambda address: address.lower().startswith(SCHEMES)
    made.add_render_rule("link_open", link_open)
    made.add_render_rule("link_close", link_close)
    made.add_render_rule("image", picture)
    made.add_render_rule("fence", fence)
    made.add_render_rule("th_open", cell)
    made.add_render_rule("td_open", cell)
    return made


def link_open(self, tokens, index, options, env):
    """A link's text is shown as such, and cannot be followed."""
    return '<span class="link">'


def link_close(self, tokens, index, options, env):
    """Where the link would have led, as text, unless its own text says so."""
    depth, start = 1, index
    while depth:
        start -= 1
        depth += {"link_close": 1, "link_open": -1}.get(tokens[start].type, 0)
    address = tokens[start].attrGet("href")
    if tokens[start].markup == "autolink":
        return "</span>"
    return f'</span> <span class="address">({escape(str(address))})</span>'


def picture(self, tokens, index, options, env):
    """A picture is not loaded: asking for it would tell its owner that somebody reads this."""
    token = tokens[index]
    return f'<span class="picture">[picture: {escape(token.content)} ({escape(str(token.attrGet("src")))})]</span>'


def fence(self, tokens, index, options, env):
    """A block of code; its language is a word above it, never an attribute."""
    token = tokens[index]
    language = token.info.split(maxsplit=1)[0][:30] if token.info.strip() else ""
    said = f'<span class="language">{escape(language)}</span>' if language else ""
    return f'<div class="code">{said}<pre tabindex="0"><code dir="ltr">{escape(token.content)}</code></pre></div>\n'


def cell(self, tokens, index, options, env):
    """A cell of a table without its alignment, which would be an inline style."""
    return f"<{tokens[index].tag}>"


@lru_cache(maxsize=256)
def rendered(text):
    """Markdown as safe HTML.

    Parameters
    ----------
    text : str
        Anything.

    Returns
    -------
    str
        HTML without scripts, handlers, styles, frames, forms, addresses or pictures.

    Examples
    --------
    >>> rendered("**Yes** <script>alert(1)</script>")
    '<p><strong>Yes</strong> &lt;script&gt;alert(1)&lt;/script&gt;</p>\\n'
    >>> rendered("[see](https://example.org) [x](javascript:alert)")
    '<p><span class="link">see</span> <span class="address">(https://example.org)</span> [x](javascript:alert)</p>\\n'
    """
    text = visible(text)
    if not text.strip():
        return '<p class="empty">(empty)</p>'
    if len(text) > LONGEST_MARKDOWN or text.count("[") > MOST_BRACKETS:
        return f'<pre class="plain">{escape(text)}</pre>'
    return parser().render(text)


def visible(text):
    """A text that can be sent: lone surrogates and NUL, which no page can show, become a mark."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")
