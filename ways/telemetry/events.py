"""The registry of events and their fields (spec: telemetry). The reference page is made from it."""

from __future__ import annotations

from ways.core.record import record


@record
class EventKind:
    """One event: its name, what it says, and its fields beyond the common ones, as (name, meaning)."""

    name: str
    meaning: str
    fields: tuple[tuple[str, str], ...]


COMMON = (
    ("ts", "when, UTC ISO 8601 with milliseconds"),
    ("event", "the event's name"),
    ("way", "the way's id"),
    ("domain", "the first segment of the way's id"),
    ("trigger", "what made it fire"),
    ("scope", "agent, subagent or teammate"),
    ("project", "the project's folder"),
    ("session", "the session's id"),
    ("agent_id", "main, or the subagent's id"),
    ("model", "the agent's model id"),
    ("hook", "the hook event"),
    ("config_dir", "the target, a Claude Code config directory"),
)

_FIRED = (
    ("token_position", "tokens in the agent's context"),
    ("fire_score", "semantic triggers: the deciding score"),
    ("surface", "semantic triggers: the beginning of the text that was matched"),
    ("parent", "in a tree: the nearest ancestor that was shown"),
    ("tree_depth", "in a tree: how many ancestors the way has"),
    ("epoch_distance", "in a tree: epochs since that ancestor was shown"),
    ("team", "teammates: the team's name"),
)

EVENTS = (
    EventKind("session_start", "A session's state was cleared.", (("source", "startup, compact or clear"),)),
    EventKind(
        "way_fired",
        "A way was shown for the first time.",
        (*_FIRED, ("matched_span", "keyword, command and file triggers: the text that matched")),
    ),
    EventKind("way_redisclosed", "A way was shown again after its refire window.", _FIRED),
    EventKind(
        "way_suppressed",
        "A way or a check that matched was not shown.",
        (
            ("kind", "way or check"),
            ("reason", "refire (logged once per window) or context_cap"),
            ("check", "the check's id"),
            ("token_position", "tokens in the agent's context"),
        ),
    ),
    EventKind(
        "way_pulled",
        "An agent looked a way up and read it.",
        (
            ("token_position", "tokens in the agent's context"),
            ("client", "without a session: the MCP client, by its own account"),
        ),
    ),
    EventKind(
        "way_nearmiss",
        "A way was just below the firing probability.",
        (
            ("corpus_id", "the way's row in the corpus"),
            ("prob_en", "calibrated probability, English"),
            ("prob_multi", "calibrated probability, multilingual"),
            ("tau_s", "the probability that would have fired it"),
            ("margin", "how far below still counts as near"),
            ("query_tokens", "length of the text that was embedded"),
        ),
    ),
    EventKind(
        "way_keyword_gated",
        "A keyword hit stayed below the semantic floor.",
        (
            ("matched_span", "the text that matched"),
            ("prob_en", "calibrated probability, English"),
            ("prob_multi", "calibrated probability, multilingual"),
            ("floor", "the probability that was needed"),
            ("token_position", "tokens in the agent's context"),
            ("corpus_id", "the way's row in the corpus"),
        ),
    ),
    EventKind(
        "check_fired",
        "A check was shown.",
        (
            ("check", "the check's id"),
            ("epoch", "the agent's epoch"),
            ("way_epoch", "the epoch in which its way was shown"),
            ("distance", "epochs between the two"),
            ("fire_count", "how often it had been shown before"),
            ("match_score", "how well it matched"),
            ("effective_score", "the score after distance and fires"),
            ("anchored", "whether its anchor was shown too"),
        ),
    ),
    EventKind(
        "injection_suppressed",
        "Nothing was shown to a subagent because of a switch.",
        (
            ("reason", "subagents_off"),
            ("switch", "session or config"),
            ("lane", "the lane"),
            ("agent", "the agent's type"),
        ),
    ),
    EventKind(
        "way_judged",
        "The judge decided on a candidate.",
        (
            ("p_yes", "the judge's probability that the way is relevant"),
            ("threshold", "the probability that passes"),
            ("verdict", "pass, block or would_block"),
            ("mode", "enforce or shadow"),
            ("engine", "the engine profile"),
            ("judge_ms", "milliseconds of the provider's call"),
            ("gate_ms", "milliseconds of the whole gate"),
            ("candidates", "how many ways were judged together"),
            ("reason", "ancestor: blocked with an ancestor"),
            ("ancestor", "that ancestor's id"),
        ),
    ),
    EventKind(
        "judge_call",
        "One call of a judge provider.",
        (
            ("outcome", "how it ended"),
            ("reason", "why there was no verdict"),
            ("engine", "the engine profile"),
            ("provider", "the provider"),
            ("candidates", "how many ways were judged"),
            ("input_tokens", "tokens sent"),
            ("output_tokens", "tokens answered"),
            ("cache_read_tokens", "tokens read from the provider's cache"),
            ("cache_write_tokens", "tokens written to it"),
            ("cost_usd", "US dollars, when known"),
            ("cost_source", "provider, price, none (refused, nothing charged) or unknown"),
        ),
    ),
    EventKind(
        "gate_fallback",
        "The judge gave no verdict and the matcher's decision stood.",
        (
            ("reason", "why"),
            ("gate_ms", "milliseconds of the whole gate"),
            ("candidates", "how many ways would have been judged"),
        ),
    ),
    EventKind(
        "gate_capped",
        "More ways matched than are judged at once.",
        (
            ("judged", "how many were judged"),
            ("unjudged", "how many passed unjudged"),
            ("ways", "their ids, joined by commas"),
        ),
    ),
)

TRIGGERS = (
    ("keyword", "the way's pattern"),
    ("semantic:embedding:en", "one English embedding of the text"),
    ("semantic:embedding:multi", "one multilingual embedding of the text"),
    ("semantic:late-interaction:en", "English embeddings of the text's sentences"),
    ("semantic:bash:en", "one English embedding of a command"),
    ("semantic:bash:multi", "one multilingual embedding of a command"),
    ("bash", "the way's commands"),
    ("file", "the way's files"),
    ("state", "a state trigger"),
    ("task", "the Task prompt"),
    ("prompt", "near-miss and gated rows of the prompt lane"),
    ("check-pull", "a check brought its way along"),
    ("postcheck", "a postcheck asked for it"),
    ("attend:<signal>", "a signal of the attend hooks"),
    ("unknown", "not recorded"),
)

BY_NAME = {kind.name: kind for kind in EVENTS}


def unknown_fields(line: dict[str, str]) -> list[str]:
    """Fields of a logged event that the registry does not have; all of them for an unknown event."""
    kind = BY_NAME.get(line.get("event", ""))
    known = {name for name, _ in COMMON} | {name for name, _ in (kind.fields if kind else ())}
    return sorted(set(line) - known) if kind else sorted(line)
