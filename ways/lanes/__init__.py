"""The eleven lanes of `ways hook <event>` (spec: hooks). The only place where reading, matching,
showing and logging meet. A lane returns what it could do; `ways.lanes.dispatch` is the one place
that catches, logs and exits 0."""
