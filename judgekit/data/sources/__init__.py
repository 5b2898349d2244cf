"""Pinned upstream files: what they are, where they come from, a verified copy of each, and its rows.

Every file is named ``<source>/<path>``, is pinned by repository, commit and SHA-256, and is read either from the
mirror that ``JUDGEKIT_DATA`` names or from a download kept under ``data/``. Nothing is read unverified.
"""

from judgekit.data.sources.fetching import fetch_all, read_bytes
from judgekit.data.sources.registry import DataError, Source, find_source, source_hashes, source_names, sources
from judgekit.data.sources.rows import Row, heads, parse_json, read_document, read_rows, text_key

__all__ = [
    "DataError",
    "Row",
    "Source",
    "fetch_all",
    "find_source",
    "heads",
    "parse_json",
    "read_bytes",
    "read_document",
    "read_rows",
    "source_hashes",
    "source_names",
    "sources",
    "text_key",
]
