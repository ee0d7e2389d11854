#!/bin/sh
# SubagentStart: give the subagent the ways stashed for it.
trap 'exit 0' EXIT
[ -r "${0%/*}/require-ways.sh" ] && . "${0%/*}/require-ways.sh" || exit 0
run_ways hook subagent-start
exit 0
