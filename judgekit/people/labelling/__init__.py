"""The labelling page: people's votes on pairs, on this machine, in a browser or inside a notebook.

Blind (neither models nor labels nor anybody's opinion is sent to the browser), sides drawn by annotator and item, one
key per vote, every vote on disk before it is confirmed, and safe against what responses hold and what other sites ask.
"""

from judgekit.people.labelling.server import Labelling, label_all, show
from judgekit.people.labelling.session import agreement_with_others

__all__ = ["Labelling", "agreement_with_others", "label_all", "show"]
