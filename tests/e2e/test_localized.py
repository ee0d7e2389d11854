"""Localized mode: German, French and Japanese prompts through the real hooks and the multilingual model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from build import model
from tests.e2e.session_home import Home, Session

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.model, pytest.mark.slow]

EXPECTED = {
    "Kannst du mir beim Beantworten der Mail vom Kunden helfen?": "ea/email",
    "Das Programm ist viel zu langsam geworden": "softwaredev/code/performance",
    "Schreib bitte Tests für diese Funktion": "softwaredev/code/testing",
    "Wohin mit dem Passwort und dem API-Schlüssel?": "softwaredev/code/security/secrets",
    "Pourquoi est-ce que ça plante au démarrage ?": "softwaredev/code/debugging",
    "Ajoute une colonne à la table des clients": "data/migrations",
    "この関数の単体テストを書いてください": "softwaredev/code/testing",
    "この処理は遅すぎるので速くしたい": "softwaredev/code/performance",
}
UNRELATED = (
    "Wie wird das Wetter morgen in Hamburg?",
    "Quelle est la capitale du Pérou ?",
    "今日の夕飯は何がいいですか",
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with the multilingual model installed from its file, and a corpus of both lanes."""
    home = Home(tmp_path_factory.mktemp("localized") / "home", engine=True)
    home.ways("target", "add", str(home.claude))
    home.ways("settings", "set", "language", "de")
    if not (ROOT / "build/out/models/multi.gguf").exists():  # a source install links that folder
        assert "off" in home.ways("tune", "language"), "localized mode needs the model"
    home.ways("tune", "language", "--install", "--from", str(model.cached("multi")))
    home.ways("corpus")
    return home


@pytest.fixture
def project(home: Home, request: pytest.FixtureRequest) -> Path:
    folder = home.path / "work"
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    return folder


def test_the_multilingual_lane_has_a_calibration_of_its_own(home: Home) -> None:
    manifest = json.loads((home.path / ".cache/agent-ways/user/embed-manifest.json").read_text())
    lanes = manifest["lanes"]
    assert lanes["multi"]["auc"] >= 0.70 and lanes["multi"]["a"] > 0
    assert lanes["multi"]["a"] != lanes["en"]["a"]
    assert "multi:" in home.ways("status")


def test_prompts_in_other_languages_find_their_ways(home: Home, project: Path) -> None:
    for prompt, way in EXPECTED.items():
        session = Session(home, project)
        assert session.prompt(prompt), prompt
        fired = {row["way"]: row["trigger"] for row in home.log("way_fired") if row["session"] == session.id}
        assert fired.get(way) == "semantic:embedding:multi", (prompt, fired)


def test_unrelated_prompts_in_other_languages_find_none(home: Home, project: Path) -> None:
    for prompt in UNRELATED:
        session = Session(home, project)
        session.prompt(prompt)
        fired = [row["way"] for row in home.log("way_fired") if row["session"] == session.id]
        assert [way for way in fired if not way.startswith("meta/")] == [], (prompt, fired)


def test_a_file_that_is_not_the_model_is_refused(home: Home, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(model.cached("multi").read_bytes()[:-1] + b"x")
    home.ways("tune", "language", "--install", "--from", str(other), code=6)
    home.ways("tune", "language", "--install", "--from", str(tmp_path / "none.gguf"), code=2)
