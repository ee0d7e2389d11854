#!/bin/sh
# Goes back to the version before, without running any program of ways: for a version that does not start.
#   sh ~/.local/share/agent-ways/rollback.sh
# Written by ways; its place in the app root says which installation is meant.

fail() {
    printf 'rollback.sh: %s\n' "$1" >&2
    exit 1
}

# Renames a link over another one in one step. Plain `mv` would move it into the folder that the old one
# leads to; GNU says -T for that, BSD and macOS say -h.
put_link() {
    rm -f "$2.new.$$"
    ln -s "$1" "$2.new.$$" || return 1
    mv -fT "$2.new.$$" "$2" 2>/dev/null && return 0
    mv -fh "$2.new.$$" "$2" 2>/dev/null && return 0
    # Neither: a moment without the link.
    rm -f "$2" && mv -f "$2.new.$$" "$2"
}

# A silent stand-in for every hook script that settings files may still name and that version lacks.
keep_adapters() {
    for script in current/hooks/*.sh current/hooks/ways/*.sh; do
        there=$versions_before/${script#current/}
        [ -x "$script" ] || continue
        [ -e "$there" ] && continue
        mkdir -p "${there%/*}" || return 1
        printf '#!/bin/sh\n# No longer used. It stands here until no settings file names it.\nexit 0\n' >"$there" &&
            chmod 755 "$there" || return 1
    done
}

case $0 in
    */*) app=${0%/*} ;;
    *) app=. ;;
esac
cd "$app" || fail "$app cannot be entered"
[ -h current ] || fail "$PWD holds no installation of ways (there is no link named current)"
[ -h previous ] || fail "there is no version to go back to"
now=$(readlink current) || fail "current cannot be read"
versions_before=$(readlink previous) || fail "previous cannot be read"
[ "$now" != "$versions_before" ] || fail "there is no version to go back to: current and previous are the same"
[ -x "$versions_before/bin/ways" ] || fail "$PWD/$versions_before holds no program"
"$versions_before/bin/ways" --version >/dev/null 2>&1 </dev/null ||
    fail "$PWD/$versions_before/bin/ways does not start either; run the ways installer again"

keep_adapters || fail "$versions_before cannot be written"
put_link "$versions_before" current || fail "current cannot be changed"
put_link "$now" previous || fail "previous cannot be changed"
printf 'ways is %s again (it was %s).\n' "${versions_before##*/}" "${now##*/}"
if ! ./bin/ways reconcile --quiet </dev/null; then
    printf 'rollback.sh: the targets were not all brought up to date.  Next: ways reconcile\n' >&2
fi
exit 0
