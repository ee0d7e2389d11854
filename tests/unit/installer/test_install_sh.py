"""install.sh as a person runs it: real archives, real processes, a home of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.installer.install_world import PLATFORM, SCRIPT, Home, Release, make_archive, served

pytestmark = pytest.mark.skipif(os.name == "nt", reason="install.sh is for POSIX systems")
SHELLS = ("dash", "bash", "busybox sh", "mksh", "ksh93", "zsh --emulate sh")


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("archives")
    return {version: make_archive(folder, version) for version in ("1.2.0", "1.10.0", "2.0.0-rc1")}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory, archives: dict[str, Path]) -> Release:
    found = Release(tmp_path_factory.mktemp("base") / "release")
    for path in archives.values():
        found.add(path)
    return found


@pytest.fixture
def own_release(tmp_path: Path, archives: dict[str, Path]) -> Release:
    found = Release(tmp_path / "own")
    found.add(archives["1.2.0"])
    return found


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "A B&(c)' é")


@pytest.fixture(scope="module")
def address(release: Release) -> Iterator[str]:
    with served(release.folder) as found:
        yield found


def installed(home: Home, *arguments: str, shell: str = "sh", **more: str) -> str:
    done = home.run(*arguments, shell=shell, **more)
    assert done.returncode == 0, done.stderr
    assert home.leftovers == []
    return done.stdout


def refused(home: Home, *arguments: str, **more: str) -> str:
    done = home.run(*arguments, **more)
    assert done.returncode != 0
    assert not (home.app / "current").exists()
    if (home.app / "versions").exists():
        assert home.leftovers == []
    return done.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_it_installs_the_newest_final_version_in_every_shell(
    home: Home, release: Release, shell: str
) -> None:
    if shutil.which(shell.split(maxsplit=1)[0]) is None:
        pytest.skip(f"{shell} is not installed")
    out = installed(home, "--base", str(release.folder), shell=shell)
    assert home.version == "1.10.0"
    assert "init --yes --target" in out
    receipt = json.loads((home.folder / ".local/state/agent-ways/receipt.json").read_text())
    assert (receipt["version"], receipt["method"], receipt["base"]) == (
        "1.10.0",
        "install.sh",
        str(release.folder),
    )


def test_piped_into_sh_it_asks_nothing_and_activates_nothing(home: Home, release: Release) -> None:
    done = subprocess.run(
        ["sh", "-s", "--", "--base", str(release.folder)],
        input=SCRIPT.read_bytes(),
        env=home.environ,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert not (home.folder / ".claude").exists()


def test_half_of_the_script_does_nothing(home: Home, release: Release) -> None:
    text = SCRIPT.read_bytes()
    for share in (0.3, 0.6, 0.9, 0.995):
        part = text[: int(len(text) * share)]
        subprocess.run(
            ["sh", "-s", "--", "--base", str(release.folder)],
            input=part,
            env=home.environ,
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert home.tree() == {}


@pytest.mark.parametrize("tool", ["curl", "wget"])
def test_it_downloads_with_what_is_there(home: Home, address: str, tmp_path: Path, tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    installed(home, "--base", address, PATH=path_without(tmp_path, {"curl", "wget"} - {tool}))
    assert home.version == "1.10.0"


def path_without(tmp_path: Path, names: set[str]) -> str:
    """A PATH with links to every program but these."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for source in ("/bin", "/usr/bin"):
        for path in Path(source).iterdir():
            if path.name not in names and not (folder / path.name).exists():
                (folder / path.name).symlink_to(path)
    return str(folder)


@pytest.mark.parametrize("tool", ["curl", "wget"])
def test_a_mirror_without_hashes_in_its_names_is_read(
    home: Home, own_release: Release, tmp_path: Path, tool: str
) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    [place] = (own_release.folder / "targets").iterdir()
    place.rename(place.with_name(place.name.partition(".")[2]))
    with served(own_release.folder) as address:
        installed(home, "--base", address, PATH=path_without(tmp_path, {"curl", "wget"} - {tool}))
        place.with_name(place.name.partition(".")[2]).unlink()
        other = Home(tmp_path / "other")
        assert "does not have it" in refused(other, "--base", address)
    assert home.version == "1.2.0"


def test_without_a_downloader_it_says_so(home: Home, address: str, tmp_path: Path) -> None:
    path = path_without(tmp_path, {"curl", "wget"})
    assert "curl or wget is needed" in refused(home, "--base", address, PATH=path)


def test_a_second_run_changes_nothing_and_downloads_nothing(home: Home, own_release: Release) -> None:
    installed(home, "--base", str(own_release.folder))
    before = home.tree()
    shutil.rmtree(own_release.folder / "targets")
    assert "is there already" in installed(home, "--base", str(own_release.folder))
    assert home.tree() == before


def test_case_u08_installing_twice_adds_one_line(home: Home, release: Release) -> None:
    (home.folder / ".bashrc").write_bytes(b"export A=1")
    for _ in range(2):
        installed(home, "--base", str(release.folder))
    text = (home.folder / ".bashrc").read_bytes()
    assert text.startswith(b"export A=1\n")
    assert text.count(b"ways installer") == 1


def test_case_u08_a_start_file_that_is_a_folder_stops_nothing(home: Home, release: Release) -> None:
    (home.folder / ".bashrc").mkdir()
    done = home.run("--base", str(release.folder))
    assert done.returncode == 0
    assert "is a folder" in done.stderr


def test_no_path_edits_nothing_outside_the_roots(home: Home, release: Release) -> None:
    installed(home, "--base", str(release.folder), "--no-path")
    assert not (home.folder / ".bashrc").exists()
    assert not (home.folder / ".local/bin").exists()


def test_the_files_are_addressed_by_file_url_with_blanks(
    home: Home, tmp_path: Path, own_release: Release
) -> None:
    (tmp_path / "my mirror").symlink_to(own_release.folder)
    installed(home, f"--base=file://{tmp_path}/my%20mirror/")
    assert home.version == "1.2.0"


def test_variables_do_what_flags_do(home: Home, release: Release, tmp_path: Path) -> None:
    installed(home, WAYS_RELEASE_BASE=str(release.folder), WAYS_VERSION="1.2.0", WAYS_NO_PATH="1")
    assert home.version == "1.2.0"
    assert not (home.folder / ".local/bin").exists()


def test_another_folder_is_found_by_the_program_itself(home: Home, release: Release, tmp_path: Path) -> None:
    installed_at = tmp_path / "opt" / "agent-ways"
    done = home.run("--base", str(release.folder), "--dir", str(tmp_path / "opt"))
    assert done.returncode == 0, done.stderr
    assert not home.app.exists()
    link = home.folder / ".local/bin/ways"
    assert os.readlink(link) == str(installed_at / "bin/ways")
    subprocess.run([link, "reconcile", "--quiet"], env=home.environ, check=True)
    assert os.readlink(home.folder / ".claude/hooks/ways") == str(installed_at / "hooks/ways")
    assert not home.app.exists()


def test_activate_puts_hooks_into_the_named_directory(home: Home, release: Release) -> None:
    target = home.folder / "claude one"
    done = home.run("--base", str(release.folder), "--activate", "claude one")
    assert "Setting ways up for" in done.stdout
    assert "check-prompt.sh" in (target / "settings.json").read_text()
    assert (target / "hooks/ways").is_symlink()
    assert not (home.folder / ".claude").exists()


def test_unattended_with_several_candidates_prints_the_literal_commands(home: Home, release: Release) -> None:
    for name in (".claude", ".claude-work"):
        (home.folder / name / "projects").mkdir(parents=True)
        (home.folder / name / "settings.json").write_text("{}")
    before = {path: data for path, data in home.tree().items() if path.startswith(".claude")}
    out = installed(home, "--base", str(release.folder), "--unattended")
    for name in (".claude", ".claude-work"):
        [line] = [one for one in out.splitlines() if one.endswith(f"{name}'") or one.endswith(name)]
        shown = subprocess.run(
            ["sh", "-c", f"set -- {line}; printf '%s\\n' \"$@\""], capture_output=True, text=True, check=True
        )
        assert shown.stdout.splitlines()[-1] == str(home.folder / name)
    assert {path: data for path, data in home.tree().items() if path.startswith(".claude")} == before


def test_an_update_by_the_script_brings_served_directories_along(home: Home, release: Release) -> None:
    installed(home, "--base", str(release.folder), "--version", "1.2.0")
    home.ways("init", "--yes", "--quiet", "--target", str(home.folder / ".claude"))
    settings = home.folder / ".claude/settings.json"
    settings.write_text("{}")
    installed(home, "--base", str(release.folder))
    assert home.version == "1.10.0"
    assert "check-prompt.sh" in settings.read_text()
    assert os.readlink(home.app / "previous") == "versions/1.2.0"


def test_it_never_goes_back_by_itself(home: Home, release: Release, own_release: Release) -> None:
    installed(home, "--base", str(release.folder))
    for more in ((), ("--version", "1.2.0")):
        done = home.run("--base", str(own_release.folder), *more)
        assert done.returncode == 3
        assert "--allow-downgrade" in done.stderr
        assert home.version == "1.10.0"
    installed(home, "--base", str(release.folder), "--version", "1.2.0", "--allow-downgrade")
    assert home.version == "1.2.0"


def test_a_damaged_version_is_replaced(home: Home, release: Release) -> None:
    installed(home, "--base", str(release.folder))
    (home.app / "current/hooks/ways/check-prompt.sh").write_text("broken")
    done = home.run("--base", str(release.folder))
    assert done.returncode == 0
    assert "is damaged" in done.stderr
    assert home.leftovers == []
    assert "run_ways" in (home.app / "current/hooks/ways/check-prompt.sh").read_text()


# Offline


def test_an_archive_installs_without_any_network(home: Home, archives: dict[str, Path]) -> None:
    out = installed(home, "--archive", str(archives["1.2.0"]))
    assert "Nothing vouches for" in out
    assert home.version == "1.2.0"


def test_an_archive_must_have_the_sha256_that_was_named(home: Home, archives: dict[str, Path]) -> None:
    assert "SHA-256" in refused(home, "--archive", str(archives["1.2.0"]), "--sha256", "0" * 64)


def test_an_archive_beside_a_base_must_be_what_the_base_lists(
    home: Home, release: Release, tmp_path: Path
) -> None:
    other = make_archive(tmp_path / "other", "1.2.0", {"glibc": "2.18"})
    said = refused(home, "--archive", str(other), "--base", str(release.folder))
    assert "is not the archive that" in said


def test_an_archive_for_another_machine_is_refused(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "ways-1.2.0-macos-arm64.tar.gz"
    path.touch()
    assert "another machine" in refused(home, "--archive", str(path))


@pytest.mark.parametrize("name", ["../out", "ways-1.2.0/../../out", "/tmp/ways-out", "other/file"])
def test_a_path_out_of_the_archive_is_refused(home: Home, tmp_path: Path, name: str) -> None:
    path = tmp_path / f"ways-1.2.0-{PLATFORM}.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(tarfile.TarInfo(name))
    assert "lies outside" in refused(home, "--archive", str(path))


def test_a_link_in_the_archive_is_refused(home: Home, tmp_path: Path, archives: dict[str, Path]) -> None:
    path = tmp_path / f"ways-1.2.0-{PLATFORM}.tar.gz"
    with tarfile.open(archives["1.2.0"]) as old, tarfile.open(path, "w:gz") as new:
        for member in old:
            new.addfile(member, old.extractfile(member))
        link = tarfile.TarInfo("ways-1.2.0/lib/evil")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        new.addfile(link)
    assert "neither a file nor a folder" in refused(home, "--archive", str(path))


# What must not be installed


@pytest.mark.parametrize("how", ["longer", "shorter", "changed"])
def test_an_archive_that_is_not_what_was_signed_is_refused(
    home: Home, own_release: Release, how: str
) -> None:
    [place] = (own_release.folder / "targets").iterdir()
    data = place.read_bytes()
    changes = {"longer": data + b"x", "shorter": data[:-1], "changed": bytes([data[0] ^ 1]) + data[1:]}
    place.write_bytes(changes[how])
    said = refused(home, "--base", str(own_release.folder))
    assert "should " in said


def test_too_much_data_is_not_downloaded_to_its_end(home: Home, own_release: Release) -> None:
    [place] = (own_release.folder / "targets").iterdir()
    place.write_bytes(place.read_bytes() + b"x" * 4_000_000)
    with served(own_release.folder) as address:
        refused(home, "--base", address)


def test_an_old_copy_of_a_base_is_named(home: Home, own_release: Release) -> None:
    own_release.write(expires="2001-01-01T00:00:00Z")
    done = home.run("--base", str(own_release.folder))
    assert done.returncode == 0
    assert "2001-01-01" in done.stderr


def test_a_portal_page_is_no_release_base(home: Home, tmp_path: Path) -> None:
    (tmp_path / "portal/metadata").mkdir(parents=True)
    (tmp_path / "portal/metadata/timestamp.json").write_text("<html>Please log in</html>")
    assert "not the metadata" in refused(home, "--base", str(tmp_path / "portal"))


def test_a_version_that_is_not_there_is_named(home: Home, release: Release) -> None:
    assert "no version 9.9.9" in refused(home, "--base", str(release.folder), "--version", "9.9.9")


def test_case_u07_a_newer_glibc_is_named(home: Home, tmp_path: Path) -> None:
    path = make_archive(tmp_path / "new", "1.2.0", {"glibc": "9.1"})
    said = refused(home, "--archive", str(path))
    assert "glibc" in said
    assert "needs 9.1" in said


def test_a_program_that_does_not_start_is_never_the_current_one(
    home: Home, tmp_path: Path, archives: dict[str, Path]
) -> None:
    path = tmp_path / f"ways-1.2.0-{PLATFORM}.tar.gz"
    with tarfile.open(archives["1.2.0"]) as old, tarfile.open(path, "w:gz") as new:
        for member in old:
            if member.name == "ways-1.2.0/bin/boot.py":
                member.size = 0
            new.addfile(member, old.extractfile(member))
    refused(home, "--archive", str(path))


# Networks


@pytest.mark.parametrize(
    ("base", "said"),
    [
        ("http://example.com/ways", "not encrypted"),
        ("ftp://example.com/ways", "can be read"),
        ("", "no release base"),
        ("/no/such/folder", "is no folder"),
    ],
)
def test_a_base_that_cannot_be_trusted_or_read(home: Home, base: str, said: str) -> None:
    assert said in refused(home, "--base", base)


def test_credentials_are_never_printed(home: Home) -> None:
    done = home.run("--base", "https://me:s3cret@127.0.0.1:9/ways?token=t0ken")
    assert done.returncode != 0
    assert "127.0.0.1" in done.stderr
    for secret in ("s3cret", "t0ken", "me:"):
        assert secret not in done.stdout + done.stderr


def test_a_proxy_that_is_not_there_is_named(home: Home) -> None:
    done = home.run("--base", "https://example.com/ways", https_proxy="http://u:pw@no-such-proxy.invalid:1")
    assert done.returncode != 0
    assert "proxy" in done.stderr
    assert "pw" not in done.stderr


# Steps that a person can stop at


@pytest.mark.parametrize("argument", ["--what", "--version", "--version=x/../y", "--version=", "file"])
def test_a_wrong_option_changes_nothing(home: Home, argument: str) -> None:
    done = home.run(argument, "--base", "/no/such") if argument != "--version" else home.run(argument)
    assert done.returncode != 0
    assert (home.tree() == {}) or argument == "--version="


def test_help_lists_every_option(home: Home) -> None:
    done = home.run("--help")
    assert done.returncode == 0
    for option in ("--version", "--base", "--dir", "--archive", "--activate", "--no-path", "--unattended"):
        assert option in done.stdout
    assert home.tree() == {}


def test_shellcheck_finds_nothing() -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    subprocess.run(["shellcheck", "-s", "sh", str(SCRIPT)], check=True)
