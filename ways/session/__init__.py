"""What the engine remembers within one Claude Code session, and what it reads of its transcript."""
