"""How judges are misled by what should not matter: position, length and form, and who wrote the response.

Every study reads one table (`judgekit.bias.judged`), real or planted (`judgekit.bias.planted`): what an estimator says
of a judge whose biases are known is its proof.
"""
