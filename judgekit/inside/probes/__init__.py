"""Probes: small classifiers on vectors that stand for texts, chosen so that no test item has a say in the choice.

scikit-learn is imported where probes are fitted, not where a saved one predicts (`judgekit.inside.probes.saved`).
"""
