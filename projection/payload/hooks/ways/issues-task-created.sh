#!/bin/sh
# TaskCreated: refuse a task that repeats an open issue without naming it. Exit code 2 refuses, so it must
# not come from a crash or a damaged file: only a whole answer, from its first line to its last, leads to it.
trap 'exit 0' EXIT
[ -r "${0%/*}/require-ways.sh" ] && . "${0%/*}/require-ways.sh" || exit 0
answer=$(run_ways hook issues-task-created)
begin='ways: refuse this task
'
end='
ways: end of the reason'
case $answer in
    "$begin"?*"$end") ;;
    *) exit 0 ;;
esac
answer=${answer#"$begin"}
printf '%s\n' "${answer%"$end"}" >&2
trap - EXIT
exit 2
