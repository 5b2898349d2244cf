"""People's votes: what they say together, how good the voters are, and what a judge is worth beside them."""
