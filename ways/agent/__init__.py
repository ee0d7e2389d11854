"""The ways agent: one resident process a user that keeps the keys and asks the relevance judge.

It never matches and knows nothing of sessions; hooks reach it through `ways.gate.link`.
"""
