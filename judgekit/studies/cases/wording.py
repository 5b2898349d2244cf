"""Why a case came out as it did, in sentences that are made from computed facts alone."""

from collections.abc import Iterable
from typing import Any

from judgekit.records import SWAPPED
from judgekit.studies.cases.case import Case

PLURAL_LIMIT = 8  # judges that a sentence names before it counts the rest


def names_of(judges: Iterable[str]) -> str:
    """Judges by name, or nobody.

    >>> names_of(["gpt_4", "minilm"]), names_of([])
    ('gpt_4 and minilm', 'nobody')
    """
    judges = list(judges)
    if len(judges) > PLURAL_LIMIT:
        judges = [*judges[:PLURAL_LIMIT], f"{len(judges) - PLURAL_LIMIT} more"]
    if len(judges) < 2:
        return judges[0] if judges else "nobody"
    return f"{', '.join(judges[:-1])} and {judges[-1]}"


def counted(n: int, what: str = "word") -> str:
    """A number of things.

    >>> counted(1), counted(2)
    ('1 word', '2 words')
    """
    return f"{n} {what}{'s' * (n != 1)}"


def feature_name(name: str) -> str:
    """A feature as it reads in a sentence.

    >>> feature_name("log_bullets"), feature_name("stop_word_share")
    ('bullets', 'stop word share')
    """
    return name.removeprefix("log_").replace("_", " ")


def of_confident_error(case: Case) -> str:
    """How sure the judge is, and of what."""
    own = case.own
    sure = own.p_a if own.verdict == "A" else own.p_b
    return f"{case.judge} prefers {own.verdict} with probability {sure:.2f}; the label is {case.pair.label}."


def of_flip(case: Case) -> str:
    """Who contradicts itself, and towards which position."""
    first = [one.judge for one in case.said if (one.ab, one.ba) == ("A", "B")]
    second = [one.judge for one in case.said if (one.ab, one.ba) == ("B", "A")]
    parts = [f"{names_of(who)} take{'s' * (len(who) == 1)} the {place} one" for who, place in
             ((first, "first"), (second, "second")) if who]  # fmt: skip
    return f"Whichever response is shown there, {' and '.join(parts)}: the place decides, not the text."


def of_people(case: Case) -> str:
    """What all people say, and who says otherwise."""
    side = next(iter(case.pair.votes.values()))
    return f"All {len(case.pair.votes)} people prefer {side}; {names_of(case.saying(SWAPPED[side]))} the other one."


def of_parties(case: Case) -> str:
    """Who is on which side."""
    return f"A is preferred by {names_of(case.saying('A'))}; B by {names_of(case.saying('B'))}."


def of_attack(case: Any) -> str:
    """What the edit changed, and what that did."""
    worse = SWAPPED[case.pair.label]
    before, after = ((one.p_a if worse == "A" else one.p_b) for one in (case.own, case.after))
    removed, added = case.edit_size
    sentence = (
        f"The edit {case.attack.replace('_', ' ')} removes {removed} and adds {counted(added)} of response {worse}, "
        f"which people prefer less; {case.judge} then prefers it"
    )
    if before is None or after is None:
        return f"{sentence}."
    return f"{sentence}: its probability goes from {before:.2f} to {after:.2f}."


def of_label(case: Case) -> str:
    """How credible the label is."""
    against = [one.judge for one in case.said if one.verdict not in (case.pair.label, None)]
    credible = f"The label {case.pair.label} has credibility {1 - case.strength:.2f} among the judges"
    return f"{credible}; another verdict comes from {names_of(against)}."


OPENINGS = {
    "confident_error": of_confident_error,
    "flip": of_flip,
    "against_people": of_people,
    "judges_apart": of_parties,
    "attack": of_attack,
    "label_error": of_label,
}


def of_length(case: Case) -> str:
    """Which response is longer, and whether the judge prefers it."""
    a, b = case.words
    if a == b:
        return f"Both responses have {counted(a)}."
    longer = "A" if a > b else "B"
    told = case.own.verdict
    follows = f"{case.judge} prefers the {'longer' if told == longer else 'shorter'} one" if told in ("A", "B") else ""
    return f"A has {counted(a)} and B {b}" + (f"; {follows}." if follows else ".")


def of_looks(case: Case) -> str:
    """What surface features pushed the score, and what would have to be left out to turn it."""
    found = case.dissection
    parts = []
    for side in ("A", "B"):
        named = [f"{feature_name(name)} ({push:.2f})" for name, push in found.strongest(side)]
        parts.append(f"for {side} {names_of(named) if named else 'nothing'}")
    best, turning = max(found.looks[:2]), found.turning()
    sentence = f"In the score of {found.judge}, {parts[0]} speak most and {parts[1]}; "
    sentence += f"by looks alone {found.favoured} is ahead with {best:.2f}."
    if turning:
        shown = names_of([feature_name(name) for name in turning[:PLURAL_LIMIT]])
        rest = f" and {len(turning) - PLURAL_LIMIT} more" * (len(turning) > PLURAL_LIMIT)
        return f"{sentence} Without {shown}{rest} it would not be."
    return f"{sentence} No feature speaks for the other response."


def of_gate(case: Any) -> str:
    """What the gate made of it."""
    found = case.dissection
    if found.relevance is None:
        return f"{found.judge} has no gate."
    told = [max(zip(("A", "B", "tie"), row, strict=True), key=lambda one: one[1])[0]
            for row in (found.looks, found.behind_gate)]  # fmt: skip
    turns = "leaves the verdict" if told[0] == told[1] else f"turns {told[0]} into {told[1]}"
    return (
        f"The gate reads log odds of {found.relevance[0]:.1f} that A was meant for the question and of "
        f"{found.relevance[1]:.1f} that B was; it takes one of them to be beside it with probability "
        f"{found.beside:.2f} and {turns} (A from {found.looks[0]:.2f} to {found.behind_gate[0]:.2f})."
    )


def of_agreement(case: Case) -> str:
    """Who agrees with the label."""
    if case.pair.label is None:
        return "There is no label."
    others = [one for one in case.said if one.verdict is not None]
    agree = [one.judge for one in others if one.verdict == case.pair.label]
    return f"{len(agree)} of {len(others)} judges say what the label says ({names_of(agree)})."


def of_edit(case: Any) -> str:
    """Which features the edit moved most in favour of the edited response, and what it did to the gate."""
    worse = SWAPPED[case.pair.label]
    sign = 1 if worse == "A" else -1
    now, before = case.edited_dissection.pushes, case.dissection.pushes
    moved = sorted(((sign * (now[name] - before[name]), name) for name in now), key=lambda one: (-one[0], one[1]))
    named = [f"{feature_name(name)} ({size:+.2f})" for size, name in moved[:3] if size > 0]
    sentence = f"What it moved most in favour of {worse}: {names_of(named) if named else 'nothing in its looks'}."
    then, first = case.edited_dissection.beside, case.dissection.beside
    if then is None:
        return sentence
    return f"{sentence} The gate takes a response to be beside the question with {then:.2f} then, {first:.2f} before."


def reasons(case: Case) -> list[str]:
    """The analysis of a case: sentences, each from computed facts, without any text of a data set."""
    found = [OPENINGS[case.kind](case)]
    found += [of_edit(case)] if case.edited is not None else []
    return [*found, of_length(case), of_looks(case), of_gate(case), of_agreement(case)]
