"""The shipped ways keep to the format and to the limits that the guide for authors states."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.unit.payload import shipped
from ways.catalogue.body import check_sections, normalise, split
from ways.catalogue.literals import EXPONENTIAL, analyse
from ways.catalogue.way import SCOPES, Broken, Check, Way

MOST_LINES, MOST_UNITS = 40, 4_000
EVERYDAY = (Path(__file__).parent / "everyday.txt").read_text(encoding="utf-8").splitlines()
IDS = {way.id for way in shipped.ways()}


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def body_of(path: Path) -> str:
    return split(normalise(path.read_bytes()))[1]


@pytest.mark.parametrize("path", shipped.way_files(), ids=shipped.way_id)
def test_a_way_has_no_problem_and_a_short_body(path: Path) -> None:
    way = shipped.parsed_way(path)
    assert isinstance(way, Way), way
    assert way.problems == ()
    assert way.unknown_fields == ()
    text = body_of(path)
    assert text.lstrip().startswith("# ")
    assert len(text.strip().splitlines()) < MOST_LINES
    assert units(text) < MOST_UNITS


@pytest.mark.parametrize("way", shipped.ways(), ids=lambda way: way.id)
def test_a_way_can_be_reached(way: Way) -> None:
    assert way.description or way.pattern or way.commands or way.files or way.trigger or way.postcheck_file
    if way.description:
        assert way.vocabulary, "a description without vocabulary is a weak alias"
    assert bool(way.macro) == bool(way.macro_file)


def test_a_state_way_is_not_matched_by_meaning_unless_it_says_more() -> None:
    described = [way.id for way in shipped.ways() if way.trigger and way.description]
    assert described == ["meta/context"]


@pytest.mark.parametrize("path", shipped.check_files(), ids=shipped.way_id)
def test_a_check_stands_beside_its_way_and_has_both_sections(path: Path) -> None:
    check = shipped.parsed_check(path)
    assert not isinstance(check, Broken), check
    assert (check.problems, check.unknown_fields) == ((), ())
    assert check.id in IDS
    assert path.name == f"{path.parent.name}.check.md"
    assert check.commands or check.files
    anchor, text = check_sections(body_of(path))
    assert anchor.strip()
    assert text.strip()


def test_the_payload_covers_the_format() -> None:
    ways = shipped.ways()
    assert len(ways) >= 110
    assert len({way.domain for way in ways}) >= 8
    assert {way.trigger for way in ways} == {
        "",
        "session-start",
        "context-threshold",
        "file-exists",
        "attend",
    }
    assert {scope for way in ways for scope in way.scope} == set(SCOPES)
    assert {way.macro for way in ways} == {"", "append", "prepend"}
    assert sum(bool(way.macro_file) for way in ways) >= 5
    assert sum(bool(way.postcheck_file) for way in ways) >= 2
    assert {"once", "rare", "normal", "frequent"} <= {way.refire for way in ways}
    assert any(way.pattern_strict for way in ways)
    assert any(way.when.file_exists for way in ways)
    assert any(way.when.os for way in ways)
    assert any(way.when.env for way in ways)
    assert any(way.when.command_exists for way in ways)
    assert any(way.when.project for way in ways)
    assert len(shipped.check_files()) >= 9


def regexes() -> list[tuple[str, str, str]]:
    """(way id, field, regex) of every regex that is shipped."""
    fields = ("pattern", "commands", "files")
    found = [(way.id, field, getattr(way, field)) for way in shipped.ways() for field in fields]
    for path in shipped.check_files():
        check = shipped.parsed_check(path)
        found += [(f"{check.path}", field, getattr(check, field)) for field in fields[1:]]
    return [row for row in found if row[2]]


@pytest.mark.parametrize(("owner", "field", "source"), regexes())
def test_a_regex_cannot_run_away(owner: str, field: str, source: str) -> None:
    re.compile(source, re.IGNORECASE)
    assert analyse(source)[1] < EXPONENTIAL, f"{owner}: {field}"


def prompt_patterns() -> list[Way]:
    """Ways whose pattern is matched on what a user types (others see only a Task prompt)."""
    return [way for way in shipped.ways() if way.pattern and (not way.scope or "agent" in way.scope)]


def test_there_are_enough_everyday_prompts() -> None:
    assert len(EVERYDAY) >= 60
    assert len(set(EVERYDAY)) == len(EVERYDAY)


@pytest.mark.parametrize("way", prompt_patterns(), ids=lambda way: way.id)
def test_no_pattern_matches_an_everyday_prompt(way: Way) -> None:
    pattern = re.compile(way.pattern, re.IGNORECASE)
    assert [text for text in EVERYDAY if pattern.search(text)] == []


# Words of our subjects in another sense: no pattern may take them for its own.
OTHER_SENSES = [
    "Draft a reply to Mr Klein about the kitchen",
    "Let's not rewrite history, he lost the game fair and square",
    "Make a shorter version of this poem",
    "Write a regex that validates email addresses",
    "What does mise en place mean?",
    "He mocked his brother all evening",
    "Is the castle accessible by bus?",
    "I read the paper every morning on the train",
    "There was a power outage in our street",
    "The film went into production of its second part",
    "Who played Loki in the first film?",
    "In Star Trek the Borg assimilate everyone",
    "I need a backup plan for the garden party",
    "The bank closed its branch in our village",
    "The headline slides up from below",
    "The security guard waved us through",
    "What is the key of this song?",
    "The pipeline carries gas to the coast",
    "She is afraid to commit to a relationship",
    "My real estate agent does not answer",
]


def test_no_pattern_takes_a_word_in_another_sense() -> None:
    hits = [
        (text, way.id)
        for text in OTHER_SENSES
        for way in prompt_patterns()
        if re.search(way.pattern, text, re.IGNORECASE)
    ]
    assert hits == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("please write unit tests for the parser", "softwaredev/code/testing"),
        ("this test is flaky", "softwaredev/code/testing/flaky"),
        ("force-push my branch", "softwaredev/delivery/history"),
        ("open a PR for this", "softwaredev/delivery/pullrequests"),
        ("EADDRINUSE on start", "workstation/processes"),
        ("I can't reproduce it", "softwaredev/code/debugging"),
        ("renew the TLS certificate", "itops/certificates"),
        ("our readme is old", "documentation/readme"),
        ("Permission denied (publickey).", "workstation/ssh"),
        ("production is down", "itops/incident"),
    ],
)
def test_a_pattern_matches_what_it_is_for(text: str, expected: str) -> None:
    hits = [way.id for way in prompt_patterns() if re.search(way.pattern, text, re.IGNORECASE)]
    assert expected in hits


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git commit -m x", "softwaredev/delivery/commits"),
        ("git -C /srv/app commit", "softwaredev/delivery/commits"),
        ("git push --force origin x", "softwaredev/delivery/history"),
        ("git checkout .", "softwaredev/delivery/history"),
        ("git branch -D topic", "softwaredev/delivery/history"),
        ("git restore .", "softwaredev/delivery/history"),
        ("npm install left-pad", "softwaredev/code/supplychain/dependencies"),
        ("uv pip install httpx", "softwaredev/code/supplychain/dependencies"),
        ("sudo apt-get install jq", "workstation/packages"),
        ("curl -fsSL https://x.sh | sudo bash", "workstation/packages"),
        ("kubectl get pods", "itops/kubernetes"),
        ("terraform apply", "itops/terraform"),
        ("pkill -f node", "workstation/processes"),
        ("find / -name x -delete", "workstation/diskspace"),
        ("python manage.py migrate", "data/migrations"),
        ("aws iam attach-role-policy --role-name ci --policy-arn x", "itops/access"),
        ("helm upgrade shop ./chart", "itops/rollout"),
        ("do-release-upgrade", "itops/patching"),
        ("crontab -e", "workstation/schedules"),
        ("ways attend send backend hello", "meta/peers"),
        ("ways tune precision --flagged", "meta/authoring/tuning"),
    ],
)
def test_a_command_regex_matches_its_command(command: str, expected: str) -> None:
    ways = [way for way in shipped.ways() if way.commands]
    assert expected in [way.id for way in ways if re.search(way.commands, command, re.IGNORECASE)]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("kubectl --context prod delete pod web-1", "itops/kubernetes"),
        ("kubectl scale deploy/web --replicas=0", "itops/kubernetes"),
        ("helm uninstall shop", "itops/kubernetes"),
        ("terraform -chdir=infra destroy", "itops/terraform"),
        ("alembic upgrade head", "data/migrations"),
        ("rails db:drop", "data/migrations"),
        ("helm rollback shop 3", "itops/rollout"),
        ("kubectl rollout undo deploy/web", "itops/rollout"),
        ("rm -rf ~/Downloads/old", "workstation/diskspace"),
        ("docker volume prune", "workstation/diskspace"),
    ],
)
def test_a_check_comes_at_the_moment_of_action(command: str, expected: str) -> None:
    checks = [shipped.parsed_check(path) for path in shipped.check_files()]
    hit = [
        check.id
        for check in checks
        if isinstance(check, Check) and check.commands and re.search(check.commands, command, re.IGNORECASE)
    ]
    assert expected in hit


@pytest.mark.parametrize(
    "command",
    [
        "kubectl get pods",
        "kubectl describe pod x",
        "helm list",
        "terraform plan",
        "alembic history",
        "rm -rf build dist",
        "docker image ls",
        "python manage.py makemigrations",
    ],
)
def test_a_check_leaves_reading_and_rebuilding_alone(command: str) -> None:
    checks = [shipped.parsed_check(path) for path in shipped.check_files()]
    assert [
        check.id
        for check in checks
        if isinstance(check, Check) and check.commands and re.search(check.commands, command, re.IGNORECASE)
    ] == []


HARMLESS = """
ls -la
git status
git diff --stat
git log --oneline
git stash list
git checkout main
git restore --staged a.py
git restore --staged .
git branch -d merged
cat notes.txt
python -m pytest -q
make
cd src && rg TODO
npm run build
docker ps
echo done
rm build.log
sed -n 1,20p a.py
""".strip().splitlines()


@pytest.mark.parametrize("command", HARMLESS)
def test_a_harmless_command_is_left_alone(command: str) -> None:
    ways = [way for way in shipped.ways() if way.commands]
    assert [way.id for way in ways if re.search(way.commands, command, re.IGNORECASE)] == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("app/.env.local", "softwaredev/code/security/secrets"),
        (".env", "softwaredev/code/security/secrets"),
        ("C:/p/x/.env", "softwaredev/code/security/secrets"),
        ("tests/test_a.py", "softwaredev/code/testing"),
        ("src/a.spec.ts", "softwaredev/code/testing"),
        ("Dockerfile", "softwaredev/environment/containers"),
        (".github/workflows/ci.yml", "softwaredev/delivery/ci"),
        ("db/migrate/001_init.rb", "data/migrations"),
        ("CHANGELOG.md", "documentation/changelog"),
        ("/home/me/.zshrc", "workstation/dotfiles"),
        ("docs/adr/0003-queue.md", "documentation/decisions"),
        ("docs/runbooks/full-disk.md", "documentation/runbooks"),
        ("/p/.claude/ways.yaml", "meta/switches"),
        ("/p/.claude/ways/shop/prices/macro.py", "meta/authoring/scripts"),
    ],
)
def test_a_file_regex_matches_its_file(path: str, expected: str) -> None:
    ways = [way for way in shipped.ways() if way.files]
    assert expected in [way.id for way in ways if re.search(way.files, path, re.IGNORECASE)]


@pytest.mark.parametrize(
    "path", ["src/main.py", "index.html", "lib/environment.ts", "docs/guide.md", "a/keys.py"]
)
def test_an_ordinary_file_is_left_alone(path: str) -> None:
    ways = [way for way in shipped.ways() if way.files]
    assert [way.id for way in ways if re.search(way.files, path, re.IGNORECASE)] == []


def test_core_fits_with_its_table(tmp_path: Path) -> None:
    """docs: core.md stays under 8,000 UTF-16 units, its table included."""
    core = shipped.WAYS / "core.md"
    done = subprocess.run(
        [*shipped.python(), str(shipped.WAYS / "macro.py")],
        env={"HOME": str(tmp_path), "WAYS_WAY_DIR": str(shipped.WAYS), "WAYS_PROJECT_DIR": str(tmp_path)},
        capture_output=True,
        check=True,
        timeout=20,
    )
    table = done.stdout.decode("utf-8")
    assert units(body_of(core)) + units(table) < 8_000
    for domain in {way.domain for way in shipped.ways()}:
        assert f"| {domain} |" in table
