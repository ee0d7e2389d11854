"""A mirror of the open GitHub issues of a project, for the sessions that work in it."""
