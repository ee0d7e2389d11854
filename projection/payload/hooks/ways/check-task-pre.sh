#!/bin/sh
# PreToolUse on Task and Agent: stash the ways of the subagent to come.
trap 'exit 0' EXIT
[ -r "${0%/*}/require-ways.sh" ] && . "${0%/*}/require-ways.sh" || exit 0
run_ways hook task
exit 0
