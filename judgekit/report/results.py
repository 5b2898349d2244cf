"""What a notebook hands on: numbers with one owner each, frames, pictures; an unchanged result is an unchanged file.

Numbers are kept that are read: by ``\\result{key}`` of a document, by another notebook, by the README.
"""

import gzip
import json
import re
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

from judgekit.data import paths
from judgekit.data.files import replaced, write_json
from judgekit.data.paths import checked_name
from judgekit.data.provenance import git_state, machine, process_age, versions
from judgekit.judges import judges_of_run
from judgekit.judges.names import slug
from judgekit.stats import Number

if TYPE_CHECKING:  # half a second that the report's build, which reads no frame, does without
    import pandas as pd

SCHEMA = 1
KEY = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+){1,4}")
# Sets and judges of a reproduction have no human label on their side: no key may call a number of theirs a score.
UNSCORED = re.compile(r"(scores|compare)\.([^.]*_repro\..*|[^.]*\.([^.]*_repro|[^.]*_repro_vs_[^.]*)\..*)")
# Labels of the same set went into what was cross-fitted: the study's name must say so.
CROSSFITTED = re.compile(r"(?![^.]*_crossfit\.).*crossfit.*")

CHINESE_DOCUMENTS = ("report-zh", "slides-zh")
QUOTE = re.compile(r"\\result(?:long(?=table))?(pc|ci|n|table|figure)?(?![A-Za-z])\s*(?:\[[^\]]*\])?\s*\{([^{}]*)\}")
INPUT = re.compile(r"\\(?:input|include)\s*\{([^{}\\]+)\}")
COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
READ_BY_NOTEBOOKS = re.compile(  # 34, 35 and 71, and the README's tables
    r"scores\.\w+\.\w+\.(accuracy|agreement|macro_f1)|mixture\.(seeds|.*\.mean)|ceiling\..*"
    r"|consensus\.\w+\.majority\.hidden_accuracy|(bench|fault|parsing|resources|scale|training)\..*"
)


class ResultsError(ValueError):
    """Results lack what is to be made of them, or contradict each other."""


def save_results(
    run: str,
    notebook: str,
    numbers: Mapping[str, Number],
    data: Mapping[str, str] | None = None,
    variant: str | None = None,
) -> Path:
    """Write the numbers of one notebook to ``outputs/<run>/results/<notebook>[-<variant>].json``; returns the file.

    ``data``: SHA-256 of the upstream files that were read. Numbers that nothing reads stay in their frames; a file of
    which only seconds and machine would differ stays as it is. ValueError where a key is not
    ``study.part[.part].quantity``, another file of the run owns it, or calls ``..._repro`` or ``..._crossfit`` a score.
    """
    stem = checked_name(notebook) + (f"-{checked_name(variant)}" if variant else "")
    rows = {key: _checked(key, number).row() for key, number in numbers.items()}
    if not rows:
        raise ValueError(f"{stem} saves no numbers")
    rows = {key: rows[key] for key in sorted(read_keys(rows))}
    path = paths.run_folder(run, "results") / f"{stem}.json"
    documents = _documents(run)
    for other, held in documents.items():
        if other != stem and (shared := sorted(set(rows) & set(held["numbers"]))):
            raise ValueError(f"{shared[0]} is owned by {other}.json already; {path.name} must not define it")
    provenance = {"data": dict(data or {}), "seconds": round(process_age(), 1), "versions": versions()}
    provenance |= git_state() | {"judges": judges_of_run(run), "machine": machine()}
    document = {"schema": SCHEMA, "run": run, "numbers": rows, "provenance": provenance}
    if stem not in documents or not _stays(documents[stem], document):
        write_json(path, document, sort_keys=True, allow_nan=False)
    try:
        check_inputs(run)
    except ResultsError as two_models:
        warnings.warn(str(two_models), stacklevel=2)
    return path


def _checked(key: str, number: Number) -> Number:
    if not KEY.fullmatch(key):
        raise ValueError(f"key {key!r}: write study.part[.part].quantity in lower case, digits and '_'")
    if UNSCORED.fullmatch(key):
        raise ValueError(f"key {key!r}: nobody labelled what '..._repro' judged, so nothing of it is a score")
    if CROSSFITTED.fullmatch(key):
        raise ValueError(f"key {key!r}: what was cross-fitted is quoted as '<study>_crossfit...', beside no score")
    if not isinstance(number, Number):
        raise TypeError(f"{key} is {type(number).__name__}: wrap it, Number(value, low, high, n, spec)")
    return number


def check_inputs(run: str) -> None:
    """One judge's name is one fingerprint, one data file one content in all results of a run; else ResultsError."""
    owners: dict[tuple[str, str], tuple[str, str]] = {}
    for notebook, provenance in load_provenance(run).items():
        for kind, two in (("judges", "models (or precisions: JUDGEKIT_BF16)"), ("data", "contents")):
            for name, digest in provenance.get(kind, {}).items():
                first, known = owners.setdefault((kind, name), (notebook, digest))
                if known != digest:
                    raise ResultsError(
                        f"{name!r} has fingerprint {known[:12]} in {first} and {digest[:12]} in {notebook}: one name "
                        f"of run {run} is two {two}; execute both notebooks again"
                    )


def _stays(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether a file may stay: equal but for the seconds and the machine, and made from committed code."""
    volatile = dict.fromkeys(("seconds", "machine", "dirty"))
    settled = old["provenance"].get("dirty") is False or new["provenance"]["dirty"] is not False
    lasting = [document | {"provenance": document["provenance"] | volatile} for document in (old, new)]
    return settled and lasting[0] == lasting[1]


def load_results(run: str) -> dict[str, dict[str, Any]]:
    """All numbers of a run by key, with the ``notebook`` that owns each."""
    documents = _documents(run).items()
    return {key: row | {"notebook": stem} for stem, one in documents for key, row in one["numbers"].items()}


def load_provenance(run: str) -> dict[str, dict[str, Any]]:
    """What a run's results were made from, with and on, by notebook; empty when the run has none."""
    return {stem: document["provenance"] for stem, document in _documents(run).items()}


def _documents(run: str) -> dict[str, dict[str, Any]]:
    """What the results files of a run hold, by notebook."""
    documents = {}
    for path in sorted((paths.project_root() / "outputs" / run / "results").glob("*.json")):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path} is not a results file: {error}") from error
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise ValueError(f"{path} is not a results file of schema {SCHEMA}")
        documents[path.stem] = document
    return documents


def save_frame(run: str, name: str, frame: "pd.DataFrame", key: str, spec: str | None = None) -> dict[str, Number]:
    """Keep estimates in ``outputs/<run>/data/<name>.csv``; returns them by result key, for ``save_results``.

    ``frame``: an estimate a row, ``value``, which is a `Number`, or a plain one beside ``low``, ``high``, ``n`` and
    ``spec`` where there are any (``spec`` for all rows without one). The fields of ``key``, as in
    ``"position.{set}.{judge}.{quantity}"``, name columns or levels of the index; a judge stands in keys by its slug.
    ValueError where a column is missing or two rows have one key.
    """
    frame = frame.reset_index() if any(frame.index.names) else frame
    fields = [field for _, field, _, _ in Formatter().parse(key) if field]
    if missing := [column for column in (*fields, "value") if column not in frame.columns]:
        raise ValueError(f"frame {name} has no column {missing[0]!r}; it has {list(frame.columns)}")
    if any(isinstance(one, Number) for one in frame["value"]):
        import pandas as pd

        # As objects: whole numbers stay whole beside others.
        frame = frame.assign(**pd.DataFrame([vars(one) for one in frame["value"]], frame.index, dtype=object))
    numbers: dict[str, Number] = {}
    for row in frame.to_dict("records"):
        one = key.format(**{field: _key_part(row[field]) for field in fields})
        if one in numbers:
            raise ValueError(f"frame {name}: two rows have the key {one!r}; another column tells them apart")
        given: dict[str, Any] = {"spec": spec}
        given |= {part: row[part] for part in ("low", "high", "n", "spec") if part in row and row[part] == row[part]}
        numbers[one] = _checked(one, Number(row["value"], **given))
    path = paths.run_folder(run, "data") / f"{checked_name(name)}.csv"
    with replaced(path) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")
    return numbers


def _key_part(value: object) -> str:
    text = str(value)
    if text.startswith((paths.OWN, paths.HUB)):  # a set of one's own, by the name of its file
        text = Path(text.removeprefix(paths.OWN)).name.partition(".")[0]
    return slug(text) if "/" in text else re.sub("[^a-z0-9_]+", "_", text.lower())


def save_data(run: str, name: str, frame: "pd.DataFrame") -> Path:
    """Write a table (without texts of a data set) for later notebooks to ``outputs/<run>/data/<name>.csv.gz``."""
    path = paths.run_folder(run, "data") / f"{checked_name(name)}.csv.gz"
    with replaced(path) as temporary:  # neither a date nor the temporary file's name is written into it
        text = frame.to_csv(index=False, lineterminator="\n")
        temporary.write_bytes(gzip.compress(text.encode("utf-8"), compresslevel=9, mtime=0))
    return path


def load_data(run: str, name: str) -> "pd.DataFrame":
    """Read what `save_data` or `save_frame` wrote; FileNotFoundError where its notebook has not been run."""
    import pandas as pd

    path = paths.run_folder(run, "data") / f"{checked_name(name)}.csv.gz"
    path = path if path.is_file() else path.with_suffix("")
    if not path.is_file():
        raise FileNotFoundError(f"{path}.gz: not there yet; run the notebook that writes it first")
    if path.suffix == ".csv":  # estimates, which may lack an interval
        return pd.read_csv(path)
    ids = dict.fromkeys(("item_id", "prompt", "training"), str)  # "001" and "1e5" are no numbers, "\r" is no end
    frame = pd.read_csv(path, keep_default_na=False, na_values="", dtype=ids, lineterminator="\n")
    texts = frame.select_dtypes(exclude=["number", "bool"]).columns.union(frame.columns[frame.isna().all()])
    return frame.assign(**frame[texts].astype(str).fillna(""))  # an empty text is one; a number may be missing


def save_figure(figure: Any, run: str, name: str) -> Path:
    """Write a figure to ``outputs/<run>/figures``, PDF for LaTeX and PNG; returns the PDF.

    With Chinese words, ``<name>.zh.pdf``, too, if a Chinese document quotes it and a font for Chinese is installed.
    """
    path = paths.run_folder(run, "figures") / f"{checked_name(name)}.pdf"
    pdf: dict[str, Any] = {"metadata": {"CreationDate": None}}  # no date: an unchanged figure is an unchanged file
    png: dict[str, Any] = {"metadata": {"Software": None}, "dpi": 150}
    for target, options in ((path, pdf), (path.with_suffix(".png"), png)):
        with replaced(target) as temporary:
            figure.savefig(temporary, format=target.suffix[1:], **options)
    path.with_suffix(".zh.pdf").unlink(missing_ok=True)  # it shows earlier numbers
    if ("figure", name) in find_quotes(path for one in CHINESE_DOCUMENTS for path in document_files(one)):
        from judgekit.figures import save_chinese

        save_chinese(figure, path.with_suffix(".zh.pdf"), **pdf)
    return path


def document_files(document: str) -> list[Path]:
    """The LaTeX files of a document: ``report/<document>.tex`` and what it inputs from ``report/``, in order."""
    report = paths.project_root() / "report"
    queue, files = [f"{document}.tex"], []
    while queue:
        path = report / f"{queue.pop(0).removesuffix('.tex')}.tex"
        if path.exists() and path not in files:
            files.append(path)
            queue = INPUT.findall(code_of([path])) + queue
    return files


def code_of(files: Iterable[Path]) -> str:
    """LaTeX without its comments."""
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    return "\n".join(COMMENT.sub(r"\1", line) for line in lines)


def find_quotes(files: Iterable[Path]) -> list[tuple[str, str]]:
    """Every ``number``, ``table`` and ``figure`` that LaTeX files quote, in order, with its name."""
    found = [(match[1], " ".join(match[2].split())) for match in QUOTE.finditer(code_of(files))]
    return [(kind if kind in ("table", "figure") else "number", name) for kind, name in found]


def quoted_keys(files: Iterable[Path]) -> set[str]:
    """The keys of the numbers that LaTeX files quote."""
    return {name for kind, name in find_quotes(files) if kind == "number"}


def tex_files() -> list[Path]:
    """The LaTeX files of all documents."""
    report = paths.project_root() / "report"
    return [*report.glob("*.tex"), *report.glob("sections/*.tex")]


def read_keys(keys: Iterable[str]) -> set[str]:
    """Those of ``keys`` that a document, a notebook or the README reads; all of them in a project without documents."""
    if not (documents := tex_files()):
        return set(keys)
    quoted = quoted_keys(documents)
    return {key for key in keys if key in quoted or READ_BY_NOTEBOOKS.fullmatch(key)}
