r"""Results become a document: ``results/*.json`` -> ``numbers.tex`` -> ``\result{key}`` -> PDF.

``python -m judgekit.report.latex --run laptop`` compiles every document. Every key, table and figure that the text
quotes is checked before LaTeX starts, so that a missing one is named with its file and line.
"""

from judgekit.report.escaping import escape, typeset
from judgekit.report.latex.compiler import DOCUMENTS, BuildError, build, main
from judgekit.report.latex.generated import write_generated, write_numbers
from judgekit.report.latex.quotes import MissingResult, check_keys, document_files, find_quotes

__all__ = [
    "DOCUMENTS",
    "BuildError",
    "MissingResult",
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
