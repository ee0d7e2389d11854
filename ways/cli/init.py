"""`ways init`: set ways up; off a terminal the project part only."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import click

from installer import init as setup
from installer.init import JUDGES, Answers
from ways.core import roots as core_roots
from ways.core.errors import DONE, REFUSED, USAGE, WRITE_FAILED, WRONG, UserError
from ways.core.roots import Roots
from ways.core.text import printable


@click.command(name="init")
@click.option("--project-only", is_flag=True, help="Only the files of the project in this folder.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing unless something is wrong.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Print the plan and change nothing.")
@click.option(
    "--target", "targets", multiple=True, metavar="DIR", help="A config directory to serve as well."
)
@click.option("--language", metavar="CODE", help="The language of your prompts (en, de, ja, …).")
@click.option("--without-domain", "without", multiple=True, metavar="NAME", help="Guidance to leave out.")
@click.option("--secret-deny/--no-secret-deny", "deny", default=None, help="Keep Claude from secret files.")
@click.option("--judge", type=click.Choice(JUDGES), help="A hosted judge of relevance.")
@click.option("--key-file", type=click.File("r"), help="The judge's key, from a file (- for stdin).")
@click.option("--answers", "answers_file", type=click.Path(), help="Replay the answers in a file.")
@click.option("--save-answers", type=click.Path(), help="Keep the answers in a file (never the key).")
def command(
    project_only: bool,
    quiet: bool,
    yes: bool,
    dry_run: bool,
    targets: tuple[str, ...],
    language: str | None,
    without: tuple[str, ...],
    deny: bool | None,
    judge: str | None,
    key_file: object,
    answers_file: str | None,
    save_answers: str | None,
) -> int:
    """Set ways up: config directories, language, guidance, judge.

    On a terminal it asks, shows the plan as a diff, and changes nothing before you agree. With --yes or
    off a terminal, and without --target or --answers, it only writes the project's own files.
    """
    roots = core_roots.resolve()
    named = bool(targets or answers_file)
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if project_only or (not named and (yes or not terminal)):
        return _project(roots, quiet)
    now = _present(roots)
    answers = _from_flags(now, answers_file, targets, language, without, deny, judge)
    if not named:
        answers = _ask(roots, answers)
    if save_answers:
        _save(save_answers, answers)
    return _set_up(roots, answers, quiet, dry_run, ask=terminal and not yes, key_file=key_file)


def _project(roots: Roots, quiet: bool) -> int:
    """Write the project's missing files. A folder that is no project is no fault."""
    from installer import project, project_files
    from projection.system import RealSystem
    from projection.target_store import load_targets

    try:
        folder = os.getcwd()
    except FileNotFoundError:
        return DONE
    try:
        known = [target.folder for target in load_targets(RealSystem(), roots)]
    except UserError:
        # A list of targets that cannot be read is reconcile's and doctor's to report.
        known = []
    try:
        written = project.write_missing(project.missing_files(folder, roots, known))
        project_files.note(roots, written)
    except OSError as error:
        if quiet:
            return DONE
        raise UserError(f"{error.filename}: {error.strerror}", "", WRITE_FAILED) from error
    if not quiet:
        for one in written:
            click.echo(f"Wrote {printable(one.path)}")
        if not written:
            click.echo("Nothing to do here.")
    return DONE


def _present(roots: Roots) -> Answers:
    """The answers that describe the present state."""
    from projection.system import RealSystem
    from ways.agent import keys
    from ways.gate import settings as gate
    from ways.settings.load import load

    settings = load(roots)
    listed = setup.present_targets(RealSystem(), roots)
    stored = keys.stored_providers(roots, gate.PROVIDERS)
    return Answers(
        targets=tuple(target.path for target in listed if target.enabled),
        language=settings.language,
        without_domains=settings.disabled_domains,
        secret_path_deny=settings.install_secret_path_deny,
        judge=stored[0] if stored else "none",
    )


def _from_flags(
    now: Answers,
    answers_file: str | None,
    targets: tuple[str, ...],
    language: str | None,
    without: tuple[str, ...],
    deny: bool | None,
    judge: str | None,
) -> Answers:
    """The answers in a file, else the present ones, with every flag that was given on top."""
    base = now
    if answers_file:
        try:
            with open(answers_file, "rb") as file:
                base = setup.parse_answers(file.read(), answers_file)
        except OSError as error:
            raise UserError(f"{answers_file}: {error.strerror}", "ways init", USAGE) from error
    return Answers(
        # One folder more never means that another is not to be served any more (`ways target disable`).
        targets=(*base.targets, *targets),
        language=(language or base.language).lower(),
        without_domains=without or base.without_domains,
        secret_path_deny=base.secret_path_deny if deny is None else deny,
        judge=judge or base.judge,
    )


def _ask(roots: Roots, now: Answers) -> Answers:
    from installer import discovery, questions

    return questions.ask(discovery.candidates(os.environ, roots.home), shipped_domains(), now)


def shipped_domains() -> list[str]:
    """The domains of the shipped ways."""
    from installer.stage import shipped_payload

    folder = os.path.join(shipped_payload(), "hooks", "ways")
    return sorted(
        name
        for name in os.listdir(folder)
        if os.path.isdir(os.path.join(folder, name)) and name[0] not in "._"
    )


def _save(path: str, answers: Answers) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(answers.to_json())
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}", "", WRITE_FAILED) from error


def _set_up(roots: Roots, answers: Answers, quiet: bool, dry_run: bool, ask: bool, key_file: object) -> int:
    from installer import questions
    from installer.stage import prepare
    from projection import preferences, report
    from projection.reconcile import worst
    from projection.system import DryRunSystem, RealSystem
    from ways.settings.writer import set_values

    if not answers.targets:
        raise UserError("no config directory was chosen, so there is nothing to set up", "ways init", USAGE)
    options = preferences.with_secret_paths(preferences.options(roots), answers.secret_path_deny)
    dry = DryRunSystem()
    plan = setup.plan_init(
        dry, roots, lambda: prepare(dry, roots), options, answers, _present_settings(roots)
    )
    if not quiet or ask or dry_run:
        for text in plan.lines():
            click.echo(text)
    if dry_run:
        return DONE
    if plan.refusals and all(target.refused or target.error for target in plan.targets):
        raise UserError(plan.refusals[0], "move it away, or ways reconcile --force", REFUSED)
    key = _key(answers, roots, ask, key_file)
    if ask and not questions.confirm("Apply this plan?"):
        click.echo("Nothing was changed.")
        return DONE
    real = RealSystem()

    def write(values: Mapping[str, object]) -> None:
        set_values(os.path.join(roots.config, "config.yaml"), values, state_root=roots.state)

    outcomes = setup.apply_init(real, roots, lambda: prepare(real, roots), options, plan, write)
    code = worst(outcome.exit_code for outcome in outcomes)
    for outcome in outcomes:
        for text in report.fault_lines(outcome.plan, outcome.error):
            click.echo(text, err=True)
        if not quiet:
            for text in report.outcome_lines(outcome):
                click.echo(text)
    if key:
        try:
            _store_key(roots, answers.judge, key)
        except UserError as error:
            # The set-up stands without a judge; what is wrong with the key is said, with what to type.
            click.echo(f"ways: {error}", err=True)
            code = code or error.exit_code
    return _finish(roots, code, quiet)


def _present_settings(roots: Roots) -> dict[str, object]:
    from ways.settings.load import load

    settings = load(roots)
    return {
        "language": settings.language,
        "ways.disabled_domains": list(settings.disabled_domains),
        "install.secret_path_deny": settings.install_secret_path_deny,
    }


def _key(answers: Answers, roots: Roots, ask: bool, key_file: object) -> str:
    """The judge's key, read without echo; "" when there is none to store."""
    if answers.judge == "none":
        return ""
    if key_file is not None:
        return str(key_file.read()).strip()  # type: ignore[attr-defined]
    from ways.agent import keys

    if ask and answers.judge not in keys.stored_providers(roots, (answers.judge,)):
        from installer import questions

        return questions.ask_key(answers.judge)
    return ""


def _store_key(roots: Roots, provider: str, key: str) -> None:
    """Check the key with the provider and store it, as `ways agent key add` does. Raises UserError."""
    from ways.agent import key_commands, keys

    profile = key_commands.profile_for(key_commands.load_settings(roots), provider)
    record = key_commands.add(roots, profile, key, replace=True)
    click.echo(f"The key for {provider} is stored ({keys.masked(key)}): {record.state}")


def _finish(roots: Roots, code: int, quiet: bool) -> int:
    """Corpus, doctor, and what to do next."""
    from ways.cli import corpus, doctor

    try:
        report = corpus.build(roots, show_progress=not quiet and sys.stderr.isatty())
    except UserError as error:
        # Without the engine patterns still work; doctor says below what is missing.
        click.echo(f"No corpus was built: {error}", err=True)
    else:
        if not quiet:
            click.echo(corpus.as_text(report, verbose=False))
    faults = 0
    for finding in doctor.examine(roots):
        if finding.state == doctor.FAULT:
            faults += 1
            click.echo(doctor.line(finding), err=True)
    if quiet:
        return code or (WRONG if faults else DONE)
    from ways.cli import mcp

    click.echo(f"To let Claude look guidance up by itself, too: {mcp.registration()}")
    if faults or code:
        click.echo("Not everything works yet; the lines above say what to do.")
    else:
        click.echo("Everything works. Start Claude Code in a project; `ways demo` shows what to expect.")
    return code or (WRONG if faults else DONE)
