"""What a judge's verdicts are worth beside people's: calibration, and estimates that are made of both."""
