"""`python -m ways`."""

import sys

from ways.entry import main

sys.exit(main())
