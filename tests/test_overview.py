"""The figure of the whole system: every label can be said in another language, and the notebooks in it exist."""

import re

from judgekit.data.paths import project_root
from judgekit.figures import style
from judgekit.report.workflow import notebook_list

FIGURE = (project_root() / "report" / "overview.tex").read_text(encoding="utf-8")
PAGE = (project_root() / "docs" / "overview.md").read_text(encoding="utf-8")
DRAWING = FIGURE[FIGURE.index(r"\begin{tikzpicture}") :]


def test_every_label_is_a_macro_and_every_macro_is_drawn():
    defined = set(re.findall(r"\\providecommand\{\\(ov\w+)\}", FIGURE))
    used = set(re.findall(r"\\(ov[A-Z]\w+)", FIGURE.replace("providecommand{", "")))
    assert used == defined
    undrawn = {name for name in defined if f"\\{name}" not in DRAWING} - {"ovWidth"}
    assert not undrawn
    nodes = re.findall(r"\) \{(.*?)\};", DRAWING)
    words = [re.sub(r"\\\w+|[{}\d\s]|--", "", text) for text in nodes]
    assert len(nodes) > 15 and not any(words), f"typed where a macro belongs: {words}"


def test_its_colours_are_those_of_the_plots():
    colours = {f"#{code}" for code in re.findall(r"\\definecolor\{\w+\}\{HTML\}\{(\w+)\}", FIGURE)}
    known = {style.GREY, style.DARK, *style.SERIES, *(colour for colour, _ in style.JUDGES.values())}
    assert colours and colours <= {colour.upper() for colour in known}


def test_the_page_names_every_stage_and_the_figure_too():
    stages = {name[0] for name in notebook_list()}
    assert stages == set("1234567")
    for stage in stages:
        assert re.search(rf"`{stage}\d_\w+`", PAGE), f"no notebook of the {stage}0s is named"
        assert re.search(rf"\b{stage}\d", DRAWING), f"the figure lacks the {stage}0s"
