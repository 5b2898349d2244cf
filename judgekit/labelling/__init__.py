"""The labelling page: people's votes on pairs, on this machine, in a browser or inside a notebook.

Blind (neither models nor labels nor anybody's opinion is sent to the browser), sides drawn by annotator and item, one
key per vote, every vote on disk before it is confirmed, and safe against what responses hold and what other sites ask.
"""

from judgekit.labelling.app import create_app
from judgekit.labelling.company import agreement_with_others, share_right
from judgekit.labelling.desk import Desk, Stale
from judgekit.labelling.ordering import fewest_votes_first
from judgekit.labelling.photograph import photograph
from judgekit.labelling.server import Labelling, show, start
from judgekit.labelling.simulated import by_texts, distinct, misfiled, panel_votes, published_votes
from judgekit.labelling.visitor import Refused, Visitor, label_all

__all__ = [
    "Desk",
    "Labelling",
    "Refused",
    "Stale",
    "Visitor",
    "agreement_with_others",
    "by_texts",
    "create_app",
    "distinct",
    "fewest_votes_first",
    "label_all",
    "misfiled",
    "panel_votes",
    "photograph",
    "published_votes",
    "share_right",
    "show",
    "start",
]
