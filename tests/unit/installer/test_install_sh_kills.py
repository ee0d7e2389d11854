"""install.sh killed at every step: the next run converges, and nothing of the user's is touched meanwhile.

Every external program that the script calls is replaced by one that counts its calls and, at the chosen
one, kills the script with SIGKILL before or after doing its work. The installed program itself is killed
in test_finish.py.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from tests.unit.installer.install_world import Home, Release, make_archive

pytestmark = pytest.mark.skipif(os.name == "nt", reason="install.sh is for POSIX systems")

# The programs that change the disk; killing at a pure filter's call is the same moment as the one before it.
WATCHED = ("mkdir", "mv", "rm", "cp", "tar", "gzip")
_WRAPPER = """\
#!/bin/sh
n=$(($(cat {count} 2>/dev/null || echo 0) + 1))
echo $n >{count}
[ "$n" != "$KILL_BEFORE" ] || { kill -9 $PPID; sleep 0.2; exit 1; }
{real} "$@"
code=$?
[ "$n" != "$KILL_AFTER" ] || { kill -9 $PPID; sleep 0.2; }
exit $code
"""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("release")
    found = Release(folder / "base")
    for version in ("1.0.0", "1.1.0"):
        found.add(make_archive(folder, version))
    return found


@pytest.fixture
def counting(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "wrappers"
    folder.mkdir()
    for name in WATCHED:
        real = shutil.which(name)
        assert real is not None
        path = folder / name
        text = _WRAPPER.replace("{count}", str(tmp_path / "count")).replace("{real}", real)
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{folder}:/usr/local/bin:/usr/bin:/bin"}


def calls(tmp_path: Path) -> int:
    return int((tmp_path / "count").read_text())


def reset(tmp_path: Path) -> None:
    (tmp_path / "count").unlink(missing_ok=True)


@pytest.mark.slow
@pytest.mark.parametrize("when", ["KILL_BEFORE", "KILL_AFTER"])
def test_killed_at_every_step_the_next_run_converges(
    tmp_path: Path, release: Release, counting: dict[str, str], when: str
) -> None:
    base = ("--base", str(release.folder))
    plain = Home(tmp_path / "plain")
    assert plain.run(*base, **counting).returncode == 0
    steps = calls(tmp_path)
    assert steps > 8
    expected = set(plain.tree())
    for step in range(1, steps + 1):
        reset(tmp_path)
        home = Home(tmp_path / f"home{step}")
        (home.folder / ".bashrc").write_bytes(b"mine")
        killed = home.run(*base, **counting, **{when: str(step)})
        if killed.returncode == 0:
            continue  # the last clean-up only
        assert (home.folder / ".bashrc").read_bytes().startswith(b"mine")
        if (home.app / "current").exists():
            assert home.version == "1.1.0"
        done = home.run(*base)
        assert done.returncode == 0, (step, done.stderr)
        assert home.version == "1.1.0"
        assert home.leftovers == []
        assert set(home.tree()) == expected, step
        shutil.rmtree(home.folder)


@pytest.mark.slow
def test_killed_at_every_step_of_a_newer_install_ways_always_runs(
    tmp_path: Path, release: Release, counting: dict[str, str]
) -> None:
    base = ("--base", str(release.folder))
    first = Home(tmp_path / "home")
    assert first.run(*base, "--version", "1.0.0").returncode == 0
    start = tmp_path / "start"
    shutil.copytree(first.folder, start, symlinks=True)
    assert first.run(*base, **counting).returncode == 0
    steps = calls(tmp_path)
    for step in range(1, steps + 1):
        reset(tmp_path)
        shutil.rmtree(first.folder)
        shutil.copytree(start, first.folder, symlinks=True)
        killed = first.run(*base, **counting, KILL_AFTER=str(step))
        if killed.returncode == 0:
            continue
        assert first.version in {"1.0.0", "1.1.0"}
        done = first.run(*base)
        assert done.returncode == 0, (step, done.stderr)
        assert first.version == "1.1.0"
        assert first.leftovers == []


def test_ctrl_c_leaves_nothing_half_done(tmp_path: Path, release: Release, counting: dict[str, str]) -> None:
    home = Home(tmp_path / "home")
    wrapper = tmp_path / "wrappers" / "tar"
    wrapper.write_text("#!/bin/sh\nkill -INT $PPID\nsleep 0.2\nexit 1\n")
    done = home.run("--base", str(release.folder), **counting)
    assert done.returncode == 130
    assert home.leftovers == []
    assert not (home.app / "current").exists()
