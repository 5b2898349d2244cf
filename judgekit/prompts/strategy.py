"""A strategy: the calls that lead to a verdict, read from its file, rendered for a pair."""

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cached_property

from judgekit.prompts.files import fill, placeholders, read_sections, template_names, template_text
from judgekit.prompts.fitting import fit
from judgekit.prompts.own import is_own, read_own
from judgekit.prompts.structure import marks_pattern, neutralised

POLICIES = ("permissive", "strict")
SHOWN = {"pair": {"question", "answer_a", "answer_b", "answer_ref"}, "single": {"question", "answer"}}
SHOWN["question"] = {"question"}
OPINIONS = {"given", "exchanged"}  # what a synthesis is shown


class PromptError(ValueError):
    """A strategy cannot be had, or cannot be rendered for this pair."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a strategy.

    Attributes
    ----------
    name : str
        What it yields: ``verdict``, or a name under which later calls show its completion.
    view : {"pair", "single", "question"}
        What it sees of a pair: everything, one response, or the question alone.
    system, user : str
        Templates, the verdict's wording already in place.
    """

    name: str
    view: str
    system: str
    user: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages of one call.

    Attributes
    ----------
    messages : tuple of dict
        ``role`` and ``content``.
    truncated : int
        Characters of responses that were left out to make it fit.
    """

    messages: tuple
    truncated: int = 0

    def size(self):
        """Characters of all messages."""
        return message_characters(self.messages)


def message_characters(messages):
    """Characters of all messages."""
    return sum(len(message["content"]) for message in messages)


@dataclass(frozen=True)
class Strategy:
    """A way of prompting, ready to be rendered.

    Attributes
    ----------
    name, kind, format, flow, reads : str
        ``kind`` is ``pair`` or ``single`` (each response is rated alone), ``format`` the parser of its replies,
        ``flow`` is ``plain`` or ``swap`` (both orders are judged, then synthesised), ``reads`` says which part of
        the completion holds the verdict.
    closed : bool
        The reply is the verdict and nothing else.
    needs_reference : bool
    policy : {"permissive", "strict"}
        Whether a tie may be said.
    calls : tuple of Call
    turn_templates : dict of str to str
        How an earlier turn is shown, by view; and ``note``, which tells the judge.
    said : dict of str to str
        The reply that says ``first``, ``second``, ``tie``.
    demonstrations : tuple of Demonstration
    """

    name: str
    kind: str
    format: str
    flow: str
    reads: str
    closed: bool
    needs_reference: bool
    policy: str
    calls: tuple
    turn_templates: dict
    said: dict
    demonstrations: tuple = ()

    @property
    def labels(self):
        """Verdicts that the policy allows."""
        return ("first", "second") if self.policy == "strict" else ("first", "second", "tie")

    @cached_property
    def version(self):
        """Hash over everything a prompt of this strategy depends on, 16 hexadecimal digits."""
        calls = [[call.name, call.view, call.system, call.user] for call in self.calls]
        shown = [[d.question, d.first, d.second, d.verdict] for d in self.demonstrations]
        parts = [self.name, self.kind, self.format, self.flow, self.reads, self.policy, calls, shown]
        parts += [self.turn_templates, self.said, self.marks.pattern]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    @cached_property
    def marks(self):
        """Expression for what a shown text must not contain as it stands."""
        templates = [call.user for call in self.calls] + list(self.turn_templates.values())
        return marks_pattern(templates, self.format)

    def call(self, name):
        """The call of a name."""
        return next(call for call in self.calls if call.name == name)

    def render(self, name, shown, side=None, earlier=None, limit=None, measure=message_characters):
        """The messages of one call for one pair.

        Parameters
        ----------
        name : str
            Of the call, usually ``"verdict"``.
        shown : judgekit.judges.Request
            Or anything with ``question, first, second, reference, turns``.
        side : {"first", "second"}, optional
            Which response is rated, for calls that see a single one.
        earlier : dict of str to str, optional
            Completions of earlier calls.
        limit : int, optional
            Largest size of the messages by ``measure``; longer ones lose the middle of their longest response.
        measure : callable
            From messages to a size; characters by default.

        Returns
        -------
        Prompt

        Raises
        ------
        PromptError
            If the strategy needs a reference and the pair has none, or a demonstration has the pair's question.
        PromptTooLong
            If the messages cannot be made to fit.
        """
        if self.needs_reference and shown.reference is None:
            raise PromptError(f"strategy {self.name!r} needs a reference, and the pair has none")
        if any(shown.question.strip() == d.question.strip() for d in self.demonstrations):
            raise PromptError("a demonstration has the question that is to be judged")
        call = self.call(name)
        fixed, responses = self.values_of(call, shown, side, earlier or {})
        demonstrations = self.demonstration_messages(call)

        def build(kept):
            return self.messages(call, len(shown.turns), fixed | kept, demonstrations)

        return Prompt(*fit(responses, build, measure, limit))

    def values_of(self, call, shown, side, earlier):
        """Placeholders and what stands for them, made harmless: fixed texts, and responses that may be cut."""
        fixed = {"question": shown.question, "answer_ref": shown.reference or "", **earlier}
        responses = {}
        exchanges = [*shown.turns, (shown.question, shown.first, shown.second)]
        for number, (question, first, second) in enumerate(exchanges):
            suffix = "" if number == len(shown.turns) else f".{number}"
            fixed[f"question{suffix}"] = question
            if call.view == "pair":
                responses |= {f"answer_a{suffix}": first, f"answer_b{suffix}": second}
            elif call.view == "single":
                responses[f"answer{suffix}"] = first if side == "first" else second
        return tuple({key: neutralised(text, self.marks) for key, text in part.items()} for part in (fixed, responses))

    def messages(self, call, n_earlier, values, demonstrations):
        """System message, demonstrations, and the pair after its earlier turns."""
        turn = self.turn_templates[call.view]
        turns = [re.sub(r"\{(\w+)\}", rf"{{\1.{number}}}", turn) for number in range(n_earlier)]
        system = "\n\n".join([call.system, *([self.turn_templates["note"]] if n_earlier else [])])
        user = "\n\n".join([*turns, call.user])
        return (
            {"role": "system", "content": system},
            *demonstrations,
            {"role": "user", "content": fill(user, values)},
        )

    def demonstration_messages(self, call):
        """Demonstrations as exchanges of the chat."""
        messages = []
        for shown in self.demonstrations if call.view == "pair" else ():
            fixed, responses = self.values_of(call, shown, None, {})
            messages += [
                {"role": "user", "content": fill(call.user, fixed | responses)},
                {"role": "assistant", "content": self.said[shown.verdict]},
            ]
        return messages


def strategy_names():
    """Names of all strategies."""
    return template_names("strategies")


def load_strategy(name, policy="permissive", demonstrations=()):
    """A strategy from its file.

    Parameters
    ----------
    name : str
        One of `strategy_names`, or the path of a file of one's own (``prompts/mine.txt``).
    policy : {"permissive", "strict"}
        Whether the judge may say that neither is better.
    demonstrations : sequence of Demonstration
        For the strategy that shows some.

    Raises
    ------
    PromptError
        If there is no such strategy or policy, demonstrations are missing or not wanted, or the file has a fault.

    Examples
    --------
    >>> load_strategy("pairwise").format, load_strategy("single").kind
    ('brackets', 'single')
    """
    head, sections = file_of(name)
    if policy not in POLICIES:
        raise PromptError(f"policy {policy!r} is not one of {', '.join(POLICIES)}")
    wording = dict(read_sections(template_text(f"verdicts/{head['format']}.txt"))[1])
    strategy = Strategy(
        name=name,
        kind=head["kind"],
        format=head["format"],
        flow=head.get("flow", "plain"),
        reads=head.get("reads", "all"),
        closed=head.get("closed") == "yes",
        needs_reference=head.get("needs") == "reference",
        policy=policy,
        calls=calls_of(sections, wording, policy),
        turn_templates=turn_templates(head.get("names", "the side of Output (a) | the side of Output (b)")),
        said={verdict: wording.get(verdict, "") for verdict in ("first", "second", "tie")},
        demonstrations=tuple(demonstrations),
    )
    return checked(strategy, wants_demonstrations=head.get("demonstrations") == "yes")


def file_of(name):
    """Head and sections of a strategy's file, the package's or the user's own."""
    if is_own(name):
        try:
            return read_own(name)
        except ValueError as wrong:
            raise PromptError(str(wrong)) from None
    if name not in strategy_names():
        known = ", ".join(strategy_names())
        raise PromptError(f"no strategy is called {name!r}; there are {known}, and files of one's own (mine.txt)")
    return read_sections(template_text(f"strategies/{name}.txt"))


def turn_templates(names):
    """How earlier turns are shown, with the two sides named as in the strategy."""
    name_a, name_b = names.split(" | ")
    sections = dict(read_sections(template_text("turns.txt"))[1])
    return {view: text.replace("{name_a}", name_a).replace("{name_b}", name_b) for view, text in sections.items()}


def calls_of(sections, wording, policy):
    """Calls of a file, with the wording of the verdict that the policy asks for."""
    calls = []
    for place, (name, _) in enumerate(sections):
        if not name.startswith("call "):
            continue
        _, call, view = name.split()
        system, user = (dict(sections[place + 1 : place + 3])[part] for part in ("system", "user"))
        decides = call in ("verdict", "synthesis")
        if "{verdict_choice}" in system:
            system = system.replace("{verdict_choice}", wording[policy])
        elif decides and policy == "strict" and wording["no tie"]:
            # The wording of the assignment stays as it is; what it does not say comes after it.
            system = f"{system}\n\n{wording['no tie']}"
        calls.append(Call(call, view, system, user))
    return tuple(calls)


def checked(strategy, wants_demonstrations):
    """The strategy, after checking that its file holds together."""
    if wants_demonstrations != bool(strategy.demonstrations):
        wanted = "needs demonstrations" if wants_demonstrations else "shows no demonstrations"
        raise PromptError(f"strategy {strategy.name!r} {wanted}")
    known = set()
    for call in strategy.calls:
        allowed = SHOWN[call.view] | known | (OPINIONS if call.name == "synthesis" else set())
        if unknown := sorted(placeholders(call.user) - allowed):
            raise PromptError(f"strategy {strategy.name!r}, call {call.name!r}: nothing fills {', '.join(unknown)}")
        if placeholders(call.system):
            raise PromptError(f"strategy {strategy.name!r}, call {call.name!r}: a system message shows no data")
        known.add(call.name)
    if not any(call.name == "verdict" for call in strategy.calls):
        raise PromptError(f"strategy {strategy.name!r} has no call that gives a verdict")
    return strategy
