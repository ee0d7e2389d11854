"""Claude Code's project history, `<config>/projects/<slug>/<session>.jsonl`: reading it and tidying it up.

It is another program's data and the user's own words: everything that changes it is a plan first, a move
into the trash second, and never more than that.
"""
