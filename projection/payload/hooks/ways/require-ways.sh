# Shared by the adapters, which source it: finds the program and runs it. Plain POSIX sh.
# Why the program is a child and not exec'd: an adapter must exit 0 whatever the program does.

# Sets $ways_program. Fails when there is none. The target's own link comes first. The path is cut as
# text: $0 leads through links, and `..` would leave the target for the folder that they point to.
find_ways() {
    case $0 in
        */hooks/*)
            # The hook knows by this for which config directory it was written.
            WAYS_TARGET=${0%/hooks/*}
            export WAYS_TARGET
            ways_program=$WAYS_TARGET/bin/ways
            ;;
        *) ways_program= ;;
    esac
    [ -f "$ways_program" ] && [ -x "$ways_program" ] && return 0
    case ${XDG_DATA_HOME-} in
        /*) ways_program=$XDG_DATA_HOME/agent-ways/bin/ways ;;
        *) ways_program=${HOME-}/.local/share/agent-ways/bin/ways ;;
    esac
    [ -z "${WAYS_APP_ROOT-}" ] || ways_program=$WAYS_APP_ROOT/bin/ways
    [ -f "$ways_program" ] && [ -x "$ways_program" ]
}

# Runs the program on the hook's payload and waits for it. A background child with its own copy of
# stdin, because a shell that waits in the foreground would not pass on the signal that ends a hook.
run_ways() {
    find_ways || return 0
    exec 3<&0
    "$ways_program" "$@" <&3 3<&- &
    trap 'kill "$!" 2>/dev/null' HUP INT TERM
    wait "$!"
}

# Starts the program and leaves it running. It keeps no handle of the caller's: Claude Code waits
# until the last holder of a hook's stdout is gone.
start_ways() {
    find_ways || return 0
    (
        trap '' HUP INT
        exec "$ways_program" "$@"
    ) </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
}
