"""The start of the empty program that the benchmarks call F: it ends at once.

It takes the place of build/pyinstaller/fastboot.py when the empty program is frozen, with everything
else of the recipe as for the product.
"""

import sys


def leave() -> None:
    """End the process as the product does: without taking the interpreter down."""
    if sys.platform == "win32":
        import nt as system
    else:
        import posix as system
    system._exit(0)


leave()
