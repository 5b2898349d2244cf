"""A strategy: the calls that lead to a verdict, read from its file, rendered for a pair."""

import re
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from judgekit.prompts.demonstrations import Demonstration
from judgekit.prompts.files import PromptError, Sections, fill, placeholders, read_strategy, template_names, template_of
from judgekit.prompts.texts import Prompt, cut_middle, fit, marks_pattern, message_characters, neutralised
from judgekit.records import fingerprint_of

POLICIES = ("permissive", "strict")
SHOWN = {
    "pair": {"question", "answer_a", "answer_b", "answer_ref"},
    "single": {"question", "answer"},
    "question": {"question"},
}
_OPINIONS = {"given", "exchanged"}  # what a synthesis is shown
_SIDES = "the side of Output (a) | the side of Output (b)"  # names of the two sides, where a file gives none
_VALUES = {  # of the fields of a file's head
    "kind": ("pair", "single"),
    "flow": ("plain", "swap"),
    "reads": ("all", "first line"),
    "closed": ("yes", "no"),
    "needs": ("reference",),
    "demonstrations": ("yes", "no"),
}
_FIELDS = (*_VALUES, "format", "names", "source")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a strategy."""

    name: str  # ``verdict``, or a name under which later calls show its completion
    view: str  # what it sees: a ``pair``, a ``single`` response, or the ``question`` alone
    system: str  # templates, the verdict's wording already in place
    user: str


@dataclass(frozen=True)
class Strategy:
    """A way of prompting, ready to be rendered."""

    name: str
    kind: str  # ``pair`` or ``single`` (each response is rated alone)
    format: str  # the parser of its replies
    calls: tuple[Call, ...]
    turn_templates: dict[str, str]  # how an earlier turn is shown, by view; and ``note``, which says so to the judge
    said: dict[str, str]  # the reply that says ``first``, ``second``, ``tie``
    closed: bool  # the reply is the verdict and nothing else
    flow: str = "plain"  # or ``swap`` (both orders are judged, then synthesised)
    reads: str = "all"  # the part of the completion that holds the verdict; or ``first line``
    needs_reference: bool = False
    policy: str = "permissive"  # (a tie may be said) or ``strict``
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
        if self.name.endswith(".txt"):  # a file of one's own, which is the same one however its path is written
            parts = [Path(self.name).name, *parts[1:], self.closed]
        return fingerprint_of(*parts)[:16]

    @cached_property
    def marks(self) -> re.Pattern[str]:
        """Expression for what a shown text must not contain as it stands."""
        templates = [call.user for call in self.calls] + list(self.turn_templates.values())
        return marks_pattern(templates, self.format)

    def render(
        self,
        name: str,
        shown: Any,
        side: str | None = None,
        earlier: Mapping[str, str] | None = None,
        limit: int | None = None,
        measure: Callable[[Any], int] = message_characters,
    ) -> Prompt:
        """The messages of the call ``name`` (usually ``"verdict"``) for one pair.

        ``shown``: a `judgekit.judges.Request`, or anything with ``question, first, second, reference, turns``.
        ``side``: the response that is rated, for calls that see one. ``earlier``: completions of earlier calls.
        ``limit``: largest size of the messages by ``measure``; longer ones lose the middle of their longest response.
        PromptError where the reference is missing or a demonstration has the pair's question; PromptTooLong.
        """
        if self.needs_reference and shown.reference is None:
            raise PromptError(f"strategy {self.name!r} needs a reference, and the pair has none")
        if any(shown.question.strip() == d.question.strip() for d in self.demonstrations):
            raise PromptError("a demonstration has the question that is to be judged")
        call = next(call for call in self.calls if call.name == name)
        fixed, responses = self._values(call, shown, side, earlier)
        note = [self.turn_templates["note"]] if shown.turns else []
        before = [{"role": "system", "content": "\n\n".join([call.system, *note])}]
        for example in self.demonstrations if call.view == "pair" else ():  # as exchanges of the chat
            before.append({"role": "user", "content": fill(call.user, dict(ChainMap(*self._values(call, example))))})
            before.append({"role": "assistant", "content": self.said[example.verdict]})
        turn = self.turn_templates[call.view]
        turns = [re.sub(r"\{(\w+)\}", rf"{{\1.{number}}}", turn) for number in range(len(shown.turns))]
        template = "\n\n".join([*turns, call.user])

        def cut_to(keep: int) -> Prompt:
            cut = {place: cut_middle(text, keep) for place, text in responses.items()}
            user = fill(template, {**fixed, **{place: text for place, (text, _) in cut.items()}})
            return Prompt((*before, {"role": "user", "content": user}), sum(dropped for _, dropped in cut.values()))

        return fit(cut_to, max(map(len, responses.values()), default=0), limit, measure)

    def _values(
        self, call: Call, shown: Any, side: str | None = None, earlier: Mapping[str, str] | None = None
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Placeholders and what stands for them, made harmless: fixed texts, and responses that may be cut."""
        fixed = {"question": shown.question, "answer_ref": shown.reference or "", **(earlier or {})}
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


def strategy_names() -> list[str]:
    """Names of all strategies."""
    return template_names("strategies")


def load_strategy(name: str, policy: str = "permissive", demonstrations: Sequence[Demonstration] = ()) -> Strategy:
    """A strategy from its file: one of `strategy_names`, or the path of a file of one's own (``prompts/mine.txt``).

    ``policy``: whether a tie may be said. PromptError if there is no such strategy or policy, demonstrations are
    missing or not wanted, or the file has a fault.

    >>> load_strategy("pairwise").format, load_strategy("single").kind
    ('brackets', 'single')
    """
    head, sections = read_strategy(name)
    _check_head(name, head)
    if policy not in POLICIES:
        raise PromptError(f"policy {policy!r} is not one of {', '.join(POLICIES)}")
    if (head.get("demonstrations") == "yes") != bool(demonstrations):
        wanted = "shows no demonstrations" if demonstrations else "needs demonstrations"
        raise PromptError(f"strategy {name!r} {wanted}")
    wording = dict(template_of(f"verdicts/{head['format']}.txt")[1])
    return Strategy(
        name,
        head["kind"],
        head["format"],
        tuple(_calls(name, head, sections, wording, policy)),
        turn_templates(head.get("names", _SIDES)),
        said={verdict: wording.get(verdict, "") for verdict in ("first", "second", "tie")},
        closed=head.get("closed") == "yes",
        flow=head.get("flow", "plain"),
        reads=head.get("reads", "all"),
        needs_reference="needs" in head,
        policy=policy,
        demonstrations=tuple(demonstrations),
    )


def turn_templates(names: str = _SIDES) -> dict[str, str]:
    """How earlier turns are shown, with the two sides named as in the strategy."""
    name_a, name_b = names.split(" | ")
    sections = dict(template_of("turns.txt")[1])
    return {view: text.replace("{name_a}", name_a).replace("{name_b}", name_b) for view, text in sections.items()}


def _check_head(file: str, head: Mapping[str, str]) -> None:
    """PromptError for a field or a value that is none."""
    if unknown := sorted(set(head) - set(_FIELDS)):
        raise PromptError(f"{file}: no field is called {unknown[0]!r}; there are {', '.join(_FIELDS)}")
    for name, values in {**_VALUES, "format": template_names("verdicts")}.items():
        if name not in head and name in ("kind", "format"):
            raise PromptError(f"{file}: field {name!r} is missing; it is one of {', '.join(values)}")
        if name in head and head[name] not in values:
            raise PromptError(f"{file}: {name} is {head[name]!r}; there are {', '.join(values)}")
    if "names" in head and head["names"].count(" | ") != 1:
        raise PromptError(f"{file}: names is {head['names']!r}; write both sides, as in 'Assistant A | Assistant B'")


def _calls(file: str, head: dict[str, str], sections: Sections, wording: dict[str, str], policy: str) -> list[Call]:
    """Calls of a file (``@@ call NAME VIEW``, ``@@ system``, ``@@ user``), with the verdict's wording by the policy."""
    calls: list[Call] = []
    for (title, _), *parts in (sections[start : start + 3] for start in range(0, len(sections), 3)):
        words = title.split()
        if len(words) != 3 or words[0] != "call" or words[2] not in SHOWN:
            raise PromptError(f"{file}: '@@ {title}' is no call; write '@@ call verdict pair' (single, question)")
        if [part for part, _ in parts] != ["system", "user"]:
            raise PromptError(f"{file}: after '@@ {title}' come '@@ system' and '@@ user'")
        _, name, view = words
        (_, system), (_, user) = parts
        if "{verdict_choice}" in system and policy in wording:
            system = system.replace("{verdict_choice}", wording[policy])
        elif name in ("verdict", "synthesis") and policy == "strict" and wording["no tie"]:
            # The wording of the assignment stays as it is; what it does not say comes after it.
            system = f"{system}\n\n{wording['no tie']}"
        known = SHOWN[view] | {call.name for call in calls} | (_OPINIONS if name == "synthesis" else set())
        if unknown := sorted(placeholders(user) - known):
            raise PromptError(f"{file}, call {name!r}: nothing fills {', '.join(unknown)}")
        if data := sorted(placeholders(system)):
            raise PromptError(f"{file}, call {name!r}: a system message shows no data, and it has {{{data[0]}}}")
        calls.append(Call(name, view, system, user))
    kind, first = head["kind"], {(call.name, call.view): call for call in reversed(calls)}
    if (verdict := first.get(("verdict", kind))) is None:
        raise PromptError(f"{file}: there is no '@@ call verdict {kind}', and kind is {kind!r}")
    if calls[-1].name not in ("verdict", "with_reference", "synthesis"):
        raise PromptError(f"{file}: '@@ call {calls[-1].name}' is the last, whose reply would be read as the verdict")
    if head.get("flow") == "swap" and ("synthesis", "pair") not in first:
        raise PromptError(f"{file}: there is no '@@ call synthesis pair', and flow is 'swap'")
    if (kind == "single") != (head["format"] == "rating"):
        raise PromptError(f"{file}: kind is {kind!r} and format {head['format']!r}; 'single' goes with 'rating' alone")
    if missing := sorted(SHOWN[kind] - {"question", "answer_ref"} - placeholders(verdict.user)):
        raise PromptError(f"{file}: '@@ user' of the verdict does not show {{{missing[0]}}}")
    if "needs" not in head and any("answer_ref" in placeholders(call.user) for call in calls):
        raise PromptError(f"{file}: {{answer_ref}} is empty without 'needs: reference' in the head")
    return calls
