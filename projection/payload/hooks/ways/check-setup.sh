#!/bin/sh
# SessionStart (startup): say so once when the program is missing; silent otherwise.
trap 'exit 0' EXIT
[ -r "${0%/*}/require-ways.sh" ] && . "${0%/*}/require-ways.sh" || exit 0
find_ways || printf '%s\n' '{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"The ways hooks are set up here, but the ways program was not found, so no guidance will be shown in this session. Tell the user once, in one sentence, that running the ways installer again repairs this."}}'
exit 0
