"""People's votes: what they say together, how good the voters are, and what a judge is worth beside them.

Votes are made by `data.votes`, where every row has a key; what reads a judge's probabilities refuses other rows.
"""
