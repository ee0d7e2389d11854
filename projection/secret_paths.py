"""The baseline of `permissions.deny` for secret files (setting `install.secret_path_deny`).

Off until the user agrees. Rules are in Claude Code's permission syntax: `Read(pattern)`, with `~/` for
the home and a bare pattern for any depth of the project.
"""

from __future__ import annotations

SECRET_PATHS = (
    "Read(**/.env)",
    "Read(**/.env.*)",
    "Read(**/*.pem)",
    "Read(**/id_rsa)",
    "Read(**/id_ed25519)",
    "Read(~/.ssh/**)",
    "Read(~/.aws/credentials)",
    "Read(~/.config/gcloud/**)",
    "Read(~/.kube/config)",
    "Read(~/.netrc)",
    "Read(~/.pgpass)",
    "Read(~/.npmrc)",
    "Read(~/.pypirc)",
    "Read(~/.docker/config.json)",
    "Read(~/.config/agent-ways/keys/**)",
)
