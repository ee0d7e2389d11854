"""The event log: what was shown, held back, judged and paid for (spec: telemetry)."""
