"""From the messages of a chat to token ids, in which no text of a data set is a special token."""

import re
from itertools import pairwise

HELD = "\ue000{}\ue001"  # stands for a message's text while the template is rendered
HELD_PLACE = re.compile("\ue000(\\d+)\ue001")
SPEAKERS = {"system": "System", "user": "User", "assistant": "Assistant"}
# Some templates write today's date into the prompt; a judge must not depend on the day it is asked.
FIXED = {"date_string": "26 Jul 2024"}


class ChatTokenizer:
    """A model's tokenizer with its chat template.

    Parameters
    ----------
    tokenizer : transformers.PreTrainedTokenizerBase
    thinking : bool
        Whether a model that can think before it replies is asked to.

    Attributes
    ----------
    templated : bool
        Whether the model has a chat template. Without one, a prompt reads ``System:``, ``User:``, ``Assistant:``, each
        on a line of its own before the text.

    Notes
    -----
    A template is rendered with stand-ins, and the texts put in their place after it: what a text holds can neither
    steer the template nor end a message. Where a text holds a token of the model's own (``<|im_end|>``), it is
    tokenised up to the first character of it and from the second, so that the characters remain and the token does not
    arise. Everything else is tokenised as a whole, as in training.
    """

    def __init__(self, tokenizer, thinking=False):
        self.tokenizer, self.thinking = tokenizer, thinking
        self.templated = bool(getattr(tokenizer, "chat_template", None))
        tokens = [token for token in tokenizer.added_tokens_encoder if len(token) > 1 and token.strip()]
        self.own = re.compile("|".join(map(re.escape, sorted(tokens, key=len, reverse=True)))) if tokens else None
        self.starts = [] if self.templated else leading_tokens(tokenizer)
        self.last, self.frames = (None, None), {}

    def ids(self, messages):
        """Token ids of a prompt, up to where the model's reply begins.

        Parameters
        ----------
        messages : sequence of dict
            ``role`` and ``content``.

        Returns
        -------
        list of int
        """
        if self.last[0] != messages:  # a prompt is measured, and then sent
            text, spans = self.rendered(messages)
            pieces = cut_at(text, self.cuts(text, spans))
            ids = [token for piece in pieces for token in self.plain_ids(piece)]
            self.last = (messages, self.starts + ids)
        return self.last[1]

    def size(self, messages):
        """Tokens of a prompt."""
        return len(self.ids(messages))

    def plain_ids(self, text):
        """Token ids of a text and nothing around it."""
        return self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]

    def rendered(self, messages):
        """The prompt as text, and where in it the messages' texts stand: list of (start, end)."""
        roles = tuple(message["role"] for message in messages)
        contents = [message["content"] for message in messages]
        if roles not in self.frames:
            self.frames[roles] = self.frame(roles)
        pieces, spans, length = [], [], 0
        for part in self.frames[roles]:
            piece = part if isinstance(part, str) else "\n\n".join(contents[place] for place in part)
            if not isinstance(part, str):
                spans.append((length, length + len(piece)))
            pieces.append(piece)
            length += len(piece)
        return "".join(pieces), spans

    def frame(self, roles):
        """The template for messages of some roles: texts, and tuples of the places of messages that stand there.

        A template that takes no system message gets it as the beginning of the first user message.
        """
        from jinja2 import TemplateError

        if not self.templated:
            said = "".join(f"{SPEAKERS[role]}:\n{HELD.format(n)}\n\n" for n, role in enumerate(roles))
            return frame_of(f"{said}{SPEAKERS['assistant']}:\n", {n: (n,) for n in range(len(roles))})
        places = {n: (n,) for n in range(len(roles))}
        try:
            parts = frame_of(self.template(roles, places), places)
            if {place for part in parts if not isinstance(part, str) for place in part} == set(places):
                return parts
        except TemplateError:
            if "system" not in roles:
                raise
        first = roles.index("user")
        folded = {n: (n,) for n, role in enumerate(roles) if role != "system"}
        folded[first] = (*(n for n, role in enumerate(roles) if role == "system"), first)
        return frame_of(self.template(roles, folded), folded)

    def template(self, roles, places):
        """The chat template around stand-ins."""
        messages = [{"role": roles[n], "content": HELD.format(n)} for n in sorted(places)]
        return self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, enable_thinking=self.thinking, **FIXED
        )

    def cuts(self, text, spans):
        """Places at which a text is cut so that no token of the model's own remains in the messages' texts."""
        found = []
        for start, end in spans:
            place = start
            while self.own and (match := self.own.search(text, place, end)):
                found.append(match.start() + 1)
                place = match.start() + 1
        return found

    def reply_tokens(self, text):
        """Token ids of a reply, and where each ends in the text (`judgekit.models.one_pass.plan_of`)."""
        if not self.tokenizer.is_fast:
            raise ValueError("the tokenizer does not say where its tokens stand: mode=one_pass needs a fast one")
        coded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        return coded["input_ids"], [end for _, end in coded["offset_mapping"]]

    def text(self, ids):
        """What token ids say, without special tokens."""
        return self.tokenizer.decode(ids, skip_special_tokens=True)


def frame_of(rendered, places):
    """A rendered template as texts and, where stand-ins were, the places of the messages."""
    pieces = HELD_PLACE.split(rendered)
    return tuple(places[int(piece)] if n % 2 else piece for n, piece in enumerate(pieces))


def cut_at(text, cuts):
    """The pieces of a text between cuts; none is empty."""
    edges = [0, *sorted(set(cuts)), len(text)]
    return [text[a:b] for a, b in pairwise(edges) if a < b]


def leading_tokens(tokenizer):
    """The token that the tokenizer puts before every text, if it does."""
    framed, plain = tokenizer("a")["input_ids"], tokenizer("a", add_special_tokens=False)["input_ids"]
    return framed[:1] if framed[:1] != plain[:1] and framed[:1] == [tokenizer.bos_token_id] else []
