"""Which Windows the tests of the Windows code run on: none, Wine's, or the real one.

The tests that need Windows run on it in the release job, and under Wine through tests/e2e/test_wine.py.
"""

from __future__ import annotations

import sys

import pytest


def is_wine() -> bool:
    """True under Wine, whose ntdll names its own version."""
    if sys.platform != "win32":
        return False
    import ctypes

    return hasattr(ctypes.WinDLL("ntdll"), "wine_get_version")


on_windows = pytest.mark.skipif(sys.platform != "win32", reason="needs Windows")
on_real_windows = pytest.mark.skipif(
    sys.platform != "win32" or is_wine(), reason="needs Windows itself: Wine does not do it"
)
off_windows = pytest.mark.skipif(sys.platform == "win32", reason="what other systems answer")
