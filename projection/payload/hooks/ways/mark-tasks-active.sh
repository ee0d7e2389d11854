#!/bin/sh
# PreToolUse on TaskCreate: note that tasks are in use.
trap 'exit 0' EXIT
[ -r "${0%/*}/require-ways.sh" ] && . "${0%/*}/require-ways.sh" || exit 0
run_ways hook tasks-active
exit 0
