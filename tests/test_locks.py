"""Locks of open files: one holder at a time, and a file system without locks is no busy file."""

import errno
import fcntl

import pytest

from judgekit.locks import try_lock


def test_a_lock_has_one_holder_and_goes_with_it(tmp_path):
    with open(tmp_path / "f", "a") as second:
        with open(tmp_path / "f", "a") as first:
            assert try_lock(first.fileno()) and not try_lock(second.fileno())
        assert try_lock(second.fileno())


def test_a_file_system_without_locks_is_not_called_busy(tmp_path, monkeypatch):
    def unsupported(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with open(tmp_path / "f", "a") as stream, pytest.raises(OSError, match="No locks"):
        try_lock(stream.fileno())
