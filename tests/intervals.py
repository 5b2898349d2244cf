"""How often an estimator's intervals hold the truth that was planted."""


def coverage(estimate, truth, make_table, simulations=1000):
    """In how many simulations, numbered from 0, an estimator's interval (``low``, ``high``) holds the truth."""
    estimates = (estimate(make_table(number)) for number in range(simulations))
    return sum(bool(one.low <= truth <= one.high) for one in estimates)
