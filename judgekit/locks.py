"""The operating system's locks on open files: they go with the process that holds them, however that ends."""

import os


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
    """
    try:
        if os.name == "nt":
            import msvcrt

            os.lseek(descriptor, 2**30, os.SEEK_SET)  # a lock there is keeps others from reading the bytes it covers
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
