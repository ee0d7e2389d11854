"""`ways attend`: messages between the sessions and the people of this account."""

from __future__ import annotations

import contextlib
import getpass
import os
import sys
import uuid

import click

from ways.attend import addresses, delivery, inbox, peers
from ways.attend.inbox import PERSON, Checkpoint, Inbox
from ways.attend.message import MAX_TEXT, Message, is_name, is_signal
from ways.attend.peers import Peer
from ways.core import clock, ids, roots
from ways.core.errors import REFUSED, USAGE, WRITE_FAILED, WRONG, UserError
from ways.core.locking import LockTimeout
from ways.core.roots import Roots
from ways.core.text import clean, printable, snippet, utf16_length

# What Claude Code sets for the commands that an agent runs.
SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"
_MAX_STDIN = 64_000


@click.group(name="attend")
def command() -> None:
    """Messages between the sessions and the people of this account.

    A session gets its messages at the end of a turn and then goes on. Your own come to you with `ways attend
    inbox` in a terminal.
    """


@command.command(name="send")
@click.argument("to")
@click.argument("text", nargs=-1)
@click.option("--signal", default="", help="A name that ways can wait for (trigger: attend).")
@click.option("--session", default="", help="Send as this session (default: the one that runs the command).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def send(to: str, text: tuple[str, ...], signal: str, session: str, as_json: bool) -> None:
    """Send TEXT to TO: a session's name, its id or the beginning of it, @group, @all, or person.

    Without TEXT, or with -, the text is read from standard input.
    """
    where = roots.resolve()
    body = _body(text)
    if signal and not is_signal(signal):
        raise UserError(
            "a signal is made of letters, digits, dots, dashes and underscores",
            "ways attend send --help",
            USAGE,
        )
    if not body.strip() and not signal:
        raise UserError("there is no text to send", "ways attend send TO TEXT", USAGE)
    if utf16_length(body) > MAX_TEXT:
        raise UserError(
            f"a message has at most {MAX_TEXT} characters; this one has {utf16_length(body)}",
            "put the text into a file and send its path",
            USAGE,
        )
    now = clock.now()
    _open(where)
    me = _sender(where, session)
    recipients = addresses.resolve(to, peers.known(where, now), me.session)
    message = Message(1, uuid.uuid4().hex[:12], now, me.session, me.name, me.project, to, body, signal)
    sent = [_put(where, recipient, message, now) for recipient in recipients]
    failed = [why for _, why in sent if why]
    if as_json:
        from ways.cli.report import echo_json

        rows = [{"session": one.key, "name": one.name, "problem": why} for one, why in sent]
        echo_json({"id": message.id, "to": rows})
    else:
        for one, why in sent:
            click.echo(f"{printable(one.name)} ({one.key[:8]}): {why or 'sent'}")
    if failed:
        raise UserError(f"{len(failed)} of {len(sent)} messages were not sent: {failed[0]}", "", WRITE_FAILED)


def _body(text: tuple[str, ...]) -> str:
    if text and text != ("-",):
        return clean(" ".join(text))
    data = sys.stdin.buffer.read(_MAX_STDIN)
    return clean(data.decode("utf-8", "replace")).strip("\n")


def _put(
    where: Roots, recipient: addresses.Recipient, message: Message, now: float
) -> tuple[addresses.Recipient, str]:
    """The recipient, and why it did not get the message ("" when it did)."""
    try:
        Inbox(where, recipient.key).put(message, now)
    except (inbox.InboxFull, LockTimeout) as problem:
        return recipient, str(problem)
    except OSError as error:
        return recipient, f"the inbox cannot be written: {error.strerror or error}"
    return recipient, ""


@command.command(name="inbox")
@click.option(
    "--session", default="", help="The inbox of this session (default: the one that runs the command)."
)
@click.option("--drain", is_flag=True, help="Count what is shown as delivered.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "hook"]), default="text", help="How to print."
)
def inbox_(session: str, drain: bool, form: str) -> None:
    """Show the messages that wait.

    `--drain --format hook` is what the Stop hook does: it reads the hook's payload from standard input.
    """
    if form == "hook":
        from ways.lanes.dispatch import main as hook

        if not drain:
            raise UserError("--format hook delivers", "ways attend inbox --drain --format hook", USAGE)
        hook(["attend-drain"])
        return
    where = roots.resolve()
    _open(where)
    key = _key(session)
    box = Inbox(where, key)
    if not drain:
        _print(box.waiting(clock.now()), form)
        return
    try:
        with box.lock("drain") if os.path.isdir(box.directory) else contextlib.nullcontext():
            waiting = box.waiting(clock.now())
            _print(waiting, form)
            sys.stdout.flush()
            if waiting:
                known = box.checkpoint()
                box.mark(Checkpoint(waiting[-1].number, known.streak, known.at))
    except LockTimeout as problem:
        raise UserError(
            f"the inbox is being read: {problem}", "run the command again", WRITE_FAILED
        ) from problem


def _print(waiting: list[Message], form: str) -> None:
    if form == "json":
        from ways.cli.report import echo_json

        echo_json([dict(message.__dict__) for message in waiting])
    elif not waiting:
        click.echo("No messages.")
    else:
        click.echo("\n\n".join(delivery.render_one(message) for message in waiting))


@command.command(name="peers")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def peers_(as_json: bool) -> None:
    """Who can be written to: the sessions of the last week, the newest first."""
    where = roots.resolve()
    _open(where)
    now = clock.now()
    found = peers.known(where, now)
    if as_json:
        from ways.cli.report import echo_json

        echo_json([{**peer.__dict__, "groups": list(peers.groups_of(peer))} for peer in found])
        return
    if not found:
        click.echo("No session has been seen in the last week.")
        return
    from ways.cli.report import row, show, table

    made = table("name", "session", "seen", "groups", "~project")
    own = _own_session()
    for peer in found:
        seen = _ago(now - peer.seen)
        mark = " (this one)" if peer.session == own else ""
        groups = " ".join("@" + group for group in peers.groups_of(peer))
        row(made, peer.name + mark, peer.session[:13], seen, groups, peer.project)
    show(made)


def _ago(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "now"


@command.command(name="status")
@click.option("--session", default="", help="This session (default: the one that runs the command).")
@click.option("--name", "new_name", default="", help="Call the session so.")
@click.option("--join", multiple=True, metavar="GROUP", help="Join a group.")
@click.option("--leave", multiple=True, metavar="GROUP", help="Leave a group.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(session: str, new_name: str, join: tuple[str, ...], leave: tuple[str, ...], as_json: bool) -> None:
    """Who you are to others, what waits for you, and what has been delivered."""
    where = roots.resolve()
    _open(where)
    key = _key(session)
    if new_name or join or leave:
        _rename(where, key, new_name, join, leave)
    me = _sender(where, "" if key == PERSON else key)
    box = Inbox(where, key)
    waiting, known = box.waiting(clock.now()), box.checkpoint()
    groups = () if key == PERSON else peers.groups_of(me)
    if as_json:
        from ways.cli.report import echo_json

        echo_json(
            {
                "session": me.session,
                "name": me.name,
                "project": me.project,
                "groups": list(groups),
                "waiting": len(waiting),
                "delivered": known.delivered,
            }
        )
        return
    click.echo(f"Name     {printable(me.name)}{'' if me.session else ' (a person)'}")
    if me.session:
        click.echo(f"Session  {me.session}")
        click.echo(f"Project  {printable(me.project) or '-'}")
        click.echo(f"Groups   {printable(' '.join('@' + group for group in groups))}")
    click.echo(f"Waiting  {len(waiting)}" + (f", newest: {snippet(waiting[-1].text, 60)}" if waiting else ""))
    if known.delivered:
        click.echo(f"Delivered up to message {known.delivered}")


def _rename(where: Roots, key: str, name: str, join: tuple[str, ...], leave: tuple[str, ...]) -> None:
    """Change a session's name and groups."""
    peer = None if key == PERSON else peers.find(where, key)
    if peer is None:
        raise UserError("only a session that has run has a name and groups", "ways attend peers", WRONG)
    for word in (*((name,) if name else ()), *join, *leave):
        if not is_name(word.removeprefix("@")) or word.removeprefix("@") in addresses.PEOPLE:
            raise UserError(
                f"{printable(word)!r} cannot be a name", "use one word without @ : , and /", USAGE
            )
    groups = [group for group in peer.groups if group not in {word.removeprefix("@") for word in leave}]
    groups += [word.removeprefix("@") for word in join if word.removeprefix("@") not in groups]
    if len(groups) > peers.MAX_GROUPS:
        raise UserError(f"a session is in at most {peers.MAX_GROUPS} groups", "", REFUSED)
    changed = Peer(peer.session, peer.project, name.removeprefix("@") or peer.name, tuple(groups), peer.seen)
    try:
        peers.save(where, changed)
    except OSError as error:
        raise UserError(
            f"the name cannot be written: {error.strerror or error}", "ways status", WRITE_FAILED
        ) from error


def _open(where: Roots) -> None:
    """Raises UserError when the folder of the messages is not the user's alone."""
    try:
        inbox.check_private(where)
    except inbox.Unsafe as problem:
        raise UserError(str(problem), "make the folder your own with mode 0700", REFUSED) from problem


def _own_session() -> str:
    value = os.environ.get(SESSION_VARIABLE, "")
    return value if ids.is_session_id(value) else ""


def _key(session: str) -> str:
    """The inbox that is meant: the named session's, the one's that runs the command, else the person's."""
    if session and not ids.is_session_id(session):
        raise UserError(f"{printable(session)[:60]!r} is not a session id", "ways attend peers", USAGE)
    return session or _own_session() or PERSON


def _sender(where: Roots, session: str) -> Peer:
    """Who sends: the session that runs the command, or the person at the terminal."""
    key = _key(session)
    if key == PERSON:
        return Peer("", "", _login(), (), 0.0)
    found = peers.find(where, key)
    return found if found is not None else Peer(key, "", "session", (), 0.0)


def _login() -> str:
    try:
        name = getpass.getuser()
    except (OSError, KeyError):
        name = ""
    return name if is_name(name) else "person"
