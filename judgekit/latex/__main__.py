"""``python -m judgekit.latex --run laptop``."""

import sys

from judgekit.latex.compiler import main

sys.exit(main())
