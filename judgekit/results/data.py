"""Tables keyed by item id that a notebook leaves for later notebooks."""

import gzip

from judgekit import paths
from judgekit.results.files import replaced
from judgekit.results.numbers import checked_name


def save_data(run, name, frame):
    """Write a table to ``outputs/<run>/data/<name>.csv.gz``.

    Parameters
    ----------
    run, name : str
    frame : pandas.DataFrame
        Ids, labels and numbers. No dataset text belongs here: these files are tracked.

    Returns
    -------
    pathlib.Path
        Neither a date nor the temporary file's name is written into it: an unchanged table is an unchanged file.
    """
    path = paths.run_folder(run, "data") / f"{checked_name(name)}.csv.gz"
    with replaced(path) as temporary:
        text = frame.to_csv(index=False, lineterminator="\n")
        temporary.write_bytes(gzip.compress(text.encode("utf-8"), compresslevel=9, mtime=0))
    return path


def load_data(run, name):
    """Read what `save_data` wrote.

    Raises
    ------
    FileNotFoundError
        If the notebook that writes it has not been run.
    """
    import pandas as pd  # half a second that the report's build, which reads none, does without

    path = paths.run_folder(run, "data") / f"{checked_name(name)}.csv.gz"
    if not path.is_file():
        raise FileNotFoundError(f"{path}: not there yet; run the notebook that writes it first")
    return pd.read_csv(path, keep_default_na=False)
