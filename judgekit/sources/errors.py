"""The one error of the data layer."""


class DataError(Exception):
    """A data file is missing, damaged or malformed; the message names the file and what to do about it."""
