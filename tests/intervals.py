"""How often an estimator's intervals hold the truth that was planted."""


def held(numbers, truth):
    """How many intervals (``low``, ``high``) hold the truth."""
    return sum(bool(number.low <= truth <= number.high) for number in numbers)


def coverage(estimate, truth, make_table, simulations=1000):
    """In how many simulations, numbered from 0, an estimator's interval holds the truth."""
    return held((estimate(make_table(number)) for number in range(simulations)), truth)
