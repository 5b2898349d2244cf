"""``python -m judgekit``: the command line."""

import sys

from judgekit.cli import main

sys.exit(main())
