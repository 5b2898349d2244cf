"""What one notebook needs and is too long for it."""
