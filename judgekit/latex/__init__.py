r"""Results become a document: ``results/*.json`` -> ``numbers.tex`` -> ``\result{key}`` -> PDF.

``python -m judgekit.latex --run laptop`` compiles every document. Every key, table and figure that the text
quotes is checked before LaTeX starts, so that a missing one is named with its file and line.
"""

from judgekit.escaping import escape, typeset
from judgekit.latex.compiler import DOCUMENTS, BuildError, build, main
from judgekit.latex.generated import write_generated, write_numbers
from judgekit.latex.quotes import MissingResult, Quote, check_keys, document_files, find_quotes

__all__ = [
    "DOCUMENTS",
    "BuildError",
    "MissingResult",
    "Quote",
    "build",
    "check_keys",
    "document_files",
    "escape",
    "find_quotes",
    "main",
    "typeset",
    "write_generated",
    "write_numbers",
]
