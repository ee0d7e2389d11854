"""Asking GitHub for the open issues of a repository: through `gh`, or over the REST API with a token.

REST as documented at docs.github.com ("List repository issues", "Pagination", "Rate limits", "Conditional
requests"): pages of 100 by the `Link` header, pull requests left out, the reset times of both kinds of rate
limit kept, the list's ETag sent back. The token goes to the configured address and nowhere else.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

import httpx

from ways import __version__
from ways.core import environment
from ways.gate.settings import is_loopback
from ways.issues.mirror import Issue, issue_of

PAGE = 100
MAX_PAGES = 10
MAX_BODY = 8 << 20
MAX_REDIRECTS = 3
CALL_SECONDS = 30.0
GH_SECONDS = 60.0
HOUR = 3600.0
MOST_SECONDS = 86400.0
API_VERSION = "2022-11-28"


class AskError(Exception):
    """The issues were not had; the text says why, without the token. `wait` is how many seconds nobody should
    ask again, 0 for the usual back-off; `transient` is true when a later attempt may go better."""

    def __init__(self, why: str, wait: float = 0.0, *, transient: bool = True) -> None:
        super().__init__(why)
        self.wait = wait
        self.transient = transient


@dataclass(frozen=True)
class Answer:
    """The open issues. `unchanged` means that the ETag still holds and `issues` is empty; `complete` is false
    when there are more than were read."""

    issues: tuple[Issue, ...] = ()
    etag: str = ""
    unchanged: bool = False
    complete: bool = True


@dataclass(frozen=True)
class Page:
    """One response of the list."""

    issues: tuple[Issue, ...] = ()
    next_url: str = ""
    etag: str = ""
    unchanged: bool = False


@dataclass(frozen=True)
class Api:
    """The REST API at `base`; `token` never shows."""

    base: str
    token: str = field(repr=False)

    def headers(self) -> dict[str, str]:
        """What every request carries."""
        return {
            "accept": "application/vnd.github+json",
            "accept-encoding": "identity",
            "authorization": f"Bearer {self.token}",
            "user-agent": f"agent-ways/{__version__}",
            "x-github-api-version": API_VERSION,
        }


def check_base(url: str) -> str:
    """The address without a final slash. Raises AskError unless it is https, or this machine."""
    parts = urlsplit(url)
    plain = parts.scheme == "http" and is_loopback(parts.netloc)
    if not (parts.scheme == "https" or plain) or not parts.netloc or "@" in parts.netloc or parts.query:
        raise AskError(f"issues.api_url is {url!r} and must be https", HOUR, transient=False)
    return url.rstrip("/")


def ask_rest(api: Api, repository: str, etag: str = "") -> Answer:
    """The open issues over REST, all pages or none of them. Raises AskError."""
    base = check_base(api.base)
    url = f"{base}/repos/{repository}/issues?state=open&per_page={PAGE}&sort=updated&direction=desc"
    deadline = time.monotonic() + CALL_SECONDS
    found: dict[int, Issue] = {}
    local = is_loopback(urlsplit(base).netloc)
    with httpx.Client(headers=api.headers(), timeout=10.0, trust_env=not local) as client:
        for number in range(1, MAX_PAGES + 1):
            page = _page(client, url, etag if number == 1 else "", deadline)
            if page.unchanged:
                return Answer(unchanged=True, etag=etag)
            found.update({issue.number: issue for issue in page.issues})
            if not page.next_url:
                # Only of a list on one page does the ETag say that nothing was closed.
                return Answer(_sorted(found), page.etag if number == 1 else "")
            url = page.next_url
    return Answer(_sorted(found), complete=False)


def _page(client: httpx.Client, url: str, etag: str, deadline: float) -> Page:
    headers = {"if-none-match": etag} if etag else {}
    for _ in range(MAX_REDIRECTS + 1):
        if time.monotonic() > deadline:
            raise AskError(f"GitHub took longer than {CALL_SECONDS:g} s")
        try:
            with client.stream("GET", url, headers=headers) as response:
                if response.status_code in {301, 302, 307, 308}:
                    url = _same_origin(url, response.headers.get("location", ""))
                    continue
                return _read(response, url, deadline)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise AskError(f"GitHub was not reached ({type(error).__name__})") from None
    raise AskError("GitHub redirects in circles", HOUR)


def _read(response: httpx.Response, url: str, deadline: float) -> Page:
    if response.status_code == 304:
        return Page(unchanged=True)
    body = bytearray()
    for part in response.iter_raw():
        body += part
        if len(body) > MAX_BODY or time.monotonic() > deadline:
            raise AskError("the answer is too long, or too slow")
    if response.status_code != 200:
        raise _refusal(response)
    try:
        rows = json.loads(bytes(body))
    except ValueError:
        raise AskError("the answer is not JSON") from None
    if not isinstance(rows, list):
        raise AskError("the answer is not a list of issues")
    issues = tuple(issue for issue in map(issue_of, rows) if issue is not None)
    following = response.links.get("next", {}).get("url", "")
    next_url = _same_origin(url, following) if following else ""
    return Page(issues, next_url, response.headers.get("etag", ""))


def _same_origin(url: str, other: str) -> str:
    """The address of another page or a moved repository. Raises AskError when it leads elsewhere."""
    target = urljoin(url, other)
    here, there = urlsplit(url), urlsplit(target)
    if not other or (here.scheme, here.netloc) != (there.scheme, there.netloc):
        raise AskError("GitHub's answer leads to another server", HOUR)
    return target


def _refusal(response: httpx.Response) -> AskError:
    """What a response other than 200 means, and how long to leave GitHub alone."""
    status = response.status_code
    wait = _limit_seconds(response.headers, time.time())
    if status == 429 or (status == 403 and wait):
        return AskError("GitHub's rate limit is used up", wait or HOUR)
    if status == 401:
        return AskError("GitHub does not accept the token (401)", HOUR, transient=False)
    if status in {403, 404}:
        return AskError(f"no such repository, or no access to it ({status})", HOUR, transient=False)
    if status == 410:
        return AskError("issues are switched off for this repository (410)", MOST_SECONDS, transient=False)
    return AskError(f"GitHub answered {status}")


def _limit_seconds(headers: Mapping[str, str], now: float) -> float:
    """Seconds until the rate limit lets us ask again, at most a day; 0 when no limit was met."""
    after = headers.get("retry-after", "")
    if after.isascii() and after.isdigit():
        return min(max(float(after), 1.0), MOST_SECONDS)
    reset = headers.get("x-ratelimit-reset", "")
    if headers.get("x-ratelimit-remaining") == "0" and reset.isascii() and reset.isdigit():
        return min(max(float(reset) - now, 1.0), MOST_SECONDS)
    return 0.0


def ask_gh(program: str, repository: str, folder: str) -> Answer:
    """The open issues through `gh`, which has its own log-in. `folder` is where it runs: not in the project.

    Raises AskError.
    """
    limit = PAGE * MAX_PAGES
    command = [program, "issue", "list", "--repo", repository, "--state", "open", "--limit", str(limit)]
    command += ["--json", "number,title,labels,assignees"]
    values = environment.child_environment()
    values.update(GH_PROMPT_DISABLED="1", GH_NO_UPDATE_NOTIFIER="1", GH_PAGER="cat", NO_COLOR="1")
    try:
        done = subprocess.run(
            command,
            env=values,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GH_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AskError(f"gh did not answer ({type(error).__name__})") from None
    if done.returncode != 0:
        raise _gh_refusal(done.returncode, done.stderr.decode("utf-8", "replace"))
    try:
        rows = json.loads(done.stdout)
    except ValueError:
        raise AskError("gh's answer is not JSON") from None
    if not isinstance(rows, list):
        raise AskError("gh's answer is not a list of issues")
    found = {issue.number: issue for issue in map(issue_of, rows) if issue is not None}
    return Answer(_sorted(found), complete=len(rows) < limit)


def _gh_refusal(code: int, stderr: str) -> AskError:
    words = stderr.lower()
    if code == 4 or "gh auth login" in words:
        return AskError("gh is not logged in", HOUR, transient=False)
    if "rate limit" in words:
        return AskError("GitHub's rate limit is used up", HOUR)
    if "disabled issues" in words:
        return AskError("issues are switched off for this repository", MOST_SECONDS, transient=False)
    if "could not resolve to a repository" in words or "404" in words:
        return AskError("no such repository, or no access to it", HOUR, transient=False)
    return AskError(f"gh failed ({code})")


def _sorted(found: Mapping[int, Issue]) -> tuple[Issue, ...]:
    return tuple(found[number] for number in sorted(found, reverse=True))
