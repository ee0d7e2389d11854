"""What everything stands on: roots, files, locking, ids, text, clock and the process environment.

Nothing here imports from the layers above (docs/architecture.md), and nothing here imports a
module that costs more than a hook (no dataclasses, typing, pathlib, subprocess at import time).
"""
