"""What verdicts say of a judge: counted row by row as `judgekit judge` goes, or scored from a file of them."""

from array import array
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from pydantic import BaseModel, BeforeValidator

from judgekit.cli.files import check_out, written
from judgekit.cli.keeping import LISTED, Out
from judgekit.cli.messages import BAD_INPUT, DONE, Stop, tell
from judgekit.data.pairfile import Id, Label, PairRow, checked, read_pairs
from judgekit.data.pairfile.lines import records
from judgekit.records import LABELS, PreferencePair, Verdict

if TYPE_CHECKING:
    from judgekit.stats import Number

_FIELDS = ("judge", "protocol", "metric", "value", "low", "high", "n")

_N_BOOT = 10_000  # resamples
_COUNTED = {"accuracy": (0, 1), "consistency": (2, 3), "first_rate": (4, 5)}  # rates: which count over which
_ONE_SIDED, _FEW = 0.9, 20  # share of verdicts for one position that is worth a warning, from how many


@dataclass
class Tally:
    """Counts over the rows of a run; 14 bytes of each row stay."""

    orders: tuple[str, ...]
    results: Counter[str] = field(default_factory=Counter)  # rows by what is written for them: a verdict, or a status
    failed: list[str] = field(default_factory=list)  # a line for each of the first
    clusters: array = field(default_factory=lambda: array("Q"))  # 64 bits that name the cluster of each row
    # Six counts of each row: right, labelled; one verdict, read in both orders; for the first shown, for one of them.
    counts: array = field(default_factory=lambda: array("B"))

    @property
    def n_read(self) -> int:
        """Rows with a verdict."""
        return sum(self.results[label] for label in LABELS)

    def add(self, row: PairRow, verdicts: list[Verdict], result: dict[str, Any]) -> None:
        """Count a row with its verdicts and what is written for it."""
        self.results[result["verdict"] or result["status"]] += 1
        if result["status"] == "error" and self.results["error"] <= LISTED:
            why = next(verdict.raw for verdict in verdicts if verdict.status == "error")
            self.failed.append(f"id {row.id!r:.80} ({row.place}): {why or 'no reason given'}")
        label, first = row.pair.label, {"ab": "A", "ba": "B"}
        read = len(verdicts) == 2 and all(verdict.status == "ok" for verdict in verdicts)
        same = read and verdicts[0].verdict == verdicts[1].verdict
        named = [v.verdict == first[v.order] for v in verdicts if v.verdict in first.values()]
        self.clusters.append(int(row.pair.cluster_id, 16))
        right = label is not None and label == result["verdict"]
        self.counts.extend((right, label is not None, same, read, sum(named), len(named)))

    def rates(self) -> "dict[str, tuple[Number, int]]":
        """Each rate that there is with its 95 % interval, and the number of questions that it comes from.

        Questions with the same counts are exchangeable: a resample is one multinomial draw of how often each occurs.
        """
        import numpy as np

        from judgekit.stats import Number, interval_of, share_of

        _, index = np.unique(np.frombuffer(self.clusters, np.uint64), return_inverse=True)
        counts = np.frombuffer(self.counts, np.uint8).reshape(-1, 6)
        found = {}
        for name, columns in _COUNTED.items():
            sums: Any = np.stack([np.bincount(index, counts[:, column]) for column in columns], axis=1)
            sums = sums[sums[:, 1] > 0]
            if len(sums):
                kinds, n_alike = np.unique(sums, axis=0, return_counts=True)
                drawn = np.random.default_rng(0).multinomial(len(sums), n_alike / len(sums), size=_N_BOOT)
                value = float(share_of(sums.sum(0)))
                ends = interval_of(value, share_of(drawn @ kinds), len(sums))
                found[name] = Number(value, *ends, n=int(sums[:, 1].sum()), spec=".1%"), len(sums)
        return found

    def summary(self, judge: str) -> dict[str, Any]:
        """Everything counted, for ``--summary``."""
        rates = {
            name: {"value": rate.value, "low": rate.low, "high": rate.high, "n": rate.n, "questions": n_questions}
            for name, (rate, n_questions) in (self.rates() if self.n_read else {}).items()
        }
        counted = {"pairs": self.results.total(), "verdicts": self.n_read, "results": dict(self.results)}
        return {"judge": judge, "orders": list(self.orders), **counted, **rates}

    def sentences(self, quiet: bool = False) -> list[str]:
        """`summary` in words, with a warning where one position wins nearly always; ``quiet``: what is left unsaid."""
        n_rows, unread = self.results.total(), self.results["unparsed"] + self.results["ambiguous"]
        said = []
        if unread and not quiet:
            said.append(f"{unread} of {n_rows} pairs have no verdict because the reply could not be read")
        if not self.n_read:
            return [*said, "not one pair has a verdict: there is nothing to score"]
        rates = self.rates()
        if "accuracy" in rates:
            shown = "both orders combined" if len(self.orders) == 2 else f"order {self.orders[0]}"
            said.append(
                f"accuracy {_with_interval(*rates['accuracy'], 'labelled pairs')}; A, B or tie must match the label, "
                f"{shown}, no verdict counts as wrong; bootstrap over questions)"
            )
        if "consistency" in rates and not quiet:
            said.append(f"the same verdict in both orders: {_with_interval(*rates['consistency'], 'pairs')})")
        if "consistency" in rates and "first_rate" in rates:
            first = rates["first_rate"][0]
            if not quiet:
                said.append(f"for the response shown first: {_with_interval(*rates['first_rate'], 'verdicts')})")
            if (side := max(first.value, 1 - first.value)) >= _ONE_SIDED and first.n >= _FEW:
                place = "first" if first.value > 0.5 else "second"
                said.append(f"warning: {side:.1%} of the verdicts name the response shown {place}, whichever it is")
        return said


def _with_interval(rate: "Number", n_questions: int, what: str) -> str:
    """A rate with interval, n and questions; the bracket is left open."""
    interval = f"{rate.low:.1%} to {rate.high:.1%}" if n_questions > 1 else "not defined for one question"
    return f"{rate}% (95% interval {interval}; n = {rate.n} {what}, {n_questions} question{'s'[n_questions < 2 :]}"


def _probability(value: Any) -> float | None:
    """A field as a probability; None where it is empty."""
    if value in (None, ""):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 <= number <= 1:
        raise ValueError(f"is {value!r:.40}, not a probability from 0 to 1")
    return number


Probability = Annotated[float | None, BeforeValidator(_probability)]


class _Said(BaseModel):
    id: Id
    verdict: Label
    order: Literal["ab", "ba"] = "ab"
    p_a: Probability = None
    p_b: Probability = None
    p_tie: Probability = None


def score(
    verdicts: Annotated[str, typer.Argument(metavar="VERDICTS", help="JSON lines or CSV, or Parquet, as of judge.")],
    pairs: Annotated[str, typer.Option(metavar="FILE", help="The labelled pairs, as for judge.")],
    protocol: Annotated[str, typer.Option(metavar="NAME", help="How verdicts become a score.")] = "single_order",
    out: Out = "-",
) -> int:
    """Score verdicts from anywhere against labelled pairs.

    VERDICTS has one row per pair, or per pair and order: id (of the pair), verdict (A, B or tie in the pair's own
    order; null where the reply could not be read), and optionally order (ab or ba: which response was shown first),
    p_a, p_b, p_tie and judge. judge --per-order writes such a file.

    --out (.jsonl or .csv) gets one row per judge and metric: judge, protocol, metric, value, and low, high (95 %, over
    questions) and n. A protocol is single_order, mean_of_orders, both_right, conflict_tie, conflict_strict, ..., or
    that of a benchmark (pandalm, autoj, llmbar, judgebench, ...); an unknown name lists all of them.
    """
    from judgekit.scoring import score as scored
    from judgekit.scoring.protocols import protocol_of

    check_out(out, verdicts, tables=True)
    try:
        meant = protocol_of("pairs", protocol)
    except KeyError as unknown:
        raise Stop(BAD_INPUT, f"--protocol: {unknown.args[0]}") from None
    known = {pair.item_id: pair for pair in read_pairs(pairs)}
    found = {}
    for judge, said in read_verdicts(Path(verdicts), known).items():
        try:
            found[judge] = scored(said, list(known.values()), "pairs", meant)
        except ValueError as bad:
            raise Stop(BAD_INPUT, f"{verdicts}: {bad}") from None
    with written(out, "", fields=_FIELDS) as write:
        for judge, scores in found.items():
            ends = {name: {end: getattr(number, end) for end in _FIELDS[3:]} for name, number in scores.items()}
            write([{"judge": judge, "protocol": meant.name, "metric": name, **row} for name, row in ends.items()])
    for judge, scores in found.items():
        accuracy = scores["accuracy"]
        tell(f"{judge}: accuracy {accuracy}% ({accuracy.interval}; n = {accuracy.n}; {meant.name})")
    return DONE


def read_verdicts(path: Path, pairs: dict[str, PreferencePair]) -> dict[str, list[Verdict]]:
    """Verdicts of a file on pairs (by id) by judge; PairFileError about the first row that is wrong."""
    found: dict[str, dict[tuple[str, str], Verdict]] = {}
    for place, fields in records(path):
        row, judge = checked(_Said, fields, place), str(fields.get("judge") or path.name)
        key = str(row.id), row.order
        if key[0] not in pairs:
            raise place.error(f"is {row.id!r:.80}, which no pair has", "id")
        if key in found.setdefault(judge, {}):
            raise place.error(f"is {row.id!r:.80}, which has a verdict of {judge} in order {row.order} already", "id")
        status = "ok" if row.verdict else "unparsed"
        found[judge][key] = Verdict(key[0], judge, row.order, row.verdict, row.p_a, row.p_b, row.p_tie, status=status)
    return {judge: list(verdicts.values()) for judge, verdicts in found.items()}
