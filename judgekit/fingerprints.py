"""Hashes over everything that a result depends on."""

import hashlib
import json


def fingerprint_of(*parts) -> str:
    """SHA-256 over JSON-able parts, the usual way to make a fingerprint."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
