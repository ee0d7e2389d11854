#!/bin/sh
# PreToolUse on Bash and PowerShell: keep links to the session out of commits, pull requests and issues.
trap 'exit 0' EXIT
[ -r "${0%/*}/require-ways.sh" ] && . "${0%/*}/require-ways.sh" || exit 0
run_ways hook session-link
exit 0
