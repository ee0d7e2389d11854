"""Which GitHub repository a project belongs to: the user's own word, else what git's files say.

No process is started: a project without git costs a few looks at the disk (docs/issues.md).
"""

from __future__ import annotations

import os

from ways.core import files, jsontext, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.core.roots import Roots

DEFAULT_API = "https://api.github.com"
DEFAULT_HOST = "github.com"
OFF = "off"
_MAX_LEVELS = 40
_MAX_CONFIG = 256 * 1024
_MAX_LINKS = 1 << 20
_OWNER = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_NAME = _OWNER | {"."}


def of(project: str, where: Roots, api_url: str = DEFAULT_API) -> str:
    """`owner/name` of the project's repository on GitHub; "" when it has none, or is switched off."""
    top = top_of(project)
    linked = links(where)
    for place in dict.fromkeys((os.path.normpath(project), top)):
        if place in linked:
            return "" if linked[place] == OFF else linked[place]
    return from_git(top, api_url) if top else ""


def top_of(project: str) -> str:
    """The folder with `.git` that holds the project, "" for none."""
    place = os.path.normpath(project)
    for _ in range(_MAX_LEVELS):
        if os.path.lexists(os.path.join(place, ".git")):
            return place
        above = os.path.dirname(place)
        if above == place:
            return ""
        place = above
    return ""


def is_repository(value: object) -> bool:
    """True for `owner/name` in GitHub's own letters."""
    if not isinstance(value, str) or value.count("/") != 1:
        return False
    owner, name = value.split("/")
    good = _OWNER.issuperset(owner) and _NAME.issuperset(name) and name not in {".", ".."}
    return good and 0 < len(owner) <= 39 and 0 < len(name) <= 100 and owner[0] != "-"


# What the user linked


def links_file(where: Roots) -> str:
    """The links that the user made: project folder to `owner/name` or `off`."""
    return os.path.join(where.config, "issues.json")


def links(where: Roots) -> dict[str, str]:
    """The user's links; entries that are none are left out."""
    rows = jsontext.object_or_empty(files.read_bytes_or_none(links_file(where), _MAX_LINKS))
    return {place: value for place, value in rows.items() if value == OFF or is_repository(value)}


# What git's files say


def from_git(top: str, api_url: str = DEFAULT_API) -> str:
    """The repository of the remote that `gh` was told to use, else of `origin`, else of the only one."""
    remotes = _remotes(_config(top))
    hosts = {DEFAULT_HOST, _host(api_url)}
    found = {name: repository_of(values.get("url", ""), hosts) for name, values in remotes.items()}
    found = {name: repository for name, repository in found.items() if repository}
    for name in found:
        if remotes[name].get("gh-resolved") == "base":
            return found[name]
    if "origin" in found:
        return found["origin"]
    return next(iter(found.values())) if len(found) == 1 else ""


def repository_of(url: str, hosts: set[str]) -> str:
    """`owner/name` of a remote's URL on one of these hosts, "" for any other."""
    rest = url.strip()
    scheme, separator, after = rest.partition("://")
    if separator:
        if scheme not in {"https", "http", "ssh", "git", "git+ssh"}:
            return ""
        authority, _, path = after.partition("/")
    else:  # git@github.com:owner/name
        authority, separator, path = rest.partition(":")
        if not separator or "/" in authority:
            return ""
    host = authority.rpartition("@")[2].partition(":")[0].lower()
    if host not in hosts and host.removeprefix("ssh.") not in hosts:
        return ""
    repository = path.strip("/").removesuffix(".git")
    return repository if is_repository(repository) else ""


def _host(api_url: str) -> str:
    host = api_url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0].lower()
    return host.removeprefix("api.")


def _config(top: str) -> str:
    """The text of the repository's config; a worktree's is its main repository's."""
    place = os.path.join(top, ".git")
    if not os.path.isdir(place):
        pointer = text.decode(files.read_bytes_or_none(place, 4096) or b"").strip()
        if not pointer.startswith("gitdir:"):
            return ""
        place = os.path.normpath(os.path.join(top, pointer.removeprefix("gitdir:").strip()))
        common = text.decode(files.read_bytes_or_none(os.path.join(place, "commondir"), 4096) or b"").strip()
        place = os.path.normpath(os.path.join(place, common)) if common else place
    return text.decode(files.read_bytes_or_none(os.path.join(place, "config"), _MAX_CONFIG) or b"")


def _remotes(config: str) -> dict[str, dict[str, str]]:
    """The settings of each `[remote "name"]`, the first of each name."""
    found: dict[str, dict[str, str]] = {}
    current: dict[str, str] | None = None
    for line in config.splitlines():
        line = line.strip()
        if line.startswith("["):
            head = line[1:].partition("]")[0].split('"')
            is_remote = head[0].strip().lower() == "remote" and len(head) > 1
            current = found.setdefault(head[1], {}) if is_remote else None
        elif current is not None and "=" in line:
            key, _, value = line.partition("=")
            current.setdefault(key.strip().lower(), value.strip().strip('"'))
    return found
