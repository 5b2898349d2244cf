"""LLMBar: 100 natural pairs and four adversarial sets; exactly one response of a pair follows the instruction."""

from judgekit.data.sources import read_rows, text_key
from judgekit.records import PreferencePair

LABEL_CODES = {code: label for number, label in ((1, "A"), (2, "B")) for code in (number, str(number))}
FILES = {
    "natural": "llmbar/LLMBar/Natural/dataset.json",
    "neighbor": "llmbar/LLMBar/Adversarial/Neighbor/dataset.json",
    "gptinst": "llmbar/LLMBar/Adversarial/GPTInst/dataset.json",
    "gptout": "llmbar/LLMBar/Adversarial/GPTOut/dataset.json",
    "manual": "llmbar/LLMBar/Adversarial/Manual/dataset.json",
}
# Benchmark name -> its subsets and their files.
SETS = {f"llmbar_{subset}": {subset: file} for subset, file in FILES.items()}
SETS["llmbar_adversarial"] = {subset: file for subset, file in FILES.items() if subset != "natural"}


def load(benchmark):
    """The pairs of one of `SETS`, subset after subset in the files' order, and a report."""
    pairs = []
    for subset, file in SETS[benchmark].items():
        pairs += pairs_from_rows(read_rows(file), benchmark, subset)
    return pairs, {}


def pairs_from_rows(rows, benchmark, subset):
    """Pairs of the rows of one ``dataset.json``.

    Item ids are ``<subset>-<row>``, so an item has one id in its own set and in the union of the adversarial sets.

    Raises
    ------
    DataError
        If a field is missing or of another type, or a label is not 1 or 2.
    """
    return [
        PreferencePair(
            item_id=f"{subset}-{row.number}",
            benchmark=benchmark,
            question=row.text("input"),
            response_a=row.text("output_1"),
            response_b=row.text("output_2"),
            subset=subset,
            cluster_id=text_key(row.text("input")),
            label=row.code("label", LABEL_CODES),
            label_kind="human",
            source=row.where,
        )
        for row in rows
    ]
