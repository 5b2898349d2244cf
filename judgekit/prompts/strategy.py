"""A strategy: the calls that lead to a verdict, read from its file, rendered for a pair."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from judgekit.prompts.demonstrations import Demonstration
from judgekit.prompts.files import (
    Sections,
    fill,
    placeholders,
    read_own,
    read_sections,
    template_names,
    template_text,
)
from judgekit.prompts.fitting import fit
from judgekit.prompts.structure import marks_pattern, neutralised

POLICIES = ("permissive", "strict")
SHOWN = {"pair": {"question", "answer_a", "answer_b", "answer_ref"}, "single": {"question", "answer"}}
SHOWN["question"] = {"question"}
SIDES = "the side of Output (a) | the side of Output (b)"  # names of the two sides, where a file gives none
OPINIONS = {"given", "exchanged"}  # what a synthesis is shown


class PromptError(ValueError):
    """A strategy cannot be had, or cannot be rendered for this pair."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a strategy."""

    name: str  # ``verdict``, or a name under which later calls show its completion
    view: str  # what it sees: a ``pair``, a ``single`` response, or the ``question`` alone
    system: str  # templates, the verdict's wording already in place
    user: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages (``role`` and ``content``) of one call, and the characters of responses left out to make it fit."""

    messages: tuple[dict[str, str], ...]
    truncated: int = 0

    def size(self) -> int:
        """Characters of all messages."""
        return message_characters(self.messages)


def message_characters(messages: Sequence[Mapping[str, str]]) -> int:
    """Characters of all messages."""
    return sum(len(message["content"]) for message in messages)


@dataclass(frozen=True)
class Strategy:
    """A way of prompting, ready to be rendered."""

    name: str
    kind: str  # ``pair`` or ``single`` (each response is rated alone)
    format: str  # the parser of its replies
    flow: str  # ``plain`` or ``swap`` (both orders are judged, then synthesised)
    reads: str  # the part of the completion that holds the verdict: ``all`` or ``first line``
    closed: bool  # the reply is the verdict and nothing else
    needs_reference: bool
    policy: str  # ``permissive`` (a tie may be said) or ``strict``
    calls: tuple[Call, ...]
    turn_templates: dict[str, str]  # how an earlier turn is shown, by view; and ``note``, which says so to the judge
    said: dict[str, str]  # the reply that says ``first``, ``second``, ``tie``
    demonstrations: tuple[Demonstration, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """Verdicts that the policy allows."""
        return ("first", "second") if self.policy == "strict" else ("first", "second", "tie")

    @cached_property
    def version(self) -> str:
        """Hash over everything a prompt of this strategy depends on, 16 hexadecimal digits."""
        calls = [[call.name, call.view, call.system, call.user] for call in self.calls]
        shown = [[d.question, d.first, d.second, d.verdict] for d in self.demonstrations]
        parts: list[Any] = [self.name, self.kind, self.format, self.flow, self.reads, self.policy, calls, shown]
        parts += [self.turn_templates, self.said, self.marks.pattern]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    @cached_property
    def marks(self) -> re.Pattern[str]:
        """Expression for what a shown text must not contain as it stands."""
        templates = [call.user for call in self.calls] + list(self.turn_templates.values())
        return marks_pattern(templates, self.format)

    def call(self, name: str) -> Call:
        """The call of a name."""
        return next(call for call in self.calls if call.name == name)

    def render(
        self,
        name: str,
        shown: Any,
        side: Literal["first", "second"] | str | None = None,
        earlier: Mapping[str, str] | None = None,
        limit: int | None = None,
        measure: Callable[[Any], int] = message_characters,
    ) -> Prompt:
        """The messages of the call ``name`` (usually ``"verdict"``) for one pair.

        ``shown``: a `judgekit.judges.Request`, or anything with ``question, first, second, reference, turns``.
        ``side``: the response that is rated, for calls that see one. ``earlier``: completions of earlier calls.
        ``limit``: largest size of the messages by ``measure``; longer ones lose the middle of their longest response.

        PromptError if the strategy needs a reference and the pair has none, or a demonstration has the pair's question;
        PromptTooLong if the messages cannot be made to fit.
        """
        if self.needs_reference and shown.reference is None:
            raise PromptError(f"strategy {self.name!r} needs a reference, and the pair has none")
        if any(shown.question.strip() == d.question.strip() for d in self.demonstrations):
            raise PromptError("a demonstration has the question that is to be judged")
        call = self.call(name)
        fixed, responses = self._values(call, shown, side, earlier or {})
        demonstrations = self._demonstration_messages(call)

        def build(cut: Mapping[str, str]) -> tuple[dict[str, str], ...]:
            return self._messages(call, len(shown.turns), {**fixed, **cut}, demonstrations)

        return Prompt(*fit(responses, build, measure, limit))

    def _values(
        self, call: Call, shown: Any, side: str | None, earlier: Mapping[str, str]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Placeholders and what stands for them, made harmless: fixed texts, and responses that may be cut."""
        fixed = {"question": shown.question, "answer_ref": shown.reference or "", **earlier}
        responses: dict[str, str] = {}
        exchanges = [*shown.turns, (shown.question, shown.first, shown.second)]
        for number, (question, first, second) in enumerate(exchanges):
            suffix = "" if number == len(shown.turns) else f".{number}"
            fixed[f"question{suffix}"] = question
            if call.view == "pair":
                responses |= {f"answer_a{suffix}": first, f"answer_b{suffix}": second}
            elif call.view == "single":
                responses[f"answer{suffix}"] = first if side == "first" else second
        harmless = [{key: neutralised(text, self.marks) for key, text in part.items()} for part in (fixed, responses)]
        return harmless[0], harmless[1]

    def _messages(
        self, call: Call, n_earlier: int, values: Mapping[str, str], demonstrations: list[dict[str, str]]
    ) -> tuple[dict[str, str], ...]:
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

    def _demonstration_messages(self, call: Call) -> list[dict[str, str]]:
        """Demonstrations as exchanges of the chat."""
        messages = []
        for shown in self.demonstrations if call.view == "pair" else ():
            fixed, responses = self._values(call, shown, None, {})
            messages += [
                {"role": "user", "content": fill(call.user, fixed | responses)},
                {"role": "assistant", "content": self.said[shown.verdict]},
            ]
        return messages


def strategy_names() -> list[str]:
    """Names of all strategies."""
    return template_names("strategies")


def load_strategy(
    name: str,
    policy: Literal["permissive", "strict"] | str = "permissive",
    demonstrations: Sequence[Demonstration] = (),
) -> Strategy:
    """A strategy from its file: one of `strategy_names`, or the path of a file of one's own (``prompts/mine.txt``).

    ``policy``: whether the judge may say that neither is better (``permissive``). PromptError if there is no such
    strategy or policy, demonstrations are missing or not wanted, or the file has a fault.

    >>> load_strategy("pairwise").format, load_strategy("single").kind
    ('brackets', 'single')
    """
    head, sections = _read_file(name)
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
        calls=_calls(sections, wording, policy),
        turn_templates=turn_templates(head.get("names", SIDES)),
        said={verdict: wording.get(verdict, "") for verdict in ("first", "second", "tie")},
        demonstrations=tuple(demonstrations),
    )
    _check(strategy, wants_demonstrations=head.get("demonstrations") == "yes")
    return strategy


def _read_file(name: str) -> tuple[dict[str, str], Sections]:
    """Head and sections of a strategy's file, the package's or the user's own."""
    if name.endswith(".txt"):
        try:
            return read_own(name)
        except ValueError as wrong:
            raise PromptError(str(wrong)) from None
    if name not in strategy_names():
        known = ", ".join(strategy_names())
        raise PromptError(f"no strategy is called {name!r}; there are {known}, and files of one's own (mine.txt)")
    return read_sections(template_text(f"strategies/{name}.txt"))


def turn_templates(names: str) -> dict[str, str]:
    """How earlier turns are shown, with the two sides named as in the strategy."""
    name_a, name_b = names.split(" | ")
    sections = dict(read_sections(template_text("turns.txt"))[1])
    return {view: text.replace("{name_a}", name_a).replace("{name_b}", name_b) for view, text in sections.items()}


def _calls(sections: Sections, wording: Mapping[str, str], policy: str) -> tuple[Call, ...]:
    """Calls of a file, with the wording of the verdict that the policy asks for."""
    calls = []
    for number, (name, _) in enumerate(sections):
        if not name.startswith("call "):
            continue
        _, call, view = name.split()
        system, user = (dict(sections[number + 1 : number + 3])[part] for part in ("system", "user"))
        decides = call in ("verdict", "synthesis")
        if "{verdict_choice}" in system:
            system = system.replace("{verdict_choice}", wording[policy])
        elif decides and policy == "strict" and wording["no tie"]:
            # The wording of the assignment stays as it is; what it does not say comes after it.
            system = f"{system}\n\n{wording['no tie']}"
        calls.append(Call(call, view, system, user))
    return tuple(calls)


def _check(strategy: Strategy, wants_demonstrations: bool) -> None:
    """PromptError if the strategy's file does not hold together."""
    if wants_demonstrations != bool(strategy.demonstrations):
        wanted = "needs demonstrations" if wants_demonstrations else "shows no demonstrations"
        raise PromptError(f"strategy {strategy.name!r} {wanted}")
    known: set[str] = set()
    for call in strategy.calls:
        allowed = SHOWN[call.view] | known | (OPINIONS if call.name == "synthesis" else set())
        if unknown := sorted(placeholders(call.user) - allowed):
            raise PromptError(f"strategy {strategy.name!r}, call {call.name!r}: nothing fills {', '.join(unknown)}")
        if placeholders(call.system):
            raise PromptError(f"strategy {strategy.name!r}, call {call.name!r}: a system message shows no data")
        known.add(call.name)
    if not any(call.name == "verdict" for call in strategy.calls):
        raise PromptError(f"strategy {strategy.name!r} has no call that gives a verdict")
