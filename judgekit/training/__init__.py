"""Training judges: surface features and encoders."""
