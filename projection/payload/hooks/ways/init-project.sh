#!/bin/sh
# SessionStart (startup, clear): the project's own ways folder, where it is missing.
trap 'exit 0' EXIT
[ -r "${0%/*}/require-ways.sh" ] && . "${0%/*}/require-ways.sh" || exit 0
run_ways init --project-only --quiet </dev/null >/dev/null
exit 0
