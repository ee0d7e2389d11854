"""The relevance gate, hook side: which hits are judged, and what follows from a verdict.

The gate can veto, never add, and fails open: without a verdict the matcher's decision stands. It
asks the ways agent (`ways.agent`, a process of its own) and never reads a key itself.
"""
