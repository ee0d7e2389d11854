"""The page: self-contained, nothing from the log is ever markup, a policy that fits its own parts."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.readers.world import event, fire
from ways.readers import page
from ways.readers.forecast import Cadence
from ways.readers.timeline import build

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)> & \u2028 \ud800 \x1b[31m ' \""


class Elements(HTMLParser):
    """Every element with its attributes, and the text of scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self.texts.append("")

    def handle_data(self, data):
        if self.texts:
            self.texts[-1] += data


def rendered(*events):
    timeline = build(
        events[0]["session"] if events else "s1",
        events,
        growths={},
        window_of=lambda _model: (200_000, "default"),
        cadence_of=lambda _way: Cadence(0.1),
    )
    return page.render([timeline])


def parsed(text):
    found = Elements()
    found.feed(text)
    return found


def test_the_policy_allows_the_own_script_and_style_and_nothing_else():
    text = rendered(fire("a/b", 0))
    found = parsed(text)
    metas = [attributes for tag, attributes in found.found if tag == "meta"]
    policy = next(m["content"] for m in metas if m.get("http-equiv") == "Content-Security-Policy")
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert directives["base-uri"] == directives["form-action"] == "'none'"
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        bodies = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert len(bodies) == 1
        digest = base64.b64encode(hashlib.sha256(bodies[0].encode()).digest()).decode()
        assert directives[directive] == f"'sha256-{digest}'"


def test_the_page_names_nothing_to_load():
    text = rendered(fire("a/b", 0))
    for tag, attributes in parsed(text).found:
        assert not {"src", "href", "action", "style", "srcset"} & set(attributes), tag
        assert not any(name.startswith("on") for name in attributes)
        assert tag not in {"iframe", "link", "img", "object", "embed", "base", "form"}
    script = text[text.rindex("<script>") :]
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|fetch\(|XMLHttp|import\(", script
    )


def test_hostile_text_stays_text():
    text = rendered(
        fire("a/b", 0, matched_span=HOSTILE, project=HOSTILE, model=HOSTILE, agent_id=HOSTILE, hook=HOSTILE),
        event("way_judged", 1, way=HOSTILE, verdict="block", reason="ancestor", ancestor=HOSTILE),
        event("judge_call", 2, outcome=HOSTILE, provider=HOSTILE),
    )
    found = parsed(text)
    names = [tag for tag, _attributes in found.found]
    assert names.count("script") == 2 and names.count("style") == 1 and "img" not in names
    data = next(
        body
        for (_tag, attributes), body in zip(found.found, found.texts, strict=True)
        if attributes.get("id") == "data"
    )
    assert not set("<>&\u2028") & set(data)
    document = json.loads(data)
    texts = document["sessions"][0]["texts"]
    assert any("</script><script>alert(1)</script>" in one for one in texts)
    text.encode("utf-8")


def test_a_hostile_session_id_does_not_leave_the_title():
    text = rendered({**fire("a/b", 0), "session": "</title><script>alert(1)</script>"})
    assert text.count("<script") == 2
    assert html.escape("</title><script>") in text


@given(st.dictionaries(st.text(), st.recursive(st.text() | st.integers(), st.lists), max_size=5))
def test_any_document_can_be_embedded(document):
    text = page.embedded(document)
    assert not set("<>&\u2028\u2029") & set(text) and text.isascii()
    json.loads(text)


def test_an_empty_session_makes_a_page():
    assert "Replay of s1" in rendered()
    assert page.GENERATOR in page.render([])[:4_096]
