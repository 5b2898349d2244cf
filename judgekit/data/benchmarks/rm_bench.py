"""RM-Bench: prompts with three right and three wrong responses, each in three styles from plain to rich.

The files of the chat, code and safety domains; that of mathematics is not in the mirror.
"""

from judgekit.data.sources import heads, read_rows, text_key
from judgekit.records import PreferencePair

# Domain -> its file. The set's authors average the two parts of safety before they average domains.
DOMAINS = {
    "chat": "rm_bench/chat_filtered.json",
    "code": "rm_bench/code_filtered.json",
    "safety_refuse": "rm_bench/safety-refuse_filtered.json",
    "safety_response": "rm_bench/safety-response_filtered.json",
}
FILES = tuple(DOMAINS.values())
STYLES = ("concise", "detailed", "markdown")
DIFFICULTIES = ("easy", "normal", "hard")


def load():
    """The pairs of all files, nine for each prompt, and a report."""
    pairs = []
    for domain, file in DOMAINS.items():
        pairs += [pair for row in read_rows(file) for pair in pairs_from_row(row, domain)]
    return pairs, {"prompts": len({pair.cluster_id for pair in pairs})}


def difficulty(chosen, rejected):
    """What style does to a pair, by the places of the two styles in `STYLES`.

    Returns
    -------
    {"easy", "normal", "hard"}
        Easy: the right response is the richer one in style; hard: the wrong one is.

    Notes
    -----
    Liu et al. (2025), arXiv:2410.16184, Section 3: the halves of the matrix of right by wrong responses, and its
    diagonal.
    """
    return "normal" if chosen == rejected else "easy" if chosen > rejected else "hard"


def pairs_from_row(row, domain):
    """The nine pairs of a prompt; ids are ``<domain>-<row>/<style of the right one>-<style of the wrong one>``.

    The subset is ``<domain>/<difficulty>``. The file names the right responses, so a coin that is a hash of the
    item's id says whether the right one is A.

    Raises
    ------
    DataError
        If a field is missing, of another type, or there are not three responses on either side.
    """
    right, wrong = (row.texts(field, n=len(STYLES)) for field in ("chosen", "rejected"))
    prompt, pairs = row.text("prompt"), []
    for i, chosen in enumerate(right):
        for j, rejected in enumerate(wrong):
            pair = PreferencePair(
                item_id=f"{domain}-{row.number}/{STYLES[i]}-{STYLES[j]}",
                benchmark="rm_bench",
                question=prompt,
                response_a=chosen,
                response_b=rejected,
                subset=f"{domain}/{difficulty(i, j)}",
                cluster_id=text_key(prompt),
                label="A",
                label_kind="objective",
                source=row.where,
            )
            pairs.append(pair if heads(f"rm_bench:{pair.item_id}") else pair.swapped())
    return pairs
