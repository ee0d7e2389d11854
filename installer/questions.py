"""The questions of `ways init` on a terminal (questionary). Ctrl-C at any of them changes nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import questionary

from installer.discovery import Candidate
from installer.init import JUDGES, Answers
from ways.core.text import printable

OTHER = "another folder…"


def ask(candidates: Sequence[Candidate], domains: Sequence[str], now: Answers) -> Answers:
    """Ask everything, starting from the present state. Raises KeyboardInterrupt on Ctrl-C."""
    targets = ask_targets(candidates, now.targets)
    language = ask_language(now.language)
    without = ask_domains(domains, now.without_domains)
    deny = _answer(
        questionary.confirm(
            "Add rules that keep Claude from reading secret files (.env, SSH keys, credentials)?",
            default=now.secret_path_deny,
        )
    )
    return Answers(targets, language, without, bool(deny), ask_judge(now.judge))


def ask_targets(candidates: Sequence[Candidate], chosen: Sequence[str]) -> tuple[str, ...]:
    """Which config directories to serve: those that are served now, then what was found."""
    choices = [questionary.Choice(f"{printable(path)}  (served now)", path, checked=True) for path in chosen]
    served = {os.path.realpath(os.path.expanduser(path)) for path in chosen}
    choices += [
        questionary.Choice(
            title=f"{printable(found.path)}  ({found.reason}{'' if found.exists else ', will be made'})",
            value=found.path,
            checked=not chosen and index == 0,
        )
        for index, found in enumerate(candidates)
        if os.path.realpath(found.path) not in served
    ]
    choices.append(questionary.Choice(title=OTHER, value=OTHER))
    picked = _answer(
        questionary.checkbox("Which Claude Code config directories should ways serve?", choices=choices)
    )
    paths = [path for path in picked if path != OTHER]
    if OTHER in picked:
        paths.append(_answer(questionary.path("Folder:", only_directories=True)))
    return tuple(path for path in paths if path)


def ask_language(now: str) -> str:
    """The language that the user writes prompts in."""
    answer = _answer(
        questionary.text(
            "In which language do you write your prompts? (a code such as en, de, ja)", default=now
        )
    )
    return str(answer).strip().lower() or "en"


def ask_domains(domains: Sequence[str], without: Sequence[str]) -> tuple[str, ...]:
    """Which domains of shipped ways to leave out."""
    picked = _answer(
        questionary.checkbox(
            "Which kinds of guidance do you want?",
            choices=[
                questionary.Choice(title=name, value=name, checked=name not in without) for name in domains
            ],
        )
    )
    return tuple(name for name in domains if name not in picked)


def ask_judge(now: str) -> str:
    """Whether a hosted model may look at what would be shown."""
    questionary.print(
        "A hosted model can hold back guidance that merely shares words with a prompt. For that, the\n"
        "prompt (at most its last 1,200 characters) and the titles and descriptions of the candidate\n"
        "ways leave this machine, to the provider whose key you give. Nothing else does. Without a key\n"
        "nothing is sent, and everything else works the same."
    )
    return str(
        _answer(
            questionary.select(
                "Use such a judge?", choices=list(JUDGES), default=now if now in JUDGES else "none"
            )
        )
    )


def ask_key(provider: str) -> str:
    """The provider's key, not echoed; "" when none is given."""
    return str(_answer(questionary.password(f"Key for {provider} (empty: later):"))).strip()


def confirm(question: str) -> bool:
    """A yes or no, no by default."""
    return bool(_answer(questionary.confirm(question, default=False)))


def _answer(question: Any) -> Any:
    """The answer; Ctrl-C and a closed terminal end the whole command."""
    answer = question.unsafe_ask()
    if answer is None:
        raise KeyboardInterrupt
    return answer
