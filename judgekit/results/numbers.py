"""A number as the report quotes it, and the names that keys are made of."""

import math
import operator
import re
from dataclasses import dataclass

NAME = re.compile(r"[a-z0-9][a-z0-9_]*")


@dataclass(frozen=True)
class Number:
    """One value that the report may quote: with its 95 % interval, its n and the format it is quoted in.

    Parameters
    ----------
    value : int or float
        Rates are kept in [0, 1].
    low, high : float, optional
        The 95 % interval; None only where an interval has no meaning. The value may lie outside: a bootstrap
        interval of a skewed statistic can do that.
    n : int, optional
        Number of items (or votes, prompts, steps) that the value comes from.
    spec : str, optional
        Format specification. A rate with ``".1%"`` is quoted as ``61.1``: the unit stands in the text or in the
        head of the column. Integers default to ``",d"``, others to ``".3f"``.

    Raises
    ------
    ValueError
        For NaN and infinity, half an interval, ``low > high``, a percentage outside [-100, 100] (a rate that was
        multiplied by 100 already), or a specification that does not fit the value.

    Examples
    --------
    >>> Number(0.611, 0.58, 0.64, n=999, spec=".1%").row()["interval"]
    '58.0-64.0'
    >>> str(Number(1234))
    '1,234'
    """

    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    spec: str | None = None

    def __post_init__(self):
        for name in ("value", "low", "high"):
            object.__setattr__(self, name, _plain(name, getattr(self, name)))
        if self.value is None:
            raise ValueError("value is None: a number without a value is not a result")
        if (self.low is None) != (self.high is None):
            raise ValueError(f"half an interval: low={self.low}, high={self.high}")
        if self.low is not None and self.low > self.high:
            raise ValueError(f"low {self.low} is above high {self.high}")
        if self.n is not None:
            n = int(self.n) if isinstance(self.n, float) and self.n.is_integer() else operator.index(self.n)
            if n < 0:
                raise ValueError(f"n is {n}")
            object.__setattr__(self, "n", n)
        if self.spec is None:
            object.__setattr__(self, "spec", ",d" if isinstance(self.value, int) else ".3f")
        if self.spec.endswith("%") and abs(self.value) > 1:
            raise ValueError(f"{self.value} with spec {self.spec!r}: rates are kept in [0, 1]")
        self.row()  # a specification that does not fit the value fails here, where it was written

    def __str__(self):
        return _format(self.value, self.spec)

    @property
    def interval(self):
        """``"58.0-64.0"``; ``"-1.2 to 0.4"`` where a bound holds a minus sign; None without an interval."""
        if self.low is None:
            return None
        spec = ",.1f" if self.spec.endswith("d") else self.spec
        low, high = _format(self.low, spec), _format(self.high, spec)
        return f"{low} to {high}" if "-" in low + high else f"{low}-{high}"

    def row(self):
        """The form kept in ``results/*.json``."""
        row = {"value": self.value, "text": str(self), "low": self.low, "high": self.high}
        return row | {"interval": self.interval, "n": self.n}


def _plain(name, value):
    """A Python int or float from what NumPy, pandas or torch gave."""
    value = value.item() if hasattr(value, "item") else value
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{name} is {value}: NaN and infinity are no results")
    return value


def _format(value, spec):
    text = format(value, spec).removesuffix("%")
    # "-0.0" says that a difference is negative where the digits shown say that it is not.
    return text.removeprefix("-") if text.startswith("-") and not re.search("[1-9]", text) else text


def slug(judge):
    """The name of a judge in result keys: the last part, lower case, other characters as ``_``.

    Revision and adapter are left out: where two judges then share a slug, ``unique_slugs`` wants one declared.

    Examples
    --------
    >>> slug("hf/Qwen/Qwen3-4B@main"), slug("replay/pandalm-7b"), slug("openai/gpt-3.5")
    ('qwen3_4b', 'pandalm_7b', 'gpt_3_5')
    """
    last = re.split("[@+]", judge)[0].rstrip("/").split("/")[-1]
    name = re.sub("[^a-z0-9]+", "_", last.lower()).strip("_")
    if not name:
        raise ValueError(f"judge {judge!r} has no slug: declare one")
    return name


def unique_slugs(names, declared=None):
    """One slug for each judge.

    Parameters
    ----------
    names : iterable of str
        Judges, ``provider/model``.
    declared : dict of str to str, optional
        Judge to slug, from the run's parameters.

    Returns
    -------
    dict of str to str
        Judge to slug, in the order of ``names``.

    Raises
    ------
    ValueError
        If two judges share a slug, a declared slug is not one, a declared judge is not among ``names``, or a declared
        slug hides that the judge's is ``..._repro``.
    """
    names, declared = list(dict.fromkeys(names)), dict(declared or {})
    if unknown := sorted(set(declared) - set(names)):
        raise ValueError(f"slugs are declared for judges that do not take part: {', '.join(unknown)}")
    owner, slugs = {}, {}
    for name in names:
        slugs[name] = declared.get(name) or slug(name)
        if slug(name).endswith("_repro") and not slugs[name].endswith("_repro"):
            raise ValueError(f"slug {slugs[name]!r} of {name}: keep '_repro', which says that it must not be scored")
        if not NAME.fullmatch(slugs[name]):
            raise ValueError(f"slug {slugs[name]!r} of {name}: use lower-case letters, digits and '_'")
        if slugs[name] in owner:
            raise ValueError(
                f"{owner[slugs[name]]} and {name} share the slug {slugs[name]!r}: declare one of their own"
            )
        owner[slugs[name]] = name
    return slugs


def checked_name(name):
    """``name`` when it can name a notebook, a figure or a table; an error otherwise."""
    if not NAME.fullmatch(name):
        raise ValueError(f"name {name!r}: use lower-case letters, digits and '_'")
    return name
