#!/bin/sh
# Installs ways for the current user on Linux and macOS, without Python and without root.
#
#     curl -fsSL <release base>/install.sh | sh
#     sh install.sh [options]          sh install.sh --help lists them
#
# Nothing of the user's own is changed, except that `ways` becomes callable (a link in ~/.local/bin and, where
# that folder is not on the PATH, one line in the shell's start file). Hooks are put into a Claude Code config
# directory only when one is named: --activate DIR here, or `ways init` later.
#
# What is trusted: the release base, over TLS. The archive must have the size and the SHA-256 that the signed
# targets metadata there gives. The signatures themselves are checked by `ways update`, whose keys are in the
# program that this installs.
#
# Everything runs from main, at the end of the file, so that half a download of this script does nothing.

set -u
unset CDPATH TAR_OPTIONS GZIP POSIXLY_CORRECT

release_base='' # where releases are served; written in when a release is published
separator='  Next: '
newline='
'

say() { printf '%s\n' "$*" >&3; }
warn() { printf 'ways: %s\n' "$*" >&2; }
# stop MESSAGE [NEXT [EXIT CODE]]
stop() {
    printf 'ways: %s%s\n' "$1" "${2:+$separator$2}" >&2
    exit "${3:-1}"
}

usage() {
    cat <<'END'
Installs ways for you alone, below your home folder.

    sh install.sh [options]

    --version X         this version, not the newest                        WAYS_VERSION
    --base URL          where releases are: an https address, a folder      WAYS_RELEASE_BASE
                        or a file:// address (mirror, air-gapped machine)
    --archive FILE      install this archive; nothing is downloaded         WAYS_ARCHIVE
    --sha256 HEX        the SHA-256 that the archive must have              WAYS_SHA256
    --dir DIR           install below this folder, in DIR/agent-ways
    --activate DIR      put hooks into this Claude Code config directory    WAYS_ACTIVATE
    --no-path           no link in ~/.local/bin, no line in a start file    WAYS_NO_PATH=1
    --unattended        ask nothing (so it is without a terminal, too)      WAYS_UNATTENDED=1
    --allow-downgrade   with --version: also one older than the present     WAYS_ALLOW_DOWNGRADE=1
    --help              this text

Proxies are taken from https_proxy and no_proxy, a certificate authority of your own from SSL_CERT_FILE.
END
}

# Options

read_options() {
    version=${WAYS_VERSION-}
    base=${WAYS_RELEASE_BASE-}
    archive=${WAYS_ARCHIVE-}
    wanted_sha256=${WAYS_SHA256-}
    app=${WAYS_APP_ROOT-}
    activate=${WAYS_ACTIVATE-}
    no_path=${WAYS_NO_PATH-}
    unattended=${WAYS_UNATTENDED-}
    allow_downgrade=${WAYS_ALLOW_DOWNGRADE-}
    while [ $# -gt 0 ]; do
        option=$1
        shift
        case $option in
        --*=*)
            value=${option#*=}
            option=${option%%=*}
            ;;
        --version | --base | --archive | --sha256 | --dir | --activate)
            [ $# -gt 0 ] || stop "$option needs a value" 'sh install.sh --help' 2
            value=$1
            shift
            ;;
        *) value='' ;;
        esac
        case $option in
        --version) version=$value ;;
        --base) base=$value ;;
        --archive) archive=$value ;;
        --sha256) wanted_sha256=$value ;;
        --dir)
            app=${value%/}
            case $app in
            */agent-ways | '') ;;
            *) app=$app/agent-ways ;;
            esac
            ;;
        --activate) activate=$value ;;
        --no-path) no_path=1 ;;
        --unattended) unattended=1 ;;
        --allow-downgrade) allow_downgrade=1 ;;
        --help | -h)
            usage >&3
            exit 0
            ;;
        *) stop "$(shown "$option") is not an option" 'sh install.sh --help' 2 ;;
        esac
    done
    version=${version#v}
    case $version in
    '' | [0-9]*) ;;
    *) stop "$(shown "$version") is not a version like 1.2.3" '' 2 ;;
    esac
    case $version in
    *[!0-9A-Za-z.+_-]*) stop "$(shown "$version") is not a version like 1.2.3" '' 2 ;;
    esac
    base=${base:-$release_base}
    base=${base%/}
    wanted_sha256=$(printf %s "$wanted_sha256" | LC_ALL=C tr 'A-F' 'a-f')
    absolute app "$app"
    absolute archive "$archive"
    absolute activate "$activate"
}

# absolute NAME PATH: sets NAME to the path, seen from the current folder.
absolute() {
    case $2 in
    '' | /*) eval "$1=\$2" ;;
    [~]) eval "$1=\$HOME" ;;
    [~]/*) eval "$1=\$HOME/\${2#??}" ;;
    *) eval "$1=\$PWD/\$2" ;;
    esac
}

# An address or a word as it may be printed: without user, password and query, without control characters.
shown() {
    printf %s "$1" | LC_ALL=C tr -d '\000-\037\177' | sed -e 's|://[^/@]*@|://|g' -e 's|?.*||'
}

is_set() {
    case $1 in
    '' | 0 | false | no) return 1 ;;
    esac
}

# The machine

find_machine() {
    [ -n "${HOME-}" ] || stop 'HOME is not set, so there is no place to install to' 'HOME=/home/you sh install.sh' 2
    case $HOME in
    /*) ;;
    *) stop 'HOME is not an absolute path' '' 2 ;;
    esac
    refuse_foreign_home
    case $(uname -s) in
    Linux) system=linux ;;
    Darwin) system=macos ;;
    MINGW* | MSYS* | CYGWIN*) stop 'this is Windows' 'run install.ps1 in PowerShell' ;;
    *) stop "there is no build for $(uname -s)" 'set ways up from source (README)' ;;
    esac
    case $(uname -m) in
    x86_64 | amd64) processor=x86_64 ;;
    aarch64 | arm64) processor=arm64 ;;
    *) stop "there is no build for the processor $(uname -m)" 'set ways up from source (README)' ;;
    esac
    if [ "$system" = macos ]; then
        # A shell that Rosetta translates says x86_64 on an arm64 machine.
        [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" != 1 ] || processor=arm64
    else
        [ "$(getconf LONG_BIT 2>/dev/null || echo 64)" = 64 ] ||
            stop 'this is a 32-bit system; there are 64-bit builds only' 'set ways up from source (README)'
        find_libc
    fi
    platform=$system-$processor
}

# With sudo, the home is the user's and the files would be root's.
refuse_foreign_home() {
    [ "$(id -u)" = 0 ] || return 0
    # shellcheck disable=SC2012  # one name, and stat is spelt differently everywhere
    owner=$(ls -dn "$HOME" 2>/dev/null | awk '{ print $3 }')
    case $owner in
    0 | '') ;;
    *) stop "this runs as root, and $HOME belongs to somebody else" 'run it as yourself, without sudo' ;;
    esac
}

# glibc's version in $glibc, '' when it cannot be told; the staged program is started in any case.
find_libc() {
    glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | awk '{ print $2 }')
    [ -z "$glibc" ] || return 0
    if ldd --version 2>&1 | grep -qi musl || ls /lib/ld-musl-* >/dev/null 2>&1; then
        stop 'this Linux uses musl (as Alpine does), and the builds need glibc' 'set ways up from source (README)'
    fi
    glibc=$(ldd --version 2>/dev/null | awk 'NR == 1 { print $NF }')
}

find_places() {
    case ${XDG_DATA_HOME-} in
    /*) data=$XDG_DATA_HOME ;;
    *) data=$HOME/.local/share ;;
    esac
    [ -n "$app" ] || app=$data/agent-ways
    app=${app%/}
    case $app in
    '' | "${HOME%/}") stop '--dir must name a folder of its own' '' 2 ;;
    esac
    versions=$app/versions
    staging=$versions/.staging-install-$$
}

need() {
    for tool; do
        command -v "$tool" >/dev/null 2>&1 || stop "$tool is needed and not installed" "install $tool and run this again"
    done
}

need_one() {
    for tool; do
        ! command -v "$tool" >/dev/null 2>&1 || return 0
    done
    stop "one of $* is needed, and none is installed" "install one of them and run this again"
}

# Downloading

find_downloader() {
    downloader=''
    [ "$scheme" != file ] || return 0
    if command -v curl >/dev/null 2>&1; then
        downloader=curl
    elif command -v wget >/dev/null 2>&1; then
        downloader=wget
        if wget --help 2>&1 | grep -qi busybox; then
            downloader=busybox
            [ "$scheme" = http ] ||
                stop "this machine's wget (BusyBox) does not check certificates" 'install curl and run this again'
        fi
    else
        stop 'curl or wget is needed, and neither is installed' 'install curl and run this again'
    fi
}

read_base() {
    case $base in
    '') stop 'no release base is known' 'sh install.sh --base URL, or --archive FILE' 2 ;;
    https://*) scheme=https ;;
    http://localhost[:/]* | http://127.0.0.1[:/]* | http://\[::1\]* | http://localhost | http://127.0.0.1) scheme=http ;;
    http://*)
        stop "$(shown "$base") is not encrypted, so what comes from it could be anybody's" 'use its https address'
        ;;
    file://*)
        scheme='file'
        folder=$(printf %s "${base#file://}" | percent_decoded)
        folder=/${folder#*/}
        ;;
    *://*) stop "$(shown "$base"): only https addresses, file:// addresses and folders can be read" '' 2 ;;
    *)
        scheme='file'
        absolute folder "$base"
        ;;
    esac
    [ "$scheme" != file ] || [ -d "$folder" ] || stop "$folder is no folder" 'look at --base'
}

percent_decoded() {
    LC_ALL=C awk '
        BEGIN { for (i = 1; i < 256; i++) byte[sprintf("%02X", i)] = sprintf("%c", i) }
        {
            out = ""
            while ((at = index($0, "%")) > 0) {
                hex = toupper(substr($0, at + 1, 2))
                out = out substr($0, 1, at - 1) (hex in byte ? byte[hex] : "%" substr($0, at + 1, 2))
                $0 = substr($0, at + 3)
            }
            printf "%s%s", out, $0
        }'
}

# fetch PATH FILE MOST: the file of the release base, at most MOST bytes. False when it is not there.
fetch() {
    if [ "$scheme" = file ]; then
        [ -f "$folder/$1" ] || return 1
        cp "$folder/$1" "$2" || stop "$folder/$1 cannot be copied to $2" 'look at the disk space and the modes'
        return 0
    fi
    case $downloader in
    curl) with_curl "$base/$1" "$2" "$3" ;;
    wget) with_wget "$base/$1" "$2" ;;
    *) wget -q -O "$2" "$base/$1" 2>"$staging/said" ;;
    esac
    code=$?
    [ "$code" = 0 ] || explain_download "$code" "$base/$1"
}

# The address goes in through stdin: on a command line other users could read the password in it.
with_curl() {
    set -- "$1" "$2" --config - --fail --location --silent --show-error --proto "=$scheme" \
        --proto-redir "=$scheme" --connect-timeout 20 --speed-limit 1 --speed-time 60 --retry 2 --max-filesize "$3"
    [ -z "${SSL_CERT_FILE-}" ] || set -- "$@" --cacert "$SSL_CERT_FILE"
    address=$1 file=$2
    shift 2
    printf 'url = "%s"\noutput = "%s"\n' "$(escaped "$address")" "$(escaped "$file")" |
        curl "$@" 2>"$staging/said"
}

with_wget() {
    address=$1 file=$2
    # wget knows the small spelling only.
    [ -n "${https_proxy-}" ] || https_proxy=${HTTPS_PROXY-}
    [ -z "$https_proxy" ] || export https_proxy
    set -- -nv -O "$file" --tries=3 --timeout=60 -i -
    [ -z "${SSL_CERT_FILE-}" ] || set -- "$@" --ca-certificate="$SSL_CERT_FILE"
    printf '%s\n' "$address" | wget "$@" 2>"$staging/said"
}

escaped() { printf %s "$1" | sed -e 's|\\|\\\\|g' -e 's|"|\\"|g'; }

# False for "there is no such file"; everything else ends the run and says what it was.
explain_download() {
    said=$(shown "$(tr '\n' ' ' <"$staging/said" 2>/dev/null)")
    address=$(shown "$2")
    # By the words around the number: an address may hold any digits.
    case $said in
    *'error: 407'* | *'ERROR 407'* | *'response 407'* | *'Proxy Auth'*)
        stop "the proxy wants a user and a password. ($said)" 'https_proxy=http://user:password@proxy:port'
        ;;
    esac
    case $downloader:$1 in
    curl:22 | wget:8 | busybox:1)
        case $said in
        *'error: 404'* | *'error: 410'* | *'ERROR 404'* | *'ERROR 410'* | *'HTTP/1.'?' 404'*) return 1 ;;
        esac
        stop "$address is refused: ${said:-the server gave an error}" 'look at --base and the access that it needs'
        ;;
    curl:35 | curl:51 | curl:5[389] | curl:60 | curl:66 | curl:77 | curl:8[0-3] | curl:9[01] | wget:5)
        stop "the certificate that came with $address is not one that this machine trusts. On a company's network this is
usually its TLS inspection, not tampering with the release: its authority is unknown here. ($said)" \
            'SSL_CERT_FILE=/path/to/the/company/ca.pem sh install.sh'
        ;;
    curl:5 | curl:97) stop "the proxy cannot be reached. ($said)" 'look at https_proxy' ;;
    curl:63) stop "$address is larger than it should be" 'try again later, or another --base' ;;
    curl:23 | wget:3) stop "$address cannot be written to $staging. ($said)" 'look at the disk space' ;;
    esac
    stop "$address cannot be downloaded. (${said:-exit code $1 of $downloader})" \
        'look at the network, https_proxy and --base, and run this again'
}

# Every value of a JSON document as one line: the names that lead to it and the value, tabs between.
json_lines() {
    LC_ALL=C awk '
        function out(value,   k, line) {
            line = ""
            for (k = 1; k <= depth; k++) line = line name[k] "\t"
            print line value
        }
        { text = text $0 " " }
        END {
            length_of_text = length(text)
            for (i = 1; i <= length_of_text; i++) {
                c = substr(text, i, 1)
                if (c == "{" || c == "[") { depth++; list[depth] = c == "["; name[depth] = 0; key = c == "{" }
                else if (c == "}" || c == "]") { depth--; key = 0 }
                else if (c == ",") { if (list[depth]) name[depth]++; else key = 1 }
                else if (c == ":") key = 0
                else if (c == "\"") {
                    s = ""
                    for (i++; i <= length_of_text && (c = substr(text, i, 1)) != "\""; i++) {
                        if (c == "\\") { i++; c = substr(text, i, 1); if (c !~ /["\\\/]/) c = "?" }
                        s = s (c == "\t" ? "?" : c)
                    }
                    if (key) name[depth] = s; else out(s)
                }
                else if (c !~ /[ \t\r]/) {
                    s = c
                    while (substr(text, i + 1, 1) ~ /[-+.0-9A-Za-z]/) { i++; s = s substr(text, i, 1) }
                    out(s)
                }
            }
        }'
}

# metadata ROLE [VERSION]: fetches metadata and leaves its values, as lines, in $staging/ROLE.
metadata() {
    file=metadata/${2:+$2.}$1.json
    fetch "$file" "$staging/$1.json" 16000000 ||
        stop "$(shown "$base") holds no $file, so it is no release repository" 'look at --base'
    json_lines <"$staging/$1.json" >"$staging/$1" || stop "$file cannot be read"
    grep -q "^signed	_type	$1\$" "$staging/$1" || stop "$(shown "$base")/$file is not the metadata that it should be" \
        'look at --base; a portal page of the network can also be the cause'
}

# value FILE NAME...: one value of metadata.
value() {
    file=$1
    shift
    prefix=''
    for part; do prefix=$prefix$part'	'; done
    prefix=$prefix awk 'index($0, ENVIRON["prefix"]) == 1 { print substr($0, length(ENVIRON["prefix"]) + 1); exit }' "$file"
}

# The archive that fits: sets target, version, length and sha256.
read_release() {
    metadata timestamp
    expires=$(value "$staging/timestamp" signed expires)
    if [ -n "$expires" ] && [ "$(printf '%s\n' "$expires" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" | LC_ALL=C sort | head -n 1)" = "$expires" ]; then
        warn "what $(shown "$base") says of its releases was good until $expires; it may be an old copy"
    fi
    metadata snapshot "$(value "$staging/timestamp" signed meta snapshot.json version)"
    metadata targets "$(value "$staging/snapshot" signed meta targets.json version)"
    target=$(newest_target "$version" <"$staging/targets")
    if [ -z "$target" ]; then
        stop "$(shown "$base") has no ${version:+version $version of }ways for $platform" 'look at --version and --base'
    fi
    name=${target##*/}
    version=${name#ways-}
    version=${version%-"$platform".tar.gz}
    length=$(value "$staging/targets" signed targets "$target" length)
    sha256=$(value "$staging/targets" signed targets "$target" hashes sha256)
    case $length:$sha256 in
    *[!0-9a-f:]* | :* | *:) stop "$(shown "$base") gives no size and SHA-256 for $target" ;;
    esac
}

# The target of the highest version for this machine, or of the one that is named. A version of the stable
# channel (without dev, alpha, beta, rc) goes before all others.
newest_target() {
    wanted=$1 ending=-$platform.tar.gz LC_ALL=C awk -F '\t' "$version_order"'
        $1 == "signed" && $2 == "targets" && $4 == "length" {
            name = $3
            sub(/.*\//, "", name)
            ending = ENVIRON["ending"]
            if (substr(name, 1, 5) != "ways-" || length(name) <= length(ending) + 5) next
            if (substr(name, length(name) - length(ending) + 1) != ending) next
            version = substr(name, 6, length(name) - length(ending) - 5)
            if (version ~ /[^0-9A-Za-z.+_-]/ || (ENVIRON["wanted"] != "" && version != ENVIRON["wanted"])) next
            place = order(version)
            if (ENVIRON["wanted"] == "") { if (place == "") next; place = (substr(place, 28, 1) == "4") place }
            if (best == "" || place > found) { best = $3; found = place }
        }
        END { print best }'
}

# awk: order(version) is a text that sorts as the versions do; "" for one that is no release's.
# shellcheck disable=SC2016  # the dollar signs are awk's
version_order='
    function order(version,   parts, count, rest, stage, number) {
        if (version !~ /^[0-9]+\.[0-9]+\.[0-9]+([-.]?(dev|alpha|a|beta|b|rc)[-.]?[0-9]*)?$/) return ""
        rest = version
        sub(/^[0-9]+\.[0-9]+\.[0-9]+/, "", rest)
        count = split(substr(version, 1, length(version) - length(rest)), parts, ".")
        stage = 4
        number = rest
        gsub(/[^0-9]/, "", number)
        gsub(/[^a-z]/, "", rest)
        if (rest == "dev") stage = 0
        else if (rest == "a" || rest == "alpha") stage = 1
        else if (rest == "b" || rest == "beta") stage = 2
        else if (rest == "rc") stage = 3
        return sprintf("%09d%09d%09d%d%09d", parts[1], parts[2], parts[3], stage, number)
    }'

# Installing

refuse_downgrade() {
    is_set "$allow_downgrade" && return 0
    [ -L "$app/current" ] || return 0
    present=$(readlink "$app/current")
    present=${present##*/}
    older=$(one=$version other=$present awk "$version_order"'
        BEGIN {
            one = order(ENVIRON["one"])
            other = order(ENVIRON["other"])
            if (one != "" && other != "" && one < other) print "older"
        }' </dev/null)
    [ -z "$older" ] || stop "version $present is installed and is newer than $version" \
        "sh install.sh --version $version --allow-downgrade" 3
}

# What a killed run left. A number that a process has may be another process's by now; it goes next time.
sweep() {
    for left in "$versions"/.staging-install-* "$versions"/.removing-*; do
        number=${left##*-}
        case $number in
        '' | *[!0-9]*) continue ;;
        esac
        kill -0 "$number" 2>/dev/null && continue
        # Folders that the killed run made are this one's to record.
        [ ! -s "$left/made" ] || missing=$(cat "$left/made")${missing:+$newline$missing}
        rm -rf "$left"
    done
}

make_staging() {
    missing='' above=$(dirname "$app")
    while [ ! -d "$above" ] && [ "$above" != / ]; do
        missing=$above${missing:+$newline$missing}
        above=$(dirname "$above")
    done
    (umask 022 && mkdir -p "$versions") || stop "$versions cannot be made" 'look at its modes, or choose another --dir' 5
    sweep
    # Never in the temporary folder: programs may be forbidden to run there, and it is another disk.
    (umask 077 && mkdir "$staging") || stop "$staging cannot be made" 'look at its modes and the disk space' 5
    [ -z "$missing" ] || printf '%s\n' "$missing" >"$staging/made" || stop "$staging cannot be written" 'look at the disk space' 5
}

# The archive in $staging/archive, checked against its size and SHA-256.
download() {
    need_space "$length"
    say "Downloading ways $version for $platform ($((length / 1000000)) MB) from $(shown "$base")"
    prefixed=$sha256.${target##*/}
    case $target in
    */*) prefixed=${target%/*}/$prefixed ;;
    esac
    fetch "targets/$prefixed" "$staging/archive" "$length" || fetch "targets/$target" "$staging/archive" "$length" ||
        stop "$(shown "$base") lists $target and does not have it" 'try again later, or another --base'
    size=$(wc -c <"$staging/archive" | tr -d ' ')
    [ "$size" = "$length" ] || stop "the archive has $size bytes and should have $length" 'run this again'
    found=$(sha256_of "$staging/archive")
    [ "$found" = "$sha256" ] || stop "the archive's SHA-256 is $found and should be $sha256; it was not installed" \
        'run this again; if it stays so, tell those who run the release base'
    check_sha256_option "$found"
}

# The archive that was named, checked as well as what was given allows.
take_archive() {
    [ -f "$archive" ] || stop "$archive is no file" 'look at --archive' 2
    size=$(wc -c <"$archive" | tr -d ' ')
    need_space "$size"
    cp "$archive" "$staging/archive" || stop "$archive cannot be copied to $staging" 'look at the disk space' 5
    found=$(sha256_of "$staging/archive")
    if [ -n "$sha256" ]; then
        [ "$found:$size" = "$sha256:$length" ] || stop "$archive is not the archive that $(shown "$base") lists" \
            'fetch it again'
    elif [ -z "$wanted_sha256" ]; then
        say "Nothing vouches for $archive but you. Its SHA-256: $found"
    fi
    check_sha256_option "$found"
}

check_sha256_option() {
    [ -z "$wanted_sha256" ] || [ "$1" = "$wanted_sha256" ] ||
        stop "the archive's SHA-256 is $1, not the one that was asked for" 'fetch it again, or correct --sha256'
}

name_of_archive() {
    name=${archive##*/}
    found=${name#ways-}
    case $name in
    ways-*-"$platform".tar.gz) ;;
    ways-*.tar.gz | ways-*.zip) stop "$name is for another machine; this is $platform" 'fetch the archive for this one' ;;
    *) stop "$name is not called as an archive of ways is (ways-<version>-$platform.tar.gz)" '' 2 ;;
    esac
    found=${found%-"$platform".tar.gz}
    [ -z "$version" ] || [ "$version" = "$found" ] || stop "$name is not version $version" '' 2
    version=$found
}

# An archive and what is in it need some four times its size.
need_space() {
    free=$(df -Pk "$staging" 2>/dev/null | awk 'NR == 2 { print $4 }')
    case $free in
    '' | *[!0-9]*) return 0 ;;
    esac
    needed=$(($1 * 4 / 1024))
    [ "$free" -gt "$needed" ] ||
        stop "$versions has $((free / 1024)) MB free, and $((needed / 1024)) MB are needed" 'make room, or choose another --dir' 5
}

sha256_of() {
    if command -v sha256sum >/dev/null 2>&1; then
        sum=$(sha256sum <"$1")
    elif command -v shasum >/dev/null 2>&1; then
        sum=$(shasum -a 256 <"$1")
    else
        sum=$(openssl dgst -sha256 -r <"$1")
    fi
    printf %s "${sum%% *}"
}

# Unpacks the archive into $staging/ways-<version>.
unpack() {
    top=ways-$version
    gzip -dc "$staging/archive" >"$staging/tar" || stop 'the archive cannot be unpacked' 'look at the disk space, and run this again' 5
    rm -f "$staging/archive"
    strange=$(tar -tf "$staging/tar" | top=$top awk '
        { inside = $0 == ENVIRON["top"] || index($0, ENVIRON["top"] "/") == 1 }
        !inside || ("/" $0 "/") ~ /\/\.\.\// { print; exit }')
    [ -z "$strange" ] || stop "the archive holds $(shown "$strange"), which lies outside $top" 'fetch it again'
    (umask 022 && tar -xof "$staging/tar" -C "$staging") ||
        stop 'the archive cannot be unpacked' 'look at the disk space, and run this again' 5
    rm -f "$staging/tar"
    [ -f "$staging/$top/bin/ways" ] || stop "the archive holds no $top/bin/ways"
    link=$(find "$staging/$top" ! -type f ! -type d | head -n 1)
    [ -z "$link" ] || stop "the archive holds $(shown "$link"), which is neither a file nor a folder" 'fetch it again'
    # A browser marks what it downloads, and macOS would ask about every file of it.
    [ "$system" != macos ] || xattr -dr com.apple.quarantine "$staging/$top" 2>/dev/null || :
}

check_minimum() {
    json_lines <"$1/release.json" >"$staging/release" 2>/dev/null || return 0
    least=$(value "$staging/release" minimum glibc)
    have=${glibc-}
    if [ "$system" = macos ]; then
        least=$(value "$staging/release" minimum macos)
        have=$(sw_vers -productVersion 2>/dev/null)
    fi
    [ -n "$least" ] && [ -n "$have" ] || return 0
    old=$(least=$least have=$have awk 'BEGIN {
        split(ENVIRON["least"], a, ".")
        split(ENVIRON["have"], b, ".")
        print (b[1] + 0 < a[1] + 0 || (b[1] + 0 == a[1] + 0 && b[2] + 0 < a[2] + 0)) ? "old" : ""
    }' </dev/null)
    kind=glibc
    [ "$system" != macos ] || kind=macOS
    [ -z "$old" ] || stop "this machine has $kind $have, and ways $version needs $least" 'set ways up from source (README)'
}

# probe FOLDER: the program in it starts, has the right version and is whole.
probe() {
    said=$(run "$1" --version --json 2>&1) || {
        case $said in
        *[Pp]ermission\ denied*) stop "programs may not be started in $versions (is it mounted noexec?)" 'choose another --dir' ;;
        esac
        stop "the program does not start here: $(shown "$said")" 'set ways up from source (README)'
    }
    started=$(printf '%s\n' "$said" | json_lines | awk -F '\t' '$1 == "version" { print $2 }')
    [ "$started" = "$version" ] || stop "the archive of version $version holds version $(shown "$started")" 'fetch it again'
    said=$(run "$1" finish-install --check 2>&1) || stop "$(shown "$said")" 'run this again'
}

# run FOLDER ARGUMENT...: the program of a version's folder, with the app root that it is for.
run() {
    program=$1/bin/ways
    shift
    WAYS_APP_ROOT=$app "$program" "$@" </dev/null
}

# A version that is there and whole is taken as it is: then nothing is downloaded.
is_there() {
    [ -n "$version" ] && [ -x "$versions/$version/bin/ways" ] &&
        run "$versions/$version" finish-install --check >/dev/null 2>&1
}

place() {
    if [ -e "$versions/$version" ]; then
        warn "version $version was there and is damaged; it is replaced"
        mv "$versions/$version" "$versions/.removing-$version-$$" || stop "$versions/$version cannot be moved" '' 5
    fi
    mv "$staging/ways-$version" "$versions/$version" || stop "$versions/$version cannot be put in place" '' 5
}

# Makes the version the current one, and `ways` callable; the program does that itself.
finish() {
    set -- finish-install
    ! is_set "$no_path" || set -- "$@" --no-path
    ! is_set "$allow_downgrade" || set -- "$@" --allow-downgrade
    case ${scheme-} in
    '') ;;
    file) set -- "$@" --base "$folder" ;;
    *) set -- "$@" --base "$(shown "$base")" ;;
    esac
    # Outermost first: what there was not before is removed again with the rest, when it is empty.
    made=$missing
    while [ -n "$made" ]; do
        set -- "$@" --made-folder "${made%%"$newline"*}"
        case $made in
        *"$newline"*) made=${made#*"$newline"} ;;
        *) made='' ;;
        esac
    done
    run "$versions/$version" "$@" >&3 || {
        code=$?
        stop "version $version is in $versions and could not be made the current one" 'run this again' "$code"
    }
}

set_up() {
    ways=$app/bin/ways
    if [ -n "$activate" ]; then
        say "Setting ways up for $activate"
        WAYS_APP_ROOT=$app "$ways" init --yes --target "$activate" </dev/null >&3
        exit $?
    fi
    if [ -t 0 ] && [ -t 3 ] && ! is_set "$unattended" && [ -z "${CI-}" ]; then
        WAYS_APP_ROOT=$app "$ways" init >&3
        exit $?
    fi
    WAYS_APP_ROOT=$app "$ways" finish-install --what-next </dev/null >&3
}

clean() {
    code=$?
    trap - EXIT
    rm -rf "$staging" "$versions/.removing-"*"-$$"
    # A run that has put nothing in place leaves no empty folders either.
    if rmdir "$versions" "$app" 2>/dev/null; then
        above=$(dirname "$app")
        while case $newline$missing$newline in *"$newline$above$newline"*) rmdir "$above" 2>/dev/null ;; *) false ;; esac; do
            above=$(dirname "$above")
        done
    fi
    exit "$code"
}

install() {
    need uname awk sed tr gzip tar mkdir mv rm cp wc df find grep sort head cat id date dirname
    need_one sha256sum shasum openssl
    find_machine
    find_places
    make_staging
    trap clean EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    trap 'exit 129' HUP
    length='' sha256=''
    [ -z "$archive" ] || name_of_archive
    if ! is_there; then
        # An archive with a base beside it is checked against what that base lists.
        if [ -z "$archive" ] || [ -n "${WAYS_RELEASE_BASE-}$named_base" ]; then
            read_base
            find_downloader
            read_release
        fi
    fi
    refuse_downgrade
    if is_there; then
        say "Version $version is there already"
    else
        if [ -n "$archive" ]; then take_archive; else download; fi
        unpack
        check_minimum "$staging/ways-$version"
        probe "$staging/ways-$version"
        place
    fi
    finish
    set_up
}

main() {
    exec 3>&1
    named_base=''
    for argument; do
        case $argument in
        --base | --base=*) named_base=1 ;;
        esac
    done
    read_options "$@"
    install
}

main "$@"
