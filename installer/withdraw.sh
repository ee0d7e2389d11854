#!/bin/sh
# Takes ways out of every Claude Code config directory when its program has been deleted by hand.
#   sh ~/.local/state/agent-ways/withdraw.sh
# Needs a POSIX shell and awk. What it removes is what the records beside it name: our entries in
# settings.json, our links, and copies of ours that nobody has changed. Whatever it cannot read it leaves
# alone and names. While the program works, `ways uninstall` does more.
set -u
installed='' # the app root; written in when this script is put in place
LC_ALL=C
export LC_ALL
trouble=0

say() { printf '%s\n' "$*"; }
warn() {
    printf 'withdraw.sh: %s\n' "$*" >&2
    trouble=1
}

case $0 in
*/*) state=${0%/*} ;;
*) state=. ;;
esac
state=$(cd "$state" && pwd) || exit 1

# A reader of JSON that knows where everything stands. Modes: record and base print what they hold as lines
# with tabs between the fields, check only reads, settings prints the file without what $doomed lists.
# shellcheck disable=SC2016
json='
function fail(why) { print why > "/dev/stderr"; failed = 1; exit 3 }
function blanks() { while (P <= N && index(" \t\r\n", substr(T, P, 1)) > 0) P++ }
function hex(digits,   i, n, d) {
    n = 0
    for (i = 1; i <= length(digits); i++) {
        d = index("0123456789abcdef", tolower(substr(digits, i, 1)))
        if (d == 0) fail("a bad \\u at character " P)
        n = n * 16 + d - 1
    }
    return n
}
function utf8(n) {
    if (n < 128) return sprintf("%c", n)
    if (n < 2048) return sprintf("%c%c", 192 + int(n / 64), 128 + n % 64)
    if (n < 65536) return sprintf("%c%c%c", 224 + int(n / 4096), 128 + int(n / 64) % 64, 128 + n % 64)
    return sprintf("%c%c%c%c", 240 + int(n / 262144), 128 + int(n / 4096) % 64, 128 + int(n / 64) % 64, 128 + n % 64)
}
function string(   s, c, n, low) {
    s = ""
    for (P++; P <= N; P++) {
        c = substr(T, P, 1)
        if (c == "\"") { P++; return s }
        if (c < " ") fail("a control character in a string, at character " P)
        if (c != "\\") { s = s c; continue }
        c = substr(T, ++P, 1)
        if (c == "u") {
            n = hex(substr(T, P + 1, 4))
            P += 4
            if (n >= 55296 && n < 56320 && substr(T, P + 1, 2) == "\\u") {
                low = hex(substr(T, P + 3, 4))
                if (low >= 56320 && low < 57344) { n = 65536 + (n - 55296) * 1024 + low - 56320; P += 6 }
            }
            s = s (n == 0 ? "?" : utf8(n))
        } else if (index("\"\\/bfnrt", c) > 0 && c != "") {
            if (c == "b") c = "\b"; else if (c == "f") c = "\f"; else if (c == "n") c = "\n"
            else if (c == "r") c = "\r"; else if (c == "t") c = "\t"
            s = s c
        } else fail("a bad escape at character " P)
    }
    fail("a string without an end")
}
function value(name, at,   n, c, rest, sub_name, sub_at) {
    n = ++count
    key[n] = name; start[n] = at; kids[n] = 0
    blanks()
    if (at == 0) start[n] = P
    from[n] = P
    c = substr(T, P, 1)
    if (c == "{") {
        kind[n] = "object"; P++; blanks()
        if (substr(T, P, 1) == "}") P++
        else for (;;) {
            blanks()
            if (substr(T, P, 1) != "\"") fail("no name at character " P)
            sub_at = P; sub_name = string(); blanks()
            if ((n, sub_name) in member) fail("a name that is there twice at character " sub_at)
            if (substr(T, P, 1) != ":") fail("no colon at character " P)
            P++
            member[n, sub_name] = kid[n, ++kids[n]] = value(sub_name, sub_at)
            blanks(); c = substr(T, P, 1); P++
            if (c == "}") break
            if (c != ",") fail("no comma at character " P - 1)
        }
    } else if (c == "[") {
        kind[n] = "array"; P++; blanks()
        if (substr(T, P, 1) == "]") P++
        else for (;;) {
            kid[n, ++kids[n]] = value("", 0)
            blanks(); c = substr(T, P, 1); P++
            if (c == "]") break
            if (c != ",") fail("no comma at character " P - 1)
        }
    } else if (c == "\"") { kind[n] = "string"; text[n] = string() }
    else {
        kind[n] = "plain"
        rest = ""
        while (P <= N && substr(T, P, 1) ~ /[-+.0-9A-Za-z]/) { rest = rest substr(T, P, 1); P++ }
        if (rest !~ /^(true|false|null|-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?)$/) fail("no value at character " P)
        text[n] = rest
    }
    to[n] = P
    return n
}
function part(n, name) { return ((n, name) in member) ? member[n, name] : 0 }
function told(n) { return n && kind[n] == "string" ? text[n] : "" }
function plain(s) { return s !~ /[\001-\037]/ }
function emit(n,   i, c, out, first, before) {
    if (kids[n] == 0) return substr(T, from[n], to[n] - from[n])
    first = 1
    for (i = 1; i <= kids[n]; i++) {
        c = kid[n, i]
        if (c in gone) continue
        if (first) out = substr(T, from[n], start[kid[n, 1]] - from[n])
        else { before = kid[n, i - 1]; out = out substr(T, to[before], start[c] - to[before]) }
        out = out substr(T, start[c], from[c] - start[c]) emit(c)
        first = 0
    }
    if (first) return kind[n] == "object" ? "{}" : "[]"
    c = kid[n, kids[n]]
    return out substr(T, to[c], to[n] - to[c])
}
# True when a container had something in it and everything in it goes.
function emptied(n,   i) {
    for (i = 1; i <= kids[n]; i++) if (!(kid[n, i] in gone)) return 0
    return kids[n] > 0
}
function forget_hooks(hooks,   i, j, k, event, group, list, entry, command) {
    for (i = 1; i <= kids[hooks]; i++) {
        event = kid[hooks, i]
        if (kind[event] != "array") continue
        for (j = 1; j <= kids[event]; j++) {
            group = kid[event, j]
            list = kind[group] == "object" ? part(group, "hooks") : 0
            if (!list || kind[list] != "array") continue
            for (k = 1; k <= kids[list]; k++) {
                entry = kid[list, k]
                command = kind[entry] == "object" ? told(part(entry, "command")) : ""
                if (command != "" && (("hook\t" key[event] "\t" command) in doomed)) gone[entry] = 1
            }
            if (emptied(list)) gone[group] = 1
        }
        if (emptied(event) && !(("had\thooks/" key[event]) in doomed)) gone[event] = 1
    }
    if (emptied(hooks) && !("had\thooks" in doomed)) gone[hooks] = 1
}
function forget_permissions(all,   i, j, list, entry) {
    for (i = 1; i <= kids[all]; i++) {
        list = kid[all, i]
        if (kind[list] != "array") continue
        for (j = 1; j <= kids[list]; j++) {
            entry = kid[list, j]
            if (kind[entry] == "string" && (("permission\t" key[list] "\t" text[entry]) in doomed)) gone[entry] = 1
        }
        if (emptied(list) && !(("had\tpermissions/" key[list]) in doomed)) gone[list] = 1
    }
    if (emptied(all) && !("had\tpermissions" in doomed)) gone[all] = 1
}
function print_record(   i, j, list, entry, hashes, line) {
    print "path\t" told(part(root, "path"))
    list = part(root, "entries")
    for (i = 1; i <= kids[list]; i++) {
        entry = kid[list, i]
        hashes = ""
        for (j = 1; j <= kids[part(entry, "hashes")]; j++) hashes = hashes " " told(kid[part(entry, "hashes"), j])
        line = told(part(entry, "kind")) "\t" told(part(entry, "path")) "\t" told(part(entry, "target")) "\t" hashes
        if (told(part(entry, "path")) !~ /(^|\/)\.\.(\/|$)/) print "entry\t" line
    }
    list = part(root, "folders")
    for (i = kids[list]; i >= 1; i--) print "folder\t" told(kid[list, i])
}
function print_base(   i, j, list, lists, entry, had) {
    list = part(root, "hooks_user_had")
    for (i = 1; i <= kids[list]; i++) had[told(part(kid[list, i], "event")) "\t" told(part(part(kid[list, i], "fields"), "command"))] = 1
    list = part(root, "hooks")
    for (i = 1; i <= kids[list]; i++) {
        entry = told(part(kid[list, i], "event")) "\t" told(part(part(kid[list, i], "fields"), "command"))
        if (!(entry in had) && plain(told(part(part(kid[list, i], "fields"), "command")))) print "hook\t" entry
    }
    lists = part(root, "permissions")
    for (i = 1; i <= kids[lists]; i++) {
        split("", had)
        list = part(kid[lists, i], "user_had")
        for (j = 1; j <= kids[list]; j++) had[told(kid[list, j])] = 1
        list = part(kid[lists, i], "written")
        for (j = 1; j <= kids[list]; j++)
            if (!(told(kid[list, j]) in had) && plain(told(kid[list, j])))
                print "permission\t" key[kid[lists, i]] "\t" told(kid[list, j])
    }
    list = part(root, "had_empty")
    for (i = 1; i <= kids[list]; i++) print "had\t" key[kid[list, i]]
    entry = part(root, "created")
    if (entry && text[entry] == "true") print "created"
}
BEGIN {
    mode = ENVIRON["mode"]
    while ((getline line < ENVIRON["file"]) > 0) { T = T line "\n"; lines++ }
    if (ENVIRON["newline"] == "no") T = substr(T, 1, length(T) - 1)
    if (lines == 0) fail("nothing can be read")
    N = length(T)
    P = substr(T, 1, 3) == "\357\273\277" ? 4 : 1
    head = P
    root = value("", 0)
    blanks()
    if (P <= N) fail("more than one value, at character " P)
    if (kind[root] != "object") fail("it is no object")
    if (mode == "record") print_record()
    else if (mode == "base") print_base()
    else if (mode == "settings") {
        while ((getline line < ENVIRON["doomed"]) > 0) doomed[line] = 1
        if (part(root, "hooks") && kind[part(root, "hooks")] == "object") forget_hooks(part(root, "hooks"))
        if (part(root, "permissions") && kind[part(root, "permissions")] == "object")
            forget_permissions(part(root, "permissions"))
        if (emptied(root) && ("created" in doomed)) exit 10
        printf "%s", substr(T, 1, from[root] - 1) emit(root) substr(T, to[root])
    }
    exit 0
}'

# read_json MODE FILE: what the reader prints about a file. Its exit code is 3 when it cannot be read.
read_json() {
    newline=yes
    [ -z "$(tail -c 1 "$2")" ] || newline=no
    mode=$1 file=$2 newline=$newline doomed=${doomed-} awk "$json"
}

sha256_of() {
    if command -v sha256sum >/dev/null 2>&1; then
        sum=$(sha256sum <"$1")
    elif command -v shasum >/dev/null 2>&1; then
        sum=$(shasum -a 256 <"$1")
    else
        sum=$(openssl dgst -sha256 -r <"$1" 2>/dev/null)
    fi
    printf %s "${sum%% *}"
}

# real_file PATH: sets $real to the file that a path leads to through its own links.
real_file() {
    real=$1
    hops=0
    while [ -h "$real" ] && [ "$hops" -lt 40 ]; do
        hops=$((hops + 1))
        link=$(readlink "$real")
        case $link in
        /*) real=$link ;;
        *) real=${real%/*}/$link ;;
        esac
    done
}

# Takes our entries out of one settings.json. False when the file has to stay as it is.
clean_settings() {
    settings=$1/settings.json
    [ -e "$settings" ] || return 0
    if [ ! -f "$2/settings-base.json" ]; then
        warn "$settings: what was written there is not known; remove the hooks below $1/hooks/ways by hand"
        return 1
    fi
    doomed=$2/withdraw.lines
    read_json base "$2/settings-base.json" >"$doomed" || {
        warn "$2/settings-base.json is damaged, so $settings stays as it is"
        return 1
    }
    real_file "$settings"
    new=$2/withdraw.json
    read_json settings "$real" >"$new" 2>"$2/withdraw.why"
    code=$?
    if [ "$code" = 10 ]; then
        cp -p "$real" "$2/settings-before-withdraw.json" && rm -f "$real" && say "removed $settings" && return 0
        warn "$settings cannot be removed"
        return 1
    fi
    if [ "$code" != 0 ] || ! read_json check "$new" 2>/dev/null; then
        warn "$settings cannot be read ($(cat "$2/withdraw.why")), so it stays as it is; remove by hand:"
        sed -n 's/^hook	//p' "$doomed" >&2
        return 1
    fi
    if cmp -s "$real" "$new"; then
        return 0
    fi
    cp -p "$real" "$2/settings-before-withdraw.json" || {
        warn "no copy of $settings can be kept, so it stays as it is"
        return 1
    }
    # Beside the real file, with its mode and owner, then into its place in one step.
    if [ -w "$real" ] && cp -p "$real" "$real.ways-withdraw" && cat "$new" >"$real.ways-withdraw" &&
        mv -f "$real.ways-withdraw" "$real"; then
        say "took the hooks of ways out of $settings"
        return 0
    fi
    rm -f "$real.ways-withdraw"
    warn "$settings cannot be written"
    return 1
}

# Removes one entry of ours: KIND PATH TARGET HASHES.
remove_entry() {
    case $1 in
    link)
        if [ -h "$2" ] && [ "$(readlink "$2")" = "$3" ]; then
            rm -f "$2" || warn "$2 cannot be removed"
        fi
        ;;
    *)
        [ -f "$2" ] && [ ! -h "$2" ] || return 0
        case " $4 " in
        *" $(sha256_of "$2") "*) rm -f "$2" || warn "$2 cannot be removed" ;;
        *) warn "$2 is not as ways wrote it, so it stays" ;;
        esac
        ;;
    esac
}

withdraw_target() {
    store=$1
    lines=$store/withdraw.record
    read_json record "$store/record.json" >"$lines" || {
        warn "$store/record.json is damaged; nothing of that target was touched"
        return
    }
    target=$(sed -n 's/^path	//p' "$lines")
    case $target in
    /*) ;;
    *) warn "$store/record.json names no folder" && return ;;
    esac
    clean_settings "$target" "$store" || return
    tab='	'
    while IFS= read -r line; do
        rest=${line#*"$tab"}
        case $line in
        entry"$tab"*)
            kind=${rest%%"$tab"*}
            rest=${rest#*"$tab"}
            name=${rest%%"$tab"*}
            rest=${rest#*"$tab"}
            remove_entry "$kind" "$target/$name" "${rest%%"$tab"*}" "${rest#*"$tab"}"
            ;;
        folder"$tab"*) rmdir "$rest" 2>/dev/null || : ;;
        esac
    done <"$lines"
    if [ -d "$state/backups/${store##*/}" ]; then
        say "what ways once moved away is in $state/backups/${store##*/}"
    fi
    rm -f "$store/record.json" "$store/settings-base.json" "$store"/withdraw.lines "$store"/withdraw.json \
        "$store"/withdraw.why "$store"/withdraw.record
    say "$target is free of ways"
}

# The rest of an app root whose removal was killed: only names that ways makes, only in a folder of its name.
finish_removal() {
    grep -q '"operation": "uninstall"' "$state/update-journal.json" 2>/dev/null || return 0
    [ "${app##*/}" = agent-ways ] && [ -d "$app" ] && [ ! -h "$app" ] || return 0
    for name in versions bin hooks skills agents commands settings.json current previous current.txt rollback.sh; do
        rm -rf "${app:?}/$name"
    done
    rm -rf "$app"/.*.ways-tmp-*
    rmdir "$app" 2>/dev/null || warn "$app holds what is not ours, so it stays"
    rm -f "$state/update-journal.json"
}

case ${XDG_DATA_HOME-} in
/*) app=$XDG_DATA_HOME/agent-ways ;;
*) app=${HOME-}/.local/share/agent-ways ;;
esac
app=${WAYS_APP_ROOT:-${installed:-$app}}
if [ "${1-}" != --anyway ] && [ -x "$app/bin/ways" ] && "$app/bin/ways" --version >/dev/null 2>&1 </dev/null; then
    printf 'withdraw.sh: the program is there and works.  Next: ways uninstall (or withdraw.sh --anyway)\n' >&2
    exit 3
fi
for record in "$state"/projection/*/record.json; do
    [ -f "$record" ] || continue
    withdraw_target "${record%/record.json}"
done
finish_removal
[ "$trouble" = 0 ] || exit 3
say 'ways is out of every target.'
