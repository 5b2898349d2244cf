"""The machinery behind the notebooks: judge, score and study LLM-as-a-judge.

Importing the package is cheap; torch and its friends load inside the judge and training modules only.
"""

__version__ = "0.1.0"
