"""`ways audit` from the outside, on real sidecars and a real event log."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from ways.cli.main import main
from ways.core import clock
from ways.telemetry import log

SIDECAR = """\
policy:
  - name: Pricing policy
    source: docs/pricing.md
    section: "3.2"
controls:
  - framework: sox
    id: ITGC-10
    title: Calculation
    claim: Prices are cents.
  - framework: sox
    id: ITGC-9
    coverage: full
    claim: Rounded once.
reviewed: 2026-11-01
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("APP", "CONFIG", "STATE", "CACHE", "SESSIONS"):
        monkeypatch.setenv(f"WAYS_{name}_ROOT", str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(clock, "now", lambda: 1_796_040_000.0)  # 2026-11-30
    folder = tmp_path / "project"
    way(folder, "shop/prices", SIDECAR)
    way(folder, "shop/orders", "policy: [{name: Order policy, relation: supports}]\n")
    way(folder, "misc", None)
    monkeypatch.chdir(folder)
    return folder


def way(project: Path, way_id: str, sidecar: str | None) -> Path:
    folder = project / ".claude" / "ways" / way_id
    folder.mkdir(parents=True)
    (folder / f"{folder.name}.md").write_text(f"---\ndescription: About {way_id}\n---\nBody\n", "utf-8")
    if sidecar is not None:
        (folder / "provenance.yaml").write_text(sidecar, "utf-8")
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["audit", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def data(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(run(capsys, *arguments, "--json")[1])


def fire(project: Path, way_id: str, session: str = "s1") -> None:
    state = project.parent / "state" / "events.jsonl"
    assert log.append(str(state), [log.event("way_fired", way=way_id, session=session)])


def test_report_counts(capsys: pytest.CaptureFixture[str]) -> None:
    found = data(capsys, "report")
    assert {name: found[name] for name in ("ways", "with_provenance", "policies", "controls", "faults")} == {
        "ways": 3,
        "with_provenance": 2,
        "policies": 2,
        "controls": 2,
        "faults": 0,
    }
    assert "2 of 3 ways" in run(capsys, "report")[1]


def test_gaps(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "required.txt").write_text("# ours\nSOX:itgc-9\nsox:ITGC-11  # later\n\n")
    found = data(capsys, "gaps", "--required", "required.txt")
    assert found == {
        "without_provenance": ["misc"],
        "without_control": ["shop/orders"],
        "unclaimed": ["sox:ITGC-11"],
    }
    assert run(capsys, "gaps", "--required", "required.txt", "--check")[0] == 1
    assert run(capsys, "gaps", "--check")[0] == 0
    (project / "required.txt").write_text("nonsense\n")
    code, _, err = run(capsys, "gaps", "--required", "required.txt")
    assert code == 2 and "required.txt:1" in err


def test_stale_by_time_and_by_change(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    assert [(row["way"], row["why"]) for row in data(capsys, "stale")] == [
        ("shop/orders", "has never been reviewed")
    ]
    digest = data(capsys, "trace", "shop/prices")["digest"]
    folder = project / ".claude/ways/shop/prices"
    (folder / "provenance.yaml").write_text(f'{SIDECAR}digest: "{digest}"\nreview_days: 60\n')
    assert run(capsys, "stale")[1].count("\n") == 1
    (folder / "prices.md").write_text("---\ndescription: Tuned\n---\n\nBody\n")
    assert run(capsys, "stale")[1].count("\n") == 1, "the guidance itself is the same"
    (folder / "prices.md").write_text("---\ndescription: Tuned\n---\nOther body\n")
    assert "shop/prices: the way has changed since" in run(capsys, "stale")[1]
    (folder / "provenance.yaml").write_text(f"{SIDECAR}review_days: 20\n")
    assert "was due for review on 2026-11-21" in run(capsys, "stale")[1]
    assert run(capsys, "stale", "--check")[0] == 1


def test_active_counts_the_log(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    fire(project, "shop/prices")
    fire(project, "shop/prices", "s2")
    fire(project, "misc")
    (project.parent / "state" / "events.jsonl").open("a").write('{"event": "way_fired", "way": torn\n')
    rows = data(capsys, "active")
    assert [(row["way"], row["fires"], row["sessions"]) for row in rows] == [
        ("shop/prices", 2, 2),
        ("shop/orders", 0, 0),
    ]
    assert rows[0]["controls"] == ["sox:ITGC-10", "sox:ITGC-9"]


def test_matrix_in_every_form(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    way(project, "evil", "controls: [{framework: '=cmd', id: 'a|b', claim: x}]\n")
    out = run(capsys, "matrix")[1]
    assert out.index("ITGC-9") < out.index("ITGC-10"), "numbers in the order of their value"
    rows = list(csv.reader(io.StringIO(run(capsys, "matrix", "--format", "csv")[1])))
    assert rows[0] == ["framework", "control", "title", "way", "coverage", "claim"]
    assert ["sox", "ITGC-9", "", "shop/prices", "full", "Rounded once."] in rows
    assert any(row[0] == "'=cmd" for row in rows), "no formula for a spreadsheet"
    assert "a\\|b" in run(capsys, "matrix", "--format", "markdown")[1]
    assert len(json.loads(run(capsys, "matrix", "--format", "json")[1])) == 3


def test_control_policy_and_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert [row["way"] for row in data(capsys, "control", "SOX:itgc-9")] == ["shop/prices"]
    assert [row["way"] for row in data(capsys, "control", "ITGC-10")] == ["shop/prices"]
    assert run(capsys, "control", "none")[0] == 1
    assert [row["way"] for row in data(capsys, "policy", "policy")] == ["shop/orders", "shop/prices"]
    assert run(capsys, "policy", "nothing")[0] == 1
    out = run(capsys, "trace", "shop/prices")[1]
    assert "implements Pricing policy (docs/pricing.md 3.2)" in out and "reviewed  2026-11-01" in out
    assert "no provenance.yaml" in run(capsys, "trace", "misc")[1]
    assert run(capsys, "trace", "shop/price")[0] == 2


def test_assemble_writes_once(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    assert run(capsys, "assemble", "--output", "out.json") == (0, "", "")
    document = json.loads((project / "out.json").read_text())
    assert [row["way"] for row in document["ways"]] == ["shop/orders", "shop/prices"]
    assert str(project) not in (project / "out.json").read_text()
    assert run(capsys, "assemble", "--output", "out.json")[0] == 2
    assert json.loads(run(capsys, "assemble")[1]) == document


def test_findings_and_their_exit_code(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    fire(project, "shop/prices")
    assert run(capsys, "findings", "--check", "error")[0] == 0
    assert run(capsys, "findings", "--check", "warning")[0] == 1
    way(project, "bad", "policy: 5\n")
    rows = data(capsys, "findings")
    assert [(row["level"], row["kind"], row["way"]) for row in rows] == [
        ("error", "lint", "bad"),
        ("warning", "stale", "bad"),
        ("warning", "stale", "shop/orders"),
        ("note", "unused", "bad"),
        ("note", "unused", "shop/orders"),
    ]
    assert run(capsys, "findings", "--check", "error")[0] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("- a\n", "must hold keys and values"),
        ("owner: me\n", "names neither a policy nor a control"),
        ("policy: [{name: x}]\nreviewd: 1\n", ":2: reviewd: is not a field"),
        ("policy:\n  - source: x\n", "policy.0: lacks name"),
        ("policy:\n  - name: x\n    relation: maybe\n", ":3: policy.0.relation: must be one of"),
        ("controls:\n  - framework: a\n    id: 1\n", "controls.0: lacks claim"),
        ("controls:\n  - a\n", "must hold framework"),
        ("policy: [{name: x}]\nreviewed: yesterday\n", ":2: reviewed: must be a date"),
        ("policy: [{name: x}]\nreview_days: 0\n", "from 1 to 3660"),
        ("policy: [{name: x}]\ndigest: 12\n", "16 hexadecimal"),
        ("policy: [{name: x}]\npolicy: [{name: y}]\n", "is there twice"),
        ("controls: [{framework: a, id: 1, claim: x}, {framework: a, id: 1, claim: y}]\n", "claimed twice"),
        ("policy: [\n", "is not YAML"),
    ],
)
def test_lint_says_where(capsys: pytest.CaptureFixture[str], project: Path, text: str, message: str) -> None:
    way(project, "bad", text)
    code, out, _ = run(capsys, "lint")
    assert code == 1 and message in out and "provenance.yaml" in out


def test_a_link_in_a_project_is_not_followed(
    capsys: pytest.CaptureFixture[str], project: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.yaml").write_text("policy: [{name: SECRET}]\n")
    (way(project, "linked", None) / "provenance.yaml").symlink_to(tmp_path / "secret.yaml")
    code, out, _ = run(capsys, "lint")
    assert code == 1 and "is a link" in out and "SECRET" not in run(capsys, "assemble")[1]
