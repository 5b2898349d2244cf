"""What verdicts say of a judge: counted row by row as `judgekit judge` goes, or scored from a file of them."""

from array import array
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import BaseModel, BeforeValidator

from judgekit.cli.files import check_out, tell_odd_rows, written
from judgekit.cli.keeping import Failures, Out, rows_of
from judgekit.cli.messages import BAD_INPUT, DONE, Stop, shortened, tell
from judgekit.data.pairfile import Id, Label, PairRow, checked, id_text, iterate_unique_rows
from judgekit.data.pairfile.lines import Place, records
from judgekit.records import LABELS, Verdict

_ENDS = ("value", "low", "high", "n")  # of what is written of a metric
_N_BOOT = 10_000  # resamples
# Rates: which count over which.
_COUNTED = {"accuracy": (0, 1), "consistency": (2, 3), "first_rate": (4, 5), "coverage": (6, 7), "tie_rate": (8, 6)}
_TOLD = {  # of rates without a label: what stands before and behind the number
    "coverage": ("coverage:", "pairs"),
    "tie_rate": ("ties:", "verdicts"),
    "consistency": ("the same verdict in both orders:", "pairs"),
    "first_rate": ("verdicts for the response shown first:", "that are no tie"),
}
_ONE_SIDED, _FEW = 0.9, 20  # share of verdicts for one position that is worth a warning, from how many


@dataclass
class Tally:
    """Counts over the rows of a run; 17 bytes of each row stay."""

    orders: tuple[str, ...]
    results: Counter[str] = field(default_factory=Counter)  # rows by what is written for them: a verdict, or a status
    failed: Failures = field(default_factory=Failures)
    unread: str | None = None  # the first reply that could not be read
    n_cut: int = 0  # rows of which the judge read a response in part
    clusters: array = field(default_factory=lambda: array("Q"))  # 64 bits that name the cluster of each row
    # Counts of each row: right, labelled; one verdict, read in both orders; for the first shown, for one of them; with
    # a verdict, one, a tie.
    counts: array = field(default_factory=lambda: array("B"))

    def add(self, row: PairRow, verdicts: list[Verdict], result: dict[str, Any]) -> None:
        """Count a row with its verdicts and what is written for it."""
        self.results[result["verdict"] or result["status"]] += 1
        self.n_cut += result["truncated"]
        self.unread = self.unread or next((v.raw for v in verdicts if v.status in ("unparsed", "ambiguous")), None)
        if result["status"] == "error":
            why = next(verdict.raw for verdict in verdicts if verdict.status == "error")
            self.failed.add(f"id {row.id!r:.80} ({row.place})", why or "no reason given")
        label, both, first = row.pair.label, len(verdicts) == 2, {"ab": "A", "ba": "B"}
        read = both and all(verdict.status == "ok" for verdict in verdicts)
        same = read and verdicts[0].verdict == verdicts[1].verdict
        named = [v.verdict == first[v.order] for v in verdicts if both and v.verdict in first.values()]
        self.clusters.append(int(row.pair.cluster_id, 16))
        right = label is not None and label == result["verdict"]
        said = result["verdict"] is not None, True, result["verdict"] == "tie"
        self.counts.extend((right, label is not None, same, read, sum(named), len(named), *said))

    def rates(self) -> dict[str, dict[str, Any]]:
        """Each rate that there is: value, low, high (95 %; None for one question), n, and questions that it is of.

        Questions with the same counts are exchangeable: a resample is one multinomial draw of how often each occurs.
        """
        import numpy as np

        from judgekit.stats import interval_of, share_of

        _, index = np.unique(np.frombuffer(self.clusters, np.uint64), return_inverse=True)
        counts = np.frombuffer(self.counts, np.uint8).reshape(len(index), -1)
        found = {}
        for name, columns in _COUNTED.items():
            sums: Any = np.stack([np.bincount(index, counts[:, column]) for column in columns], axis=1)
            sums = sums[sums[:, 1] > 0]
            if n := len(sums):
                kinds, n_alike = np.unique(sums, axis=0, return_counts=True)
                drawn = np.random.default_rng(0).multinomial(n, n_alike / n, size=_N_BOOT)
                value = float(share_of(sums.sum(0)))
                low, high = interval_of(value, share_of(drawn @ kinds), n) if n > 1 else (None, None)
                found[name] = {"value": value, "low": low, "high": high, "n": int(sums[:, 1].sum()), "questions": n}
        return found

    def summary(self, judge: str) -> dict[str, Any]:
        """Everything counted, for ``--summary``; no rates where no row has a verdict."""
        n_read = sum(self.results[label] for label in LABELS)
        counted = {"pairs": self.results.total(), "truncated": self.n_cut, "verdicts": n_read, "unread": self.unread}
        rates = {"results": dict(self.results), **(self.rates() if n_read else {})}
        return {"judge": judge, "orders": list(self.orders), **counted, **rates}


def sentences(summary: dict[str, Any], quiet: bool = False) -> list[str]:
    """`Tally.summary` in words, with a warning where one position wins nearly always; ``quiet``: no rates of orders."""
    results, said = Counter(summary["results"]), []
    if (unread := results["unparsed"] + results["ambiguous"]) and not quiet:
        why = f"because the reply could not be read; the first: {shortened(summary['unread'] or '')!r}"
        said.append(f"{unread} of {summary['pairs']} pairs have no verdict {why}")
    if (cut := summary["truncated"]) and not quiet:
        said.append(f"{cut} of {summary['pairs']} pairs are truncated: a response is too long, the judge read a part")
    if not summary["verdicts"]:
        return [*said, "not one pair has a verdict: there is nothing to score"]
    if "accuracy" in summary:
        shown = "both orders combined" if len(summary["orders"]) == 2 else f"order {summary['orders'][0]}"
        said.append(
            f"accuracy {_in_words(summary['accuracy'], 'labelled pairs')}; A, B or tie must match the label, {shown}, "
            "no verdict counts as wrong; bootstrap over questions)"
        )
    elif not quiet:
        said.append("no pair has a label, so there is no accuracy")
    told = {} if quiet else {name: words for name, words in _TOLD.items() if name in summary}
    said += [f"{before} {_in_words(summary[name], what)})" for name, (before, what) in told.items()]
    same, first = summary.get("consistency"), summary.get("first_rate")
    if same and first:
        side = max(first["value"], 1 - first["value"])
        if side >= _ONE_SIDED and first["n"] >= max(_FEW, same["n"]):  # half of the verdicts, at least
            place = "first" if first["value"] > 0.5 else "second"
            said.append(f"warning: {side:.1%} of the verdicts that are no tie name the response shown {place}")
    return said


def _in_words(rate: dict[str, Any], what: str) -> str:
    """A rate with interval, n and questions; the bracket is left open."""
    value, low, high, n, questions = rate.values()
    interval = "not defined for one question" if low is None else f"{low:.1%} to {high:.1%}"
    return f"{value:.1%} (95% interval {interval}; n = {n} {what}, {questions} question{'s'[questions < 2 :]}"


def _probability(value: Any) -> float:
    with suppress(TypeError, ValueError):
        if not isinstance(value, bool) and 0 <= float(value) <= 1:
            return float(value)
    raise ValueError(f"is {value!r:.40}, not a probability from 0 to 1")


Probability = Annotated[float, BeforeValidator(_probability)]


class _Said(BaseModel):
    id: Id
    verdict: Label
    order: Literal["ab", "ba"] = "ab"
    status: Literal["ok", "unparsed", "ambiguous", "error"] = "ok"
    p_a: Probability | None = None
    p_b: Probability | None = None
    p_tie: Probability | None = None


def score(
    verdicts: Annotated[str, rows_of("VERDICTS", "JSON lines, CSV or Parquet, as judge writes")],
    pairs: Annotated[str, typer.Option(metavar="FILE", help="The labelled pairs, as judge reads them.")],
    protocol: Annotated[str, typer.Option(metavar="NAME", help="How verdicts become a score.")] = "single_order",
    out: Out = "-",
) -> int:
    """Score verdicts from anywhere against labelled pairs.

    VERDICTS has one row per pair, or per pair and order: id (of the pair), verdict (A, B or tie in the pair's own
    order; null where there is none), and optionally order (ab or ba: which response was shown first; ab by default),
    status (as of judge), judge, and p_a, p_b, p_tie (all three). judge --per-order writes such a file; its other form,
    in which both orders are joined, is scored as if it were one order.

    --out (.jsonl, .csv or .parquet) gets one row per judge and metric: judge, protocol, metric, value, and low, high
    (95 %, over questions) and n. A protocol is single_order, mean_of_orders, both_right, conflict_tie,
    conflict_strict, ... (an unknown name lists all of these), or that of a benchmark: pandalm, autoj, llmbar, ...
    """
    from judgekit.scoring import score as scored
    from judgekit.scoring.protocols import protocol_of

    for file in (verdicts, pairs):
        check_out(out, file, ".csv", ".parquet")
    try:
        meant = protocol_of("pairs", protocol)
    except KeyError as unknown:
        raise Stop(BAD_INPUT, f"--protocol: {unknown.args[0]}") from None
    rows, found = list(iterate_unique_rows(pairs)), {}
    tell_odd_rows(rows)
    labelled = [row.pair for row in rows]
    for judge, said in read_verdicts(Path(verdicts), {pair.item_id for pair in labelled}).items():
        one, both = meant.orders[0], {each.order for each in said} == {"ab", "ba"}
        if len(meant.orders) == 2 and not both:
            raise Stop(BAD_INPUT, f"{verdicts}: {judge} has verdicts in one order, and '{meant.name}' reads both")
        if len(meant.orders) == 1 and both:
            tell(f"note: '{meant.name}' scores {judge} in the order {one} alone; --protocol mean_of_orders counts both")
        if failed := sum(each.status == "error" for each in said):
            tell(f"note: {failed} of {len(said)} rows of {judge} failed and count as replies without a verdict")
        try:
            found[judge] = scored(said, labelled, "pairs", meant)
        except ValueError as bad:
            raise Stop(BAD_INPUT, f"{verdicts}: {judge} on {pairs}: {bad}") from None
    with written(out, "") as write:
        for judge, scores in found.items():
            ends = {name: {end: getattr(number, end) for end in _ENDS} for name, number in scores.items()}
            write([{"judge": judge, "protocol": meant.name, "metric": name, **row} for name, row in ends.items()])
    for judge, scores in found.items():
        accuracy, read = scores["accuracy"], scores["coverage"]
        share = "" if read.value == 1 else f"; {read}% could be read"
        between = accuracy.interval or "no interval"
        tell(f"{judge}: accuracy {accuracy}% ({between}; n = {accuracy.n}; {meant.name}{share})")
    return DONE


def read_verdicts(path: Path, ids: set[str]) -> dict[str, list[Verdict]]:
    """Verdicts of a file on pairs of some ids, by judge; PairFileError about the first row that is wrong."""
    found: dict[str, dict[tuple[str, str], Verdict]] = {}
    for place, given_fields in records(path):  # an empty cell is an absent one
        fields = {name: value for name, value in given_fields.items() if name == "verdict" or value not in (None, "")}
        row, judge = checked(_Said, fields, place), str(fields.get("judge") or path.name)
        key = id_text(row.id), row.order
        if key[0] not in ids:
            raise place.error(f"is {row.id!r:.80}, which no pair has", "id")
        if key in found.setdefault(judge, {}):
            raise place.error(f"is {row.id!r:.80}, which has a verdict of {judge} in order {row.order} already", "id")
        given = [p for p in (row.p_a, row.p_b, row.p_tie) if p is not None]
        if len(given) not in (0, 3):
            raise place.error("has one of p_a, p_b, p_tie and not all three")
        if given and abs(sum(given) - 1) > 1e-3:
            raise place.error("has p_a, p_b and p_tie that do not add up to 1")
        if row.verdict and row.status != "ok":
            raise place.error(f"is {row.verdict!r}, and the status is {row.status!r}", "verdict")
        status = "unparsed" if row.status == "ok" and not row.verdict else row.status
        found[judge][key] = Verdict(key[0], judge, row.order, row.verdict, row.p_a, row.p_b, row.p_tie, status=status)
    if not found:
        raise Place(path).error("holds no verdicts (the file is empty, or has only a header)")
    return {judge: list(verdicts.values()) for judge, verdicts in found.items()}
