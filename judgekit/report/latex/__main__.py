"""``python -m judgekit.report.latex --run laptop``."""

import sys

from judgekit.report.latex.compiler import main

sys.exit(main())
