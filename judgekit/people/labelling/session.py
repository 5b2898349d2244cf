"""Which pair an annotator sees next, which response stands first, and what becomes of a vote: all but the web.

Every showing of a pair has a ticket that is good for one vote. A replayed vote, a second tab and a page that was left
open all come with a ticket that is spent or not the present one: they are refused, and nothing is misfiled.
"""

import hashlib
import secrets
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from judgekit.data.pairfile.lines import PairFileError
from judgekit.data.votes import NO_VOTE, Votes, positions
from judgekit.people.labelling.votefile import Vote, VoteFile, checked_annotator, standing, votes_of
from judgekit.records import SWAPPED, PreferencePair, fingerprint_of, unique_items
from judgekit.stats import Number, cluster_bootstrap, cluster_sums, share_of

AGREEMENT_STEP = 10  # votes between two estimates of the agreement: so it never tells how others voted on one pair
LEAST_PROMPTS = 20  # with fewer, an interval says nothing
PACE_VOTES = 20  # latest votes that the pace is taken from
REFRESH = 10  # votes after which an order of one's own is asked for anew
LONGEST_REASON = 200  # characters of the failure of an order of one's own that annotators are shown
CHOICES = {"first": "A", "second": "B", "tie": "tie", "both_bad": "tie"}


def drawn(seed: int, *names: str) -> int:
    """A number below 2**64, uniform, that a seed and names decide, the same on every machine."""
    text = "\0".join([str(seed), *names]).encode("utf-8", "backslashreplace")
    return int.from_bytes(hashlib.sha256(text).digest()[:8])


def shown_order(seed: int, annotator: str, item_id: str) -> str:
    """Which response an annotator sees first: "ab" or "ba"."""
    return ("ab", "ba")[drawn(seed, "sides", annotator, item_id) % 2]


def fewest_votes_first(votes: Votes) -> list[str]:
    """Items with the fewest votes first, otherwise as they stand; ``votes`` on all items, also those without any."""
    return [votes.items[i] for i in np.argsort(votes.given.sum(1), kind="stable")]


def agreement_with_others(votes: Votes, annotator: str) -> Number | None:
    """Share of comparisons of an annotator's vote with another's on the same item in which both are equal, prompts
    resampled; None where the items shared with others have fewer than `LEAST_PROMPTS` prompts."""
    if annotator not in votes.annotators:
        return None
    column = votes.annotators.index(annotator)
    own, others = votes.codes[:, [column]], np.delete(votes.codes, column, axis=1)
    compared = (others >= 0) & (own >= 0)
    equal = compared & (others == own)
    sums = cluster_sums(np.column_stack([equal.sum(1), compared.sum(1)]), votes.clusters)
    sums = sums[sums[:, 1] > 0]
    if len(sums) < LEAST_PROMPTS:
        return None
    return Number(*cluster_bootstrap(sums, share_of), n=int(sums[:, 1].sum()), spec=".1%")


class StaleTicket(Exception):
    """The page that sent this shows something else than what is to be voted on now."""


@dataclass
class _Annotator:
    """All but the tickets can be made again from the file."""

    ticket: str = ""  # of the present showing, or of the page that says that all is done
    item: str | None = None  # on show; None when all is done
    since: float = 0.0  # clock at the first showing
    skipped: dict[str, int] = field(default_factory=dict)  # item to the number of the skip: the first comes back first
    spent: dict[str, tuple[str, str]] = field(default_factory=dict)  # ticket to item and choice, while the vote stands
    n_compared: int = 0  # own votes at the last estimate of the agreement
    agreement: Number | None = None

    def show(self, item: str | None) -> None:
        self.ticket, self.item, self.since = secrets.token_urlsafe(9), item, time.monotonic()

    def present(self, ticket: str) -> str:
        """The item on show, if the ticket is the present one."""
        if ticket in self.spent:
            raise StaleTicket("You voted on this pair already, perhaps in another tab. U takes that vote back.")
        if not self.ticket or ticket != self.ticket or self.item is None:
            raise StaleTicket("This tab shows an older pair than the one that is to be voted on. Nothing was stored.")
        return self.item


class Session:
    """Pairs to label, annotators, and the file of their votes, which is continued.

    Labels, votes, models and sets of the pairs are shown to nobody. ``order``: "random" or "file", or a function of
    `Votes` on all pairs that returns item ids, best first (those that it leaves out come last), asked again every
    `REFRESH` votes. ``seed``: of sides and of the random order. ValueError for what cannot be labelled, also if the
    file holds votes on other texts under these ids; VoteFileBusy and PairFileError as `VoteFile`.
    """

    def __init__(
        self,
        pairs: Iterable[PreferencePair],
        path: str | Path,
        annotators: str | Iterable[str],
        order: str | Callable[[Votes], Iterable[str]] = "random",
        seed: int = 0,
    ) -> None:
        self.pairs: dict[str, PreferencePair] = {pair.item_id: pair for pair in unique_items(pairs)}
        if not self.pairs:
            raise ValueError("there are no pairs to label")
        names = [annotators] if isinstance(annotators, str) else list(annotators)
        if not names:
            raise ValueError("there is no annotator")
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"annotator {twice!r:.80} is named twice: each needs a name of their own")
        self.annotators = {checked_annotator(name): _Annotator() for name in names}
        if order not in ("random", "file") and not callable(order):
            raise ValueError(f"order {order!r}: use random, file or a function of votes")
        self.clusters = {item: pair.cluster for item, pair in self.pairs.items()}
        self._order, self._seed = order, seed
        self._ranking: list[str] = []  # item ids as the order's function gave them
        self._ranked_at = -REFRESH  # lines of the file at that time
        self._trouble: str | None = None
        self._lock, self.file = threading.RLock(), VoteFile(path)
        try:
            check_texts(self._standing(), self.pairs, self.file.path)
        except ValueError:
            self.file.close()
            raise

    def now(self, annotator: str) -> dict[str, Any]:
        """``ticket``, ``pair`` (sides as they are shown; None when all is done), ``progress``, ``agreement`` (`Number`
        or None) and ``trouble`` (a sentence or None) of an annotator; KeyError if there is none of this name."""
        with self._lock:
            state, votes = self.annotators[annotator], self._votes_by(annotator)
            if not state.ticket:
                waiting = [item for item in self._items(annotator) if item not in votes]
                state.show(min(waiting, key=lambda item: state.skipped.get(item, 0), default=None))
            pair = None if state.item is None else self.pairs[state.item]
            if pair is not None and shown_order(self._seed, annotator, pair.item_id) == "ba":
                pair = pair.swapped()
            if len(votes) // AGREEMENT_STEP > state.n_compared // AGREEMENT_STEP:
                state.n_compared = len(votes)
                state.agreement = agreement_with_others(self._votes_on_pairs(), annotator)
            progress = {"done": len(votes), "of": len(self.pairs), "skipped": len(state.skipped)}
            return {
                "ticket": state.ticket,
                "pair": pair,
                "progress": progress | _pace(votes.values(), len(self.pairs) - len(votes)),
                "agreement": state.agreement,
                "trouble": self._trouble,
            }

    def _items(self, annotator: str) -> list[str]:
        if self._order == "random":
            return sorted(self.pairs, key=lambda item: drawn(self._seed, "items", annotator, item))
        if not callable(self._order):
            return list(self.pairs)
        n_lines = len(self.file.lines)
        if n_lines - self._ranked_at >= REFRESH:
            self._ranked_at, self._trouble = n_lines, None
            try:
                ranking = list(self._order(self._votes_on_pairs()))
                positions(ranking, self.pairs, "pair")
                self._ranking = ranking
            except Exception as error:  # a user's function may fail in any way, and labelling must go on
                reason = f"{type(error).__name__}: {error}"[:LONGEST_REASON]
                self._trouble = f"The order could not be computed ({reason}); the last one is kept."
        return list(dict.fromkeys([*self._ranking, *self.pairs]))

    def votes(self) -> Votes:
        """The votes that stand, also on items that are not shown here."""
        with self._lock:
            return votes_of(self.file.lines, self.clusters)

    def _standing(self) -> dict[tuple[str, str], Vote]:
        return {key: vote for key, vote in standing(self.file.lines).items() if key[0] in self.pairs}

    def _votes_by(self, annotator: str) -> dict[str, Vote]:
        return {item: vote for (item, who), vote in self._standing().items() if who == annotator}

    def _votes_on_pairs(self) -> Votes:
        """The votes on all pairs, those without a vote included, in the order of the pairs."""
        given = votes_of(self._standing().values(), self.clusters)
        codes = np.full((len(self.pairs), len(given.annotators)), NO_VOTE)
        codes[positions(given.items, self.pairs, "item")] = given.codes
        return replace(given, items=tuple(self.pairs), codes=codes, clusters=tuple(self.clusters.values()))

    def vote(self, annotator: str, ticket: str, choice: str, comment: str = "") -> bool:
        """Put a vote (one of `CHOICES`) on disk; whether it is new, for one that is sent again is filed once.

        Nothing is filed where it raises: StaleTicket, ValueError for another choice, OSError if it was not written.
        """
        if choice not in CHOICES:
            raise ValueError(f"choice {choice!r:.40}: use {', '.join(CHOICES)}")
        with self._lock:
            state = self.annotators[annotator]
            if ticket in state.spent and state.spent[ticket][1] == choice:
                return False
            item = state.present(ticket)
            shown = shown_order(self._seed, annotator, item)
            label = SWAPPED[CHOICES[choice]] if shown == "ba" else CHOICES[choice]
            seconds = round(time.monotonic() - state.since, 1)
            self._append(annotator, item, label, shown, seconds, choice == "both_bad", comment)
            state.spent[ticket] = item, choice
            state.skipped.pop(item, None)
            state.ticket = ""
            return True

    def skip(self, annotator: str, ticket: str) -> None:
        """Put the present pair off until all others are done; errors as for `vote`."""
        with self._lock:
            state = self.annotators[annotator]
            state.skipped[state.present(ticket)] = max(state.skipped.values(), default=0) + 1
            state.ticket = ""

    def undo(self, annotator: str, ticket: str) -> bool:
        """Take back this annotator's latest vote, if any, and show its pair again; whether there was one."""
        with self._lock:
            state = self.annotators[annotator]
            if not state.ticket or ticket != state.ticket:
                raise StaleTicket("This tab shows an older page. Nothing was taken back.")
            votes = self._votes_by(annotator)
            if not votes:
                return False
            item = next(reversed(votes))
            self._append(annotator, item, None, votes[item].shown, None)
            state.spent = {ticket: vote for ticket, vote in state.spent.items() if vote[0] != item}
            state.show(item)
            return True

    def _append(self, annotator: str, item: str, label: Any, shown: Any, seconds: float | None, *more: Any) -> None:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        self.file.append(Vote(item, annotator, label, shown, seconds, at, _texts_hash(self.pairs[item]), *more))

    def close(self) -> None:
        with self._lock:
            self.file.close()


def _pace(votes: Iterable[Vote], left: int) -> dict[str, float | None]:
    """Seconds per vote, and minutes left at that pace; None before there is one."""
    seconds = [vote.seconds for vote in votes if vote.seconds is not None][-PACE_VOTES:]
    if len(seconds) < 3:
        return {"pace": None, "minutes_left": None}
    pace = statistics.median(seconds)
    return {"pace": round(pace, 1), "minutes_left": round(pace * left / 60, 1)}


def check_texts(votes: Mapping[tuple[str, str], Vote], pairs: Mapping[str, PreferencePair], path: Path) -> None:
    """PairFileError where a vote, by item and annotator, is on other texts: line numbers, as ids, move with lines."""
    for (item, annotator), vote in votes.items():
        if vote.pair not in (None, _texts_hash(pairs[item])):
            advice = "give the pairs ids that stay, or name another file of votes"
            raise PairFileError(f"{path}: {annotator} voted on {item!r:.80} when it had other texts: {advice}")


def _texts_hash(pair: PreferencePair) -> str:
    """A short hash of what is shown of a pair."""
    turns = [[turn.question, turn.response_a, turn.response_b] for turn in pair.turns]
    return fingerprint_of(turns, pair.question, pair.response_a, pair.response_b)[:16]
