"""Links to sessions in what a command would publish: denied as trailers and footers, in however odd a
spelling, and never when a sentence speaks of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ways.commandline.effects import published
from ways.commandline.session_links import offending_line

LINK = "https://claude.ai/code/session_01SBzqph11q7ZSHA5QEGgtu5"
TRAILER = f"Claude-Session: {LINK}"


def lines(command: str, cwd: Path | str = "/", windows: bool = False) -> list[str]:
    """The offending lines of a command."""
    found = [offending_line(text.text) for text in published(command, str(cwd), "/home/u", windows)]
    return [line for line in found if line]


DENIED = {
    "one message": f'git commit -m "fix: parser\n\n{TRAILER}"',
    "trailer right below the subject": f'git commit -m "fix: parser\n{TRAILER}"',
    "two messages": f'git commit -m "fix: parser" -m "{TRAILER}"',
    "with other trailers": f'git commit -m "fix\n\nCo-Authored-By: C <n@a>\n{TRAILER}\nSigned-off-by: A"',
    "bare link": f"git commit -m 'fix\n\n{LINK}'",
    "single quotes": f"git commit --message='fix\n\n{TRAILER}'",
    "abbreviated option": f"git commit --mess 'fix\n\n{TRAILER}'",
    "cluster": f"git commit -qam 'fix\n\n{TRAILER}'",
    "attached": f"git commit -m'fix\n\n{TRAILER}'",
    "quoted in pieces": f"g'it' \"com\"mit -m \"fix\n\n\"Claude-'Session: '{LINK}",
    "ansi quotes": f"git commit -m $'fix\\n\\nClaude-Session: {LINK}'",
    "ansi hex": f"git commit -m $'fix\\x0a\\n{TRAILER}'",
    "literal backslash n": f'git commit -m "fix\\n\\n{TRAILER}"',
    "spacing": f"   git\t  commit   \\\n   -m   'fix\n\n{TRAILER}'",
    "global options": f"git -C /tmp/x -c user.name=y --no-pager commit -m 'fix\n\n{TRAILER}'",
    "after a folder change": f"cd /tmp && git add -A && git commit -m 'fix\n\n{TRAILER}' && git push",
    "environment before": f"GIT_AUTHOR_NAME='A B' git commit -m 'fix\n\n{TRAILER}'",
    "wrapper": f"sudo -u me env A=b /usr/bin/git commit -m 'fix\n\n{TRAILER}'",
    "time limit": f"timeout 60 git commit -m 'fix\n\n{TRAILER}'",
    "subshell": f"(cd /tmp; git commit -m 'fix\n\n{TRAILER}')",
    "condition": f"if git diff --quiet; then :; else git commit -m 'fix\n\n{TRAILER}'; fi",
    "trailer option": f'git commit -m fix --trailer "{TRAILER}"',
    "trailer option with equals": f"git commit -m fix --trailer='Claude-Session={LINK}'",
    "heredoc in a substitution": f"git commit -m \"$(cat <<'EOF'\nfix: it's (done)\n\n{TRAILER}\nEOF\n)\"",
    "heredoc, end mark before the parenthesis": f"git commit -m \"$(cat <<'EOF'\nfix\n\n{TRAILER}\nEOF)\"",
    "unquoted heredoc": f'git commit -m "$(cat <<EOF\nfix `date`\n\n{TRAILER}\nEOF\n)"',
    "heredoc with tabs": f"git commit -F - <<-'END'\n\tfix\n\n\t{TRAILER}\n\tEND",
    "heredoc as input": f"git commit -F- <<'EOF'\nfix\n\n{TRAILER}\nEOF",
    "heredoc and more on the line": f"git commit --file=- <<'EOF' && git push\nfix\n\n{TRAILER}\nEOF",
    "indented heredoc": f"git commit -F - <<EOF\n    fix\n\n    {TRAILER}\nEOF",
    "here-string": f"git commit -F - <<< 'fix\n\n{TRAILER}'",
    "pipe": f"printf 'fix\\n\\n%s\\n' '{TRAILER}' | git commit -F -",
    "echo pipe": f'echo -e "fix\\n\\n{TRAILER}" | git commit --file -',
    "group pipe": f"{{ echo fix; echo; echo '{TRAILER}'; }} | git commit -F -",
    "process substitution": f"git commit -F <(printf '%s\\n' fix '' '{TRAILER}')",
    "variable": f"MSG='fix\n\n{TRAILER}'\ngit commit -m \"$MSG\"",
    "variable with link": f'URL={LINK}; git commit -m "fix\n\nClaude-Session: ${{URL}}"',
    "unknown variable": 'git commit -m "fix\n\nClaude-Session: $SESSION_URL"',
    "id in a variable": 'git commit -m "fix\n\nhttps://claude.ai/code/$CLAUDE_CODE_REMOTE_SESSION_ID"',
    "file written before": f"cat > msg.txt <<'EOF'\nfix\n\n{TRAILER}\nEOF\ngit commit -F msg.txt",
    "file appended": f"echo fix > m; echo >> m; echo '{TRAILER}' >> m; git commit --file=m",
    "tee": f"printf 'fix\\n\\n{TRAILER}\\n' | tee m >/dev/null; git commit -F m",
    "shell in a shell": f"bash -c \"git commit -m 'fix\n\n{TRAILER}'\"",
    "eval": f"eval \"git commit -m 'fix\n\n{TRAILER}'\"",
    "pull request": f'gh pr create --title x --body "## Summary\n- a\n\n---\n_[Claude Code]({LINK})_"',
    "pull request footer": f'gh pr create -t x -b "Text.\n\n🤖 Generated with [Claude Code]({LINK})"',
    "pull request, label": f"gh pr create --body='Text.\n\n**Session**: {LINK}'",
    "pull request, repository first": f"gh -R a/b pr edit 3 --body 'Text.\n\n{LINK}'",
    "pull request heredoc": f'gh pr create -t "x" --body "$(cat <<\'EOF\'\n## S\n\n- x\n\n{LINK}\nEOF\n)"',
    "body file": f"gh pr create --body-file - <<'EOF'\nText.\n\n{LINK}\nEOF",
    "comment": f"gh pr comment 3 -b 'Done.\n\n{TRAILER}'",
    "review": f"gh pr review 3 --comment -b 'Fine.\n\n{LINK}'",
    "merge": f"gh pr merge 3 -sd -b 'Text\n\n{TRAILER}'",
    "draft cluster": f"gh pr create -db 'Text\n\n{TRAILER}'",
    "issue": f"gh issue create --title t --body 'Text\n\n<sub>Claude Code session: {LINK}</sub>'",
    "issue close": f"gh issue close 3 -c 'Done\n\n{LINK}'",
    "details": f"gh issue comment 3 -b '<details>\nA\n\n{LINK}\n</details>'",
    "html link": f"gh pr create -b 'Text\n\n<a href=\"{LINK}\">Claude session</a>'",
    "trailer before a test plan": f"gh pr create -b '## S\ntext\n\n{TRAILER}\n\n## Test plan\n- [ ] a'",
    "wrong case": f"git commit -m 'fix\n\nclaude-session:{LINK}'",
    "slash form": "git commit -m 'fix\n\nClaude-Session: https://claude.ai/code/session/01ABCDEF'",
    "without scheme": "git commit -m 'fix\n\nClaude-Session: claude.ai/code/session_01ABCDEF'",
    "comment before": f"# it's a commit\ngit commit -m 'fix\n\n{TRAILER}' # done",
    "CRLF": f"git commit -m 'fix\r\n\r\n{TRAILER}\r\n'",
}


@pytest.mark.parametrize("name", DENIED)
def test_a_trailer_or_footer_is_found(name: str) -> None:
    found = lines(DENIED[name])
    assert len(found) == 1
    assert "claude" in found[0].lower()


ALLOWED = {
    "no link": "git commit -m 'fix: parser'",
    "in a sentence": f"git commit -m 'docs: say what {LINK} is\n\nThe link {LINK} is appended.'",
    "sentence of its own": f"git commit -m 'fix\n\nIt crashed in {LINK} after the update.'",
    "wrapped sentence": f"git commit -m 'docs\n\nThe client appends\n{TRAILER}\nto each message.'",
    "prose at the end": f"gh issue create -t x -b 'It got stuck, see {LINK} for what it did.'",
    "code block": f"gh issue create -t x -b 'Commits end in\n\n```\nfix\n\n{TRAILER}\n```\n'",
    "indented code": f"git commit -m 'docs\n\nWhat is denied now:\n\n    {TRAILER}\n\nThe rest is not.'",
    "quotation": f"gh issue comment 3 -b '> {TRAILER}\n\nThis must not be there.'",
    "placeholder": "git commit -m 'docs: trailer\n\nClaude-Session: https://claude.ai/code/session_XXXXX'",
    "angle brackets": "git commit -m 'docs: trailer\n\nClaude-Session: https://claude.ai/code/session_<id>'",
    "name only": "git commit -m 'feat: deny the Claude-Session: trailer'",
    "introduced example": f"git commit -m 'docs\n\nIt looks like this:\n\n{TRAILER}\n\nand is denied.'",
    "product page": "gh pr create -b 'Text\n\nGenerated with [Claude Code](https://claude.com/claude-code)'",
    "co-author": "git commit -m 'fix\n\nCo-Authored-By: Claude <noreply@anthropic.com>'",
    "another command": f"echo '{TRAILER}' > notes.txt",
    "echo of a commit": f"echo \"git commit -m '{TRAILER}'\"",
    "log search": f"git log --grep '{TRAILER}'",
    "list search": f"gh pr list --search '{LINK}'",
    "view": f"gh issue view 3 && echo '{LINK}'",
    "grep for commit": f"grep -r 'git commit -m \"{TRAILER}\"' .",
    "comment in the script": f"git commit -m fix # {TRAILER}",
    "written, not used": f"cat > doc.md <<'EOF'\nx\n\n{TRAILER}\nEOF\ngit commit -am 'docs: the trailer'",
    "path after the dashes": f"git commit -m fix -- -m '{TRAILER}'",
    "author's value": f"git commit --author '-m' -C HEAD '{TRAILER}'",
    "other subcommand": f"gh api repos/a/b -f body='{LINK}'",
    "another site": "git commit -m 'fix\n\nhttps://example.com/claude.ai/code'",
    "list of links in a sentence": f"gh issue create -b 'Broken:\n- crash on start ({LINK})\n- hangs later'",
    "unterminated": f"git commit -m 'fix {LINK} is what we talk about",
}


@pytest.mark.parametrize("name", ALLOWED)
def test_a_link_that_is_spoken_of_is_let_through(name: str) -> None:
    assert lines(ALLOWED[name]) == []


def test_files_that_are_there_are_read_from_where_the_script_is(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/msg").write_text(f"fix\n\n{TRAILER}\n", "utf-8")
    assert lines("git commit -F sub/msg", tmp_path) == [TRAILER]
    assert lines("cd sub; git commit -Fmsg", tmp_path) == [TRAILER]
    assert lines("git -C sub commit --file msg", tmp_path) == [TRAILER]
    assert lines("(cd sub); git commit -F sub/msg", tmp_path / "sub") == []
    assert lines('git commit -m "$(cat sub/msg)"', tmp_path) == [TRAILER]
    assert lines("cat sub/msg | gh pr create -t x -F -", tmp_path) == [TRAILER]
    assert lines("git commit -F < sub/msg -", tmp_path) == [TRAILER]
    assert lines("echo clean > sub/msg; git commit -F sub/msg", tmp_path) == []


@pytest.mark.parametrize("kind", ["missing", "folder", "fifo", "binary"])
def test_a_file_that_gives_no_text_is_no_reason_to_deny(tmp_path: Path, kind: str) -> None:
    import os

    path = tmp_path / "msg"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "binary":
        path.write_bytes(bytes(range(256)) * 100)
    assert lines("git commit -F msg; gh pr create -F msg", tmp_path) == []


POWERSHELL_DENIED = {
    "here-string": f"git commit -m @'\nfix\n\n{TRAILER}\n'@",
    "backtick": f'git commit -m "fix`n`n{TRAILER}"',
    "variable": f'$msg = @"\nfix\n\n{TRAILER}\n"@\ngit commit -m $msg',
    "call operator": f"& 'git' commit -m 'fix\n\n{TRAILER}'",
    "call with path": f"& 'C:\\Program Files\\Git\\bin\\git.exe' commit -m 'fix\n\n{TRAILER}'",
    "pipe": f"@'\nText\n\n{LINK}\n'@ | gh pr create -t x --body-file -",
    "continued": f"gh pr create `\n  --title x `\n  --body 'Text\n\n{LINK}'",
    "file": f'Set-Content -Path m.txt -Value "fix`n`n{TRAILER}"; git commit -F m.txt',
}


@pytest.mark.parametrize("name", POWERSHELL_DENIED)
def test_powershell_is_read_as_powershell(name: str) -> None:
    assert len(lines(POWERSHELL_DENIED[name], windows=True)) == 1


def test_powershell_prose_is_let_through() -> None:
    assert lines(f'git commit -m "docs: what `"{LINK}`" is"', windows=True) == []


def test_what_is_endless_or_deep_ends() -> None:
    assert lines("git commit -m " + "$(" * 500 + "x" + ")" * 500) == []
    assert lines("git commit -m '" + "x" * 400_000 + f"\n\n{TRAILER}'") == []
    assert lines("eval " * 200 + "git commit") == []
    assert lines("x() { x; }; x; " + 'A="$A$A$A"; ' * 40 + 'git commit -m "$A"') == []


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="git comh-mF'\"\\$(){}<>|;&`\n #EO=@", max_size=80), st.booleans())
def test_any_text_is_read_to_its_end(text: str, windows: bool) -> None:
    assert isinstance(lines(text + " git commit -m x", "/", windows), list)


@given(st.text(max_size=200))
def test_text_without_a_link_has_no_offending_line(text: str) -> None:
    assert offending_line(text.replace("claude", "")) == ""
