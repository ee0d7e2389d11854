"""Our slice of Claude Code's settings.json: a three-way merge into a file that is the user's.

Reading order: `text` (byte-faithful JSON), `shape` (what Claude Code accepts), `slices` (what we
want), `recognise` (what is ours), `base` (what we wrote last), `ownership`, `merge`, `view` (the
user's part), `plan`, `apply`. The rules: spec "Projection", section settings.json.
"""
