"""Provenance: which policy a way rests on, which controls it helps to meet, and whether that still holds."""
