"""People: votes, consensus, calibration, replacing annotators, and the labelling page."""
