#!/bin/sh
# Stop: record the agent's last response.
trap 'exit 0' EXIT
[ -r "${0%/*}/require-ways.sh" ] && . "${0%/*}/require-ways.sh" || exit 0
run_ways hook stop
exit 0
