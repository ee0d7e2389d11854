#!/bin/sh
# SessionStart and UserPromptSubmit: core guidance and state triggers.
trap 'exit 0' EXIT
[ -r "${0%/*}/require-ways.sh" ] && . "${0%/*}/require-ways.sh" || exit 0
run_ways hook state
exit 0
