"""Names files that look like secrets and are under git, or would be with the next `git add`.

Never their content: of a key file only the first line is looked at. Quiet outside git.
"""

import os
import re
import subprocess
import sys

ROOT = os.environ.get("WAYS_PROJECT_DIR") or "."
GLOBS = (".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "id_rsa", "id_ed25519", "id_ecdsa")
EXAMPLE = re.compile(
    r"(example|sample|template|dist|defaults?|schema)\b|(^|/)(tests?|fixtures?|testdata|vendor|node_modules)/"
)
PRIVATE = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")
SHOWN, MOST = 6, 200


def git(*arguments: str) -> str:
    """What a read-only git command prints; empty when it fails or there is no git."""
    environment = dict(os.environ, GIT_OPTIONAL_LOCKS="0", GIT_NO_LAZY_FETCH="1", LC_ALL="C")
    project = os.environ.get("WAYS_PROJECT_DIR") or "."
    try:
        done = subprocess.run(
            ["git", "-C", project, "-c", "core.fsmonitor=false", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            timeout=2,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").rstrip() if done.returncode == 0 else ""


def quoted(text: str, most: int) -> str:
    """Text that others wrote, as code on one line: without what could end the quotation."""
    return "`" + "".join(c if c.isprintable() and c != "`" else "?" for c in text[:most]) + "`"


def is_secret(name: str) -> bool:
    """False for examples, and for certificates and public keys."""
    if EXAMPLE.search(name.lower()):
        return False
    if not name.endswith((".pem", ".key")):
        return True
    path = os.path.join(ROOT, *name.split("/"))
    try:
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return bool(PRIVATE.search(file.read(200)))
    except OSError:
        return False


def listed(names: list) -> str:
    """Names, shortened."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(quoted(name, 80) for name in names[:SHOWN]) + more


def found(*options: str) -> list:
    """The files of these kinds that git lists with the options."""
    pathspecs = [f":(glob)**/{glob}" for glob in GLOBS]
    names = git("ls-files", "-z", *options, "--", *pathspecs).split("\0")
    return [name for name in names[:MOST] if name and is_secret(name)]


def main() -> int:
    lines = []
    tracked, loose = found("--cached"), found("--others", "--exclude-standard")
    if tracked:
        lines.append(f"- Under git: {listed(tracked)}. Real values in them count as leaked.")
    if loose:
        lines.append(f"- Not ignored, so `git add .` would take them: {listed(loose)}")
    if lines:
        sys.stdout.write("\n".join(["## Secret files in this project", *lines]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
