"""Who is shown which pair, and what becomes of a vote: everything but the web.

Every showing of a pair has a ticket that is good for one vote. A replayed vote, a second tab and a page that was left
open all come with a ticket that is spent or not the present one: they are told so, and nothing is misfiled.
"""

import hashlib
import json
import secrets
import statistics
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from judgekit.labelling.company import agreement_with_others
from judgekit.labelling.ordering import sequence, shown_order
from judgekit.records import LABELS, SWAPPED, unique_items
from judgekit.votefile import Vote, VoteFile, checked_annotator, votes_of
from judgekit.votes import NO_VOTE, Votes

AGREEMENT_STEP = 10  # votes between two looks at the agreement: so it never tells what others said of one pair
PACE_OF = 20  # latest votes that the pace is taken from
CHOICES = {"first": "A", "second": "B", "tie": "tie"}


class Stale(Exception):
    """The page that sent this shows something else than what is to be voted on now."""


@dataclass
class Seat:
    """What the desk remembers of one annotator; all but `ticket` can be made again from the file.

    Attributes
    ----------
    ticket : str
        Of the present showing, or of the page that says that all is done.
    item : str or None
        On show; None when all is done.
    since : float
        Clock at the first showing.
    skipped : dict of str to int
        Item to the number of the skip, so that the first one skipped comes back first.
    spent : dict of str to (str, str)
        Ticket to the item and the choice it was spent on, while that vote stands.
    looked : int
        Votes at the last look at the agreement.
    agreement : Number or None
    """

    ticket: str = ""
    item: str | None = None
    since: float = 0.0
    skipped: dict = field(default_factory=dict)
    spent: dict = field(default_factory=dict)
    looked: int = 0
    agreement: object = None


class Desk:
    """Pairs to label, annotators, and the file of their votes.

    Parameters
    ----------
    pairs : list of PreferencePair
        Labels, votes, models and sets play no part and are shown to nobody.
    path : path
        The file of votes (`judgekit.votefile.VoteFile`); what stands in it is gone on from.
    annotators : str or sequence of str
    order : {"random", "file"} or callable
        A callable gets `judgekit.votes.Votes` on all pairs and returns item ids, best first; those that it leaves out
        come last. It is asked again every ``refresh`` votes.
    seed : int
        Of sides and of the random order.
    refresh : int

    Raises
    ------
    ValueError
        If there are no pairs or annotators, an id stands twice, a name or the order is none, or the file holds votes
        on other texts under these ids.
    VoteFileBusy, PairFileError
        As `judgekit.votefile.VoteFile`.
    """

    def __init__(self, pairs, path, annotators, order="random", seed=0, refresh=10):
        self.pairs = {pair.item_id: pair for pair in unique_items(pairs)}
        if not self.pairs:
            raise ValueError("there are no pairs to label")
        names = [annotators] if isinstance(annotators, str) else list(annotators)
        if not names:
            raise ValueError("there is no annotator")
        self.seats = {checked_annotator(name): Seat() for name in names}
        if refresh < 1:
            raise ValueError(f"refresh is {refresh}: the order is asked for every so many votes, at least 1")
        if not callable(order):
            sequence(order, seed, names[0], ())
        self.order, self.seed, self.refresh = order, seed, refresh
        self.clusters = {item: pair.cluster for item, pair in self.pairs.items()}
        self.lock, self.rank, self.ranked_at, self.trouble = threading.RLock(), None, 0, None
        self.file = VoteFile(path)
        try:
            self.check_votes()
        except BaseException:
            self.file.close()
            raise

    def check_votes(self):
        """Votes in the file must be on these texts: line numbers as ids move when a line is put in."""
        for (item, annotator), vote in self.file.standing().items():
            if item in self.pairs and vote.pair not in (None, texts_hash(self.pairs[item])):
                raise ValueError(
                    f"{self.file.path}: {annotator} voted on {item!r:.80} when it had other texts: give the pairs ids "
                    "that stay, or name another file of votes"
                )

    # ------------------------------------------------------------ what to show

    def now(self, annotator):
        """The present showing.

        Parameters
        ----------
        annotator : str

        Returns
        -------
        dict
            ``ticket``; ``pair`` (a PreferencePair with its sides as they are to be shown) or None when all is done;
            ``progress``; ``agreement`` (`Number` or None); ``trouble`` (a sentence or None).

        Raises
        ------
        KeyError
            If nobody is called so.
        """
        with self.lock:
            seat, votes = self.seats[annotator], self.own(annotator)
            if not seat.ticket:
                self.show(annotator, self.next_item(annotator, votes))
            pair = None if seat.item is None else self.pairs[seat.item]
            if pair is not None and shown_order(self.seed, annotator, seat.item) == "ba":
                pair = pair.swapped()
            return {
                "ticket": seat.ticket,
                "pair": pair,
                "progress": self.progress(annotator, votes),
                "agreement": self.agreement(annotator, votes),
                "trouble": self.trouble,
            }

    def show(self, annotator, item):
        """Put an item (or the end) before an annotator."""
        seat = self.seats[annotator]
        seat.ticket, seat.item, seat.since = secrets.token_urlsafe(9), item, time.monotonic()

    def next_item(self, annotator, votes):
        """The next item without a vote of this annotator; skipped ones come back when all others have one."""
        skipped = self.seats[annotator].skipped
        waiting = [item for item in self.sequence(annotator) if item not in votes]
        return min(waiting, key=lambda item: skipped.get(item, 0), default=None)

    def sequence(self, annotator):
        """All items in the order in which this annotator is to see them."""
        if not callable(self.order):
            return sequence(self.order, self.seed, annotator, self.pairs)
        asked = len(self.file.lines)
        if self.rank is None or asked - self.ranked_at >= self.refresh:
            self.rank, self.ranked_at = self.ranked(), asked
        return [*self.rank, *(item for item in self.pairs if item not in self.rank)]

    def ranked(self):
        """What the order's function says now, as a dict of items; its failure loses no vote and is told."""
        self.trouble = None
        try:
            found = dict.fromkeys(self.order(self.table()))
            if strangers := [item for item in found if item not in self.pairs]:
                raise KeyError(f"no pair is called {strangers[0]!r:.80}")
            return found
        except Exception as failed:  # a foreign function may fail in any way, and labelling must go on
            self.trouble = f"The order could not be computed ({type(failed).__name__}: {failed}); the last one is kept."
            return self.rank or {}

    # ------------------------------------------------------------ what has been said

    def own(self, annotator):
        """The votes of an annotator on these pairs that stand: item to Vote, oldest first."""
        standing = self.file.standing().items()
        return {item: vote for (item, who), vote in standing if who == annotator and item in self.pairs}

    def votes(self):
        """The votes that stand, also on items that are not shown here: judgekit.votes.Votes."""
        with self.lock:
            clusters = {vote.item_id: vote.item_id for vote in self.file.lines} | self.clusters
            return votes_of(self.file.standing(), clusters, self.file.path)

    def table(self):
        """The votes on all pairs, those without a vote included, in the order of the pairs."""
        standing = {key: vote for key, vote in self.file.standing().items() if key[0] in self.pairs}
        found = votes_of(standing, self.clusters, self.file.path)
        codes = dict(zip(found.items, found.codes, strict=True))
        nobody = [NO_VOTE] * len(found.annotators)
        rows = [codes.get(item, nobody) for item in self.pairs]
        shape = (len(self.pairs), len(found.annotators))
        return Votes(
            tuple(self.pairs),
            found.annotators,
            np.reshape(np.asarray(rows, int), shape),
            LABELS,
            tuple(self.clusters.values()),
        )

    def progress(self, annotator, votes):
        """Counts, pace in seconds per vote, and minutes left at that pace (None before there is a pace)."""
        seconds = [vote.seconds for vote in votes.values() if vote.seconds is not None][-PACE_OF:]
        pace = statistics.median(seconds) if len(seconds) >= 3 else None
        left = len(self.pairs) - len(votes)
        return {
            "done": len(votes),
            "of": len(self.pairs),
            "skipped": sum(item not in votes for item in self.seats[annotator].skipped),
            "pace": None if pace is None else round(pace, 1),
            "minutes_left": None if pace is None else round(pace * left / 60, 1),
        }

    def agreement(self, annotator, votes):
        """Agreement with the others, looked at every few votes only."""
        seat = self.seats[annotator]
        if len(votes) // AGREEMENT_STEP > seat.looked // AGREEMENT_STEP:
            seat.looked = len(votes)
            seat.agreement = agreement_with_others(self.table(), annotator)
        return seat.agreement

    # ------------------------------------------------------------ what is said

    def vote(self, annotator, ticket, choice):
        """File a vote; when this returns it is on disk.

        Parameters
        ----------
        annotator, ticket : str
        choice : {"first", "second", "tie"}
            By place on the page; it is filed in the item's own order.

        Returns
        -------
        bool
            Whether it is new: a vote that is sent again is filed once.

        Raises
        ------
        Stale
            If the ticket is not the present one; nothing is filed.
        ValueError
            If the choice is none.
        OSError
            If it could not be written; nothing is filed.
        """
        if choice not in CHOICES:
            raise ValueError(f"choice {choice!r:.40}: use first, second or tie")
        with self.lock:
            seat = self.seats[annotator]
            if seat.spent.get(ticket, (None, None))[1] == choice:
                return False
            item = self.present(seat, ticket)
            shown = shown_order(self.seed, annotator, item)
            label = SWAPPED[CHOICES[choice]] if shown == "ba" else CHOICES[choice]
            self.write(annotator, item, label, shown, round(time.monotonic() - seat.since, 1))
            seat.spent[ticket] = item, choice
            seat.skipped.pop(item, None)
            seat.ticket = ""
            return True

    def skip(self, annotator, ticket):
        """Put the present pair off until all others are done; errors as for `vote`."""
        with self.lock:
            seat = self.seats[annotator]
            item = self.present(seat, ticket)
            seat.skipped[item] = max(seat.skipped.values(), default=0) + 1
            seat.ticket = ""

    def undo(self, annotator, ticket):
        """Take back this annotator's latest vote that stands, and show its pair again.

        Returns
        -------
        bool
            Whether there was a vote to take back.

        Raises
        ------
        Stale, OSError
            As for `vote`.
        """
        with self.lock:
            seat = self.seats[annotator]
            if not seat.ticket or ticket != seat.ticket:
                raise Stale("This tab shows an older page. Nothing was taken back.")
            votes = self.own(annotator)
            if not votes:
                return False
            item = next(reversed(votes))
            self.write(annotator, item, None, votes[item].shown, None)
            seat.spent = {spent: on for spent, on in seat.spent.items() if on[0] != item}
            self.show(annotator, item)
            return True

    def present(self, seat, ticket):
        """The item on show, if the ticket is the present one."""
        if ticket in seat.spent:
            raise Stale("You voted on this pair already, perhaps in another tab. U takes that vote back.")
        if not seat.ticket or ticket != seat.ticket or seat.item is None:
            raise Stale("This tab shows an older pair than the one that is to be voted on. Nothing was stored.")
        return seat.item

    def write(self, annotator, item, label, shown, seconds):
        """One line of the file."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        self.file.append(Vote(item, annotator, label, shown, seconds, at, texts_hash(self.pairs[item])))

    def close(self):
        """Give the file of votes free."""
        with self.lock:
            self.file.close()


def texts_hash(pair):
    """A short hash of what is shown of a pair."""
    turns = [[turn.question, turn.response_a, turn.response_b] for turn in pair.turns]
    shown = json.dumps([turns, pair.question, pair.response_a, pair.response_b])
    return hashlib.sha256(shown.encode()).hexdigest()[:16]
