"""ways: short pieces of guidance in front of a coding agent at the moment they matter."""

__version__ = "0.1.0"
