"""What can be wrong with a model, or a judge on one, before it has said anything."""


class Unavailable(ValueError):
    """What is asked for is not there, or is not what it should be."""
