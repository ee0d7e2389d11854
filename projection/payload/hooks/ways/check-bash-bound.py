"""A guard for the Bash tool that ships with ways and is not switched on: docs/bash-bound.md has how and why.

Refuses commands that end processes by a pattern (`pkill`, `killall`, `kill -9 -1`), because on a shared machine
they end other people's and other agents' work, and commands that wait for a person (`vim`, `git rebase -i`, a log
in without BatchMode), because nobody answers and the session hangs. Reads a PreToolUse payload on standard input,
answers with a denial and a way to do it instead, or with nothing. Always exits with 0: a guard that breaks must
not stop the work. The standard library is all it needs, Python 3.8 or newer.
"""

import json
import os
import re
import shlex
import sys

MOST_BYTES = 8 << 20
SEPARATORS = {";", "&", "&&", "|", "||", "|&", "(", ")", "{", "}", "\n", ";;"}
KEYWORDS = {"if", "then", "else", "elif", "while", "until", "do", "!", "time", "command", "exec", "nohup", "builtin"}
# Programs that run another one, and which of their options take a value.
RUNNERS = {
    "sudo": "ugpCDhRrTt",
    "doas": "uC",
    "env": "uSC",
    "nice": "n",
    "ionice": "cnp",
    "timeout": "ks",
    "stdbuf": "ioe",
    "setsid": "",
    "xargs": "IinPdELsa",
}
SHELLS = {"sh", "bash", "dash", "zsh", "ksh"}
EDITORS = {"vi", "vim", "nvim", "nano", "emacs", "pico", "joe", "micro", "helix", "hx", "ed", "visudo", "vipw"}
SCREENS = {"top", "htop", "btop", "atop", "less", "more", "most", "man", "tmux", "screen", "watch", "lynx", "mc"}
PROMPTERS = {"passwd", "chfn", "chsh", "ftp", "telnet"}
# Interpreters and clients that talk to a person when they are given nothing to do.
TALKERS = {"python", "python3", "node", "irb", "ghci", "psql", "mysql", "sqlite3", "mongosh", "redis-cli", "bc", "gdb"}


def commands(text):
    """The simple commands of a script as lists of words, those inside `sh -c` and `$(…)` included."""
    text = re.sub(r"<<-?\s*(['\"]?)(\w+)\1(.*?)\n.*?\n\t*\2(?=\n|$)", r" <heredoc \3\n", text, flags=re.S)
    text = text.replace("\\\n", " ").replace("\n", " ; ")
    reader = shlex.shlex(text, posix=True, punctuation_chars=";&|(){}<>")
    reader.whitespace_split = True
    reader.commenters = ""
    found, words = [], []
    for word in reader:
        if word in SEPARATORS or set(word) <= set(";&|(){}"):
            found.append(words)
            words = []
        else:
            words.append(word)
    found.append(words)
    return [words for words in found if words]


def bare(words):
    """The command without assignments, keywords and programs that only run it."""
    while words:
        name = os.path.basename(words[0])
        if words[0] in KEYWORDS or re.match(r"\w+\+?=", words[0]):
            words = words[1:]
        elif name in RUNNERS:
            valued, rest = RUNNERS[name], words[1:]
            while rest and (rest[0].startswith("-") or re.match(r"\w+=", rest[0])):
                takes = len(rest[0]) == 2 and rest[0][1] in valued
                rest = rest[2:] if takes else rest[1:]
            if name == "timeout":
                rest = rest[1:]
            if not rest:
                return words
            words = rest
        else:
            return words
    return words


def letters(words):
    """The short options of a command, joined."""
    return "".join(word[1:] for word in words[1:] if re.match(r"-\w", word))


def pattern_kill(name, words):
    """Why a command that ends processes is refused, "" when it names what it ends."""
    rest = words[1:]
    if name == "pkill":
        if "-l" in rest or any(word in ("-P", "--parent", "-g", "-s") or word.startswith("--parent=") for word in rest):
            return ""
        return "pkill ends every process whose name or command line matches, also those that are not yours to end"
    if name in ("killall", "killall5", "taskkill"):
        if name == "taskkill" and any(word.lower() == "/pid" for word in rest):
            return ""
        return name + " ends every process of that name, also those that are not yours to end"
    if name == "kill":
        # The first -x is the signal; -1 after it, or after --, means every process there is.
        numbers = rest[1:] if rest and rest[0].startswith("-") else rest
        if "-1" in numbers:
            return "kill -1 ends every process of the user"
        if any(re.search(r"\$\(|`|pgrep|pidof", word) for word in rest):
            return "the process ids come from a search, which may find processes that are not yours to end"
    return ""


def waits(name, words):
    """Why a command would wait for a person, "" when it would not."""
    rest, short = words[1:], letters(words)
    plain = [word for word in rest if not word.startswith("-") and not word.startswith("<")]
    if "--help" in rest or "--version" in rest:
        return ""
    if name in EDITORS:
        batch = name in ("vi", "vim", "nvim", "ed") and (set(short) & set("es") or "--headless" in rest)
        return "" if batch or "--batch" in rest or "<heredoc" in rest else name + " is an editor that waits for keys"
    if name in SCREENS:
        quiet = (name in ("top", "atop") and "b" in short) or (name == "tmux" and rest[:1] not in ([], ["attach"], ["a"]))
        detached = name in ("tmux", "screen") and ("d" in short or "-dm" in rest)
        listing = name == "screen" and bool(set(short) & set("lXS"))
        return "" if quiet or detached or listing else name + " takes the terminal over and waits for keys"
    if name in PROMPTERS:
        return name + " asks for something that nobody is there to type"
    if name in ("ssh", "scp", "sftp"):
        joined = " ".join(rest).replace("=", " ").lower()
        if re.search(r"batchmode\s+yes", joined) or name == "ssh" and set(short) & set("VGQO"):
            return ""
        return name + " may ask for a password or a host key that nobody is there to type"
    if name in TALKERS and not plain and "<heredoc" not in rest:
        if name.startswith("python") and set(short) & set("cmVh") or name == "node" and set(short) & set("epvh"):
            return ""
        if name in ("psql", "mysql", "gdb", "mongosh") and set(short) & set("cefl"):
            return ""
        return name + " without anything to run waits for a person to type"
    return git_waits(words) if name == "git" else ""


def git_waits(words):
    """Why a git command would open an editor or ask."""
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in ("-C", "-c", "--git-dir", "--work-tree") else rest[1:]
    if not rest:
        return ""
    command, short = rest[0], letters(rest)
    if command == "rebase" and ("i" in short or "--interactive" in rest or "--edit-todo" in rest):
        return "git rebase -i opens an editor"
    if command in ("add", "checkout", "reset", "restore", "stash", "commit") and (
        "--patch" in rest or "--interactive" in rest or re.search(r"(^|\s)-[A-Za-z]*p", " ".join(rest[1:]))
    ):
        if command != "stash" or "push" in rest or "save" in rest:
            return "git " + command + " -p asks about each change"
    if command == "commit":
        given = set(short) & set("mFCc") or any(
            word.split("=")[0] in ("--message", "--file", "--no-edit", "--reuse-message", "--fixup", "--dry-run")
            for word in rest
        )
        return "" if given else "git commit without -m, -F or --no-edit opens an editor"
    if command == "tag" and set(short) & set("as") and not set(short) & set("mFl"):
        return "git tag -a without -m opens an editor"
    if command in ("mergetool", "difftool", "gui", "citool"):
        return "git " + command + " opens a program for a person"
    return ""


ADVICE = {
    "kill": "Note the process id when you start something (cmd & pid=$!) and end that one: kill \"$pid\".",
    "wait": "Use a form that needs no person: -m or --no-edit for git, -o BatchMode=yes for ssh, cat or sed for files.",
}


def reason(text, depth=0):
    """Why a script is refused, "" when it is not."""
    piped = re.search(r"\b(pgrep|pidof)\b[^;\n]*\|\s*xargs\b[^;\n]*\bkill\b", text)
    if piped:
        return "the process ids come from a search, which may find processes that are not yours to end", "kill"
    feeding = re.search(r"kill[^;\n|]*(\$\(|`)\s*(pgrep|pidof|ps)\b", text)
    if feeding:
        return "the process ids come from a search, which may find processes that are not yours to end", "kill"
    for words in commands(text):
        environment = [word for word in words if word.startswith(("GIT_EDITOR=", "GIT_SEQUENCE_EDITOR=", "EDITOR="))]
        words = bare(words)
        if not words:
            continue
        name = os.path.basename(words[0])
        if name in SHELLS and depth < 5:
            for at, word in enumerate(words[1:], 1):
                if re.match(r"-\w*c$", word) and at + 1 < len(words):
                    inner = reason(words[at + 1], depth + 1)
                    if inner[0]:
                        return inner
        why = pattern_kill(name, words)
        if why:
            return why, "kill"
        why = waits(name, words)
        if why and not (environment and name == "git"):
            return why, "wait"
    return "", ""


def answer(payload):
    """The denial for a PreToolUse payload, None for no objection."""
    given = payload.get("tool_input") if isinstance(payload, dict) else None
    command = given.get("command") if isinstance(given, dict) else None
    if not isinstance(command, str) or payload.get("tool_name") not in (None, "Bash"):
        return None
    why, kind = reason(command)
    if not why:
        return None
    text = "Refused: " + why + ". " + ADVICE[kind]
    decision = {"permissionDecision": "deny", "permissionDecisionReason": text}
    return {"hookSpecificOutput": dict(hookEventName="PreToolUse", **decision)}


def read_payload():
    """The first JSON value on standard input; its end is not waited for, because some hosts leave it open."""
    data = b""
    while len(data) < MOST_BYTES:
        part = os.read(0, 65536)
        data += part
        if part and not data.rstrip().endswith(b"}"):
            continue
        try:
            return json.loads(data.decode("utf-8", "replace"))
        except ValueError:
            if not part:
                raise
    raise ValueError("the payload is too long")


def main():
    try:
        found = answer(read_payload())
        if found is not None:
            sys.stdout.write(json.dumps(found) + "\n")
    except Exception as error:  # a guard that breaks must not stop the work
        sys.stderr.write("check-bash-bound: %s\n" % error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
