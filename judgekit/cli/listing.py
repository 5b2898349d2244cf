"""The registered data files as a table."""

import sys

from judgekit import paths
from judgekit.sources import find_source, sources


def chosen_sources(names):
    """The registered files that names and families stand for; all without names."""
    paths.data_mirror()  # a wrong JUDGEKIT_DATA is told here, before anything is fetched
    if not names:
        return sources()
    chosen = {record.name: record for name in names for record in sources(name) or [find_source(name)]}
    return list(chosen.values())


def print_sources(chosen, by_file):
    """A table on standard output: a line per file, or per family, split and licence."""
    groups = {}
    for record in chosen:
        key = (record.name if by_file else record.source, record.split, record.licence)
        groups.setdefault(key, []).append(record)
    lines = [("name" if by_file else "source", "files", "MB", "here", "split", "licence")]
    for (name, split, licence), records in groups.items():
        size = f"{sum(record.bytes for record in records) / 1e6:.1f}"
        here = sum(map(is_here, records))
        lines.append((name, str(len(records)), size, "yes" if here == len(records) else f"{here}", split, licence))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for cells in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())
    sys.stdout.flush()


def is_here(record):
    """Whether a file is in the mirror, or without one in the cache (its content is not checked)."""
    path = (paths.data_mirror() or paths.data_cache()) / record.mirror_path
    return path.is_file() or path.with_name(path.name + ".gz").is_file()
