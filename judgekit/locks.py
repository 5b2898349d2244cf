"""The operating system's locks on open files: they go with the process that holds them, however that ends."""

import os

FAR = 2**30  # on Windows a lock keeps others from reading the bytes it covers: it stands beyond them


def try_lock(descriptor):
    """Take the lock of an open file.

    Parameters
    ----------
    descriptor : int
        Of a file that is open for writing; closing it gives the lock back.

    Returns
    -------
    bool
        False where another process, or another opening of the file in this one, holds it.

    Raises
    ------
    OSError
        If the file system has no locks.
    """
    if os.name == "nt":
        return _try_lock_far(descriptor)
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _try_lock_far(descriptor):
    import msvcrt

    place = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, FAR, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except PermissionError:
        return False
    finally:
        os.lseek(descriptor, place, os.SEEK_SET)
    return True
