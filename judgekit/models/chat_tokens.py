"""From the messages of a chat to token ids, in which no text of a data set is a special token."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from judgekit.models import Unavailable

_STAND_IN = "\ue000{}\ue001"  # stands for a message's text while the template is rendered
_STAND_INS = re.compile("\ue000(\\d+)\ue001")
_CUT = "\ud800"  # a lone surrogate: in texts they become question marks, since no tokenizer takes them
_SPEAKERS = {"system": "System", "user": "User", "assistant": "Assistant"}
# Some templates write today's date into the prompt; a judge must not depend on the day it is asked.
_FIXED = {"date_string": "26 Jul 2024"}
_TODAY = re.compile(r"strftime_now\([^()]*\)")

Messages = Sequence[Mapping[str, str]]
Frame = list[str | tuple[int, ...]]  # texts, and between them the numbers of the messages that stand there


class ChatTokenizer:
    """A model's tokenizer with its chat template.

    ``thinking``: a model that can think before it replies is asked to. ``opened``: a prompt ends where a reply begins;
    otherwise it is a whole chat, whose last message may be the reply.

    A template is rendered with stand-ins, and the texts put in their place after it: what a text holds can neither
    steer the template nor end a message. A token of the model's own (``<|im_end|>``) in a text is cut after its first
    character, so the token does not arise. Everything else is tokenised as a whole, as in training. Without a template
    (``templated`` is False), a prompt reads ``System:``, ``User:``, ``Assistant:``, each on a line before the text.
    """

    def __init__(self, tokenizer: Any, thinking: bool = False, opened: bool = True) -> None:
        self.tokenizer, self.thinking, self.opened = tokenizer, thinking, opened
        self.templated = bool(getattr(tokenizer, "chat_template", None))
        tokens = [token for token in tokenizer.added_tokens_encoder if len(token) > 1 and token.strip()]
        starts = "|".join(map(re.escape, tokens)) or "(?!)"  # without any, what matches nothing
        self._first = re.compile(f"(?={starts})(.)", re.DOTALL)  # the first character of one of the model's own
        self._starts: list[int] = []
        if not self.templated:  # the token that the tokenizer puts before every text, if it does
            framed, plain = tokenizer("a")["input_ids"], self.plain_ids("a")
            self._starts = framed[:1] if framed[:1] != plain[:1] and framed[:1] == [tokenizer.bos_token_id] else []
        self._frame_of = cache(self._frame)

    def ids(self, messages: Messages) -> list[int]:
        """Token ids of a prompt, up to where the model's reply begins (``opened``), or of a chat."""
        return self._starts + self.plain_ids(self.rendered(messages))

    def scored_ids(self, chat: Messages, limit: int | None) -> tuple[tuple[int, ...], bool]:
        """Token ids of a chat for a reward model, cut at its end where it is longer than ``limit``, and whether it was.

        ``opened``: the last message continues a prompt, and the token that ends a reply follows it.
        """
        ids, end = self.ids(chat[:-1] if self.opened else chat), []
        if self.opened:
            ids += self.plain_ids(self._marked(chat[-1]["content"]))
            end = [self.tokenizer.eos_token_id]
        room = len(ids) if limit is None else limit - len(end)
        return (*ids[:room], *end), len(ids) > room

    def size(self, messages: Messages) -> int:
        """Tokens of a prompt."""
        return len(self.ids(messages))

    def plain_ids(self, text: str) -> list[int]:
        """Token ids of a text and nothing around it, piece by piece where it is marked to be cut."""
        pieces = [self.tokenizer(each, add_special_tokens=False, verbose=False) for each in text.split(_CUT)]
        return [token for piece in pieces for token in piece["input_ids"]]

    def _marked(self, text: str) -> str:
        """A text of a data set with a mark where a token of the model's own in it is cut."""
        return self._first.sub(rf"\1{_CUT}", text.encode("utf-8", "replace").decode("utf-8"))

    def rendered(self, messages: Messages) -> str:
        """The prompt as text, with a mark where a token of the model's own in a message is cut."""
        text = ""
        for part in self._frame_of(tuple(message["role"] for message in messages)):
            if isinstance(part, str):
                text += part
            else:
                text += self._marked("\n\n".join(messages[number]["content"] for number in part))
        return text

    def _frame(self, roles: tuple[str, ...]) -> Frame:
        """The template for messages of some roles; one that takes no system message gets it with the first user's."""
        from jinja2 import TemplateError

        alone: dict[int, tuple[int, ...]] = {n: (n,) for n in range(len(roles))}
        try:
            frame = self._rendered_frame(roles, alone)
            if set(alone.values()) <= set(frame):
                return frame
        except TemplateError:
            if "system" not in roles:
                raise
        systems = [n for n, role in enumerate(roles) if role == "system"]
        first = roles.index("user")
        joined = {n: (*systems, n) if n == first else (n,) for n in alone if n not in systems}
        return self._rendered_frame(roles, joined)

    def _rendered_frame(self, roles: tuple[str, ...], shown: Mapping[int, tuple[int, ...]]) -> Frame:
        """The template with some messages, as texts and the numbers of what stands at each."""
        messages = [{"role": roles[n], "content": _STAND_IN.format(n)} for n in shown]
        if self.templated:
            options = {"add_generation_prompt": self.opened, "enable_thinking": self.thinking, **_FIXED}
            options["chat_template"] = _TODAY.sub("date_string", self.tokenizer.get_chat_template())
            text = self.tokenizer.apply_chat_template(messages, tokenize=False, **options)
        else:
            text = "".join(f"{_SPEAKERS[m['role']]}:\n{m['content']}\n\n" for m in messages)
            text = text + "Assistant:\n" if self.opened else text.removesuffix("\n\n")
        return [shown[int(piece)] if n % 2 else piece for n, piece in enumerate(_STAND_INS.split(text))]

    def reply_tokens(self, text: str) -> tuple[list[int], list[int]]:
        """Token ids of a reply, and where each ends in the text (`judgekit.models.causal.plan_of`)."""
        if not self.tokenizer.is_fast:
            raise Unavailable("the tokenizer does not say where its tokens stand: mode=one_pass needs a fast one")
        coded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        return coded["input_ids"], [end for _, end in coded["offset_mapping"]]
