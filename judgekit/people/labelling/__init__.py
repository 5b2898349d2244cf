"""The labelling page: people's votes on pairs, on this machine, in a browser or inside a notebook."""

from judgekit.people.labelling.server import Labelling, label_all, show
from judgekit.people.labelling.session import agreement_with_others

__all__ = ["Labelling", "agreement_with_others", "label_all", "show"]
