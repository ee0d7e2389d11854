#!/bin/sh
# SessionStart (startup): say so once when the program is missing or cannot start; silent otherwise.
trap 'exit 0' EXIT
[ -r "${0%/*}/require-ways.sh" ] && . "${0%/*}/require-ways.sh" || exit 0
# --noop starts the program and leaves at once.
find_ways && "$ways_program" --noop </dev/null >/dev/null 2>&1 && exit 0
printf '%s\n' '{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"The ways hooks are set up here, but the ways program was not found or does not start, so no guidance will be shown in this session. Tell the user once, in one sentence, that running the ways installer again repairs this."}}'
exit 0
