"""Sphinx's settings for the site (setup/site.py)."""

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

project = "LLM-as-a-judge, studied in notebooks"
html_title = project
extensions = ["myst_nb", "sphinx.ext.autodoc"]
html_theme = "furo"
include_patterns = ["*.md", "docs/*.md", "notebooks/*", "real/*", "api/*"]
include_patterns += ["outputs/laptop/cases/*.md", "judgekit/pretrained/**/README.md"]
exclude_patterns = ["README.md"]  # the front page is made of it
# What moved, and which numbers, is linked where it is spoken of; GitHub draws the chart that is code here.
suppress_warnings = ["toc.not_included", "misc.highlighting_failure"]
nb_execution_mode = "off"
nb_merge_streams = True
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_dmath_double_inline = True  # a formula on a line of its own may stand within a paragraph, as notebooks have it
default_role = "code"
toc_object_entries = False  # a page's contents are its modules
autodoc_typehints = "signature"
autodoc_default_options = {"exclude-members": "set_score_request, set_fit_request"}  # scikit-learn's own
autodoc_mock_imports = ["ray", "vllm", "inspect_ai"]  # extras that the environment may lack
html_static_path = html_css_files = ["site.css"]
html_show_copyright = html_show_sourcelink = html_copy_source = False
html_math_renderer = "mathml"  # which browsers draw by themselves, off-line, too


def _drawn(display):
    def visit(translator, node):
        translator.body.append(convert(node.astext(), display=display))
        raise SkipNode

    return visit, None


def setup(app):
    """Formulas become MathML where the site is built."""
    app.add_html_math_renderer("mathml", _drawn("inline"), _drawn("block"))
