"""What the event log, the session directories and the transcripts say (spec: telemetry), for commands."""
