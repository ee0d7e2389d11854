"""What `ways agent key …` and `ways agent models` do (spec: judge and agent, Keys).

A key is checked before it is kept, and again when the file or the model changes. Nothing here prints.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass

from ways.agent import answer, keycheck, keys
from ways.agent.keycheck import Record
from ways.agent.keys import Key, KeyProblem, NoKey
from ways.agent.providers import provider as provider_named
from ways.agent.providers.base import INVALID, Model
from ways.agent.transport import Transport, TransportError
from ways.core import errors
from ways.core.errors import UserError
from ways.core.roots import Roots
from ways.gate import paths, settings
from ways.gate.settings import ConfigError, GateSettings, Profile


@dataclass(frozen=True)
class KeyStatus:
    """One stored key: its last four characters at most, what is wrong with its file ("" for nothing),
    and the state of its last check (`unchecked` without one that still holds)."""

    provider: str
    masked: str
    problem: str
    state: str
    detail: str
    checked_at: float | None


def load_settings(roots: Roots) -> GateSettings:
    """The gate's settings. Raises UserError when they are broken."""
    try:
        return settings.load(roots.config)
    except ConfigError as error:
        where = f"{roots.config}: {error}"
        raise UserError(
            f"the gate is off because its settings are broken: {where}", "ways settings lint"
        ) from error


def profile_for(gate: GateSettings, provider: str) -> Profile:
    """The profile whose model a provider's key is checked against: the active one, else the first of
    that provider. `provider` "" is the active profile's."""
    if not provider or gate.profile.provider == provider:
        return gate.profile
    for profile in gate.profiles.values():
        if profile.provider == provider:
            return profile
    raise UserError(
        f"{provider!r} is not a provider (known: {', '.join(settings.PROVIDERS)})", "", errors.USAGE
    )


def add(roots: Roots, profile: Profile, text: str, *, replace: bool) -> Record:
    """Check a key and keep it, unless the provider says that it is invalid. `replace` is what `rotate`
    asks for: the old key stays until the new one has been checked. Raises UserError."""
    provider = profile.provider
    if not replace and os.path.lexists(paths.key_file(roots, provider)):
        raise UserError(
            f"there is a key for {provider} already", f"ways agent key rotate {provider}", errors.REFUSED
        )
    try:
        value = keys.parse(text)
    except KeyProblem as error:
        raise UserError(f"this is not a key: {error}", "", errors.USAGE) from error
    record = _check(profile, Key(value, ()))
    if record.state == INVALID:
        kept = "the former key is kept" if replace else "nothing was stored"
        raise UserError(
            f"{provider} says that the key is invalid ({record.detail}); {kept}",
            f"ways agent key {'rotate' if replace else 'add'} {provider}",
            errors.UNVERIFIED,
        )
    keys.store(roots, provider, value)
    return _keep(roots, profile, record)


def check(roots: Roots, profile: Profile) -> Record:
    """Check the stored key now and record the outcome. Raises UserError without a usable key file."""
    key = _read(roots, profile.provider)
    record = _check(profile, key)
    keycheck.store(roots, profile.provider, record)
    return record


def remove(roots: Roots, provider: str) -> None:
    """Remove a key and the record of its check. Raises UserError when there is none."""
    removed = keys.remove(roots, provider)
    keycheck.forget(roots, provider)
    if not removed:
        raise UserError(f"there is no key for {provider}", "ways agent key status", errors.WRONG)


def status(roots: Roots, gate: GateSettings) -> list[KeyStatus]:
    """Every stored key."""
    stored = keys.stored_providers(roots, settings.PROVIDERS)
    return [_status(roots, profile_for(gate, provider)) for provider in stored]


def models(roots: Roots, profile: Profile) -> Sequence[Model]:
    """The provider's models. Raises UserError."""
    key = _read(roots, profile.provider)
    provider = provider_named(profile.provider)

    async def fetch() -> Sequence[Model]:
        transport = Transport()
        deadline = asyncio.get_running_loop().time() + keycheck.CHECK_SECONDS
        try:
            response = await transport.send(provider.models_request(profile, key.value), deadline)
        finally:
            await transport.close()
        if response.status != 200:
            raise UserError(
                f"{profile.provider} answered HTTP {response.status}",
                f"ways agent key check {profile.provider}",
                errors.UNVERIFIED,
            )
        return provider.read_models(answer.document(response.body))

    try:
        return asyncio.run(fetch())
    except (TransportError, answer.AnswerError) as error:
        raise UserError(
            f"{profile.base_url} gave no list of models: {error}", "", errors.UNVERIFIED
        ) from error


def _status(roots: Roots, profile: Profile) -> KeyStatus:
    masked, problem = "", ""
    try:
        masked = keys.masked(keys.read(roots, profile.provider).value)
    except KeyProblem as error:
        problem = str(error)
    except NoKey:
        problem = "the file is gone"
    record = keycheck.load(roots, profile.provider)
    if record is None or not record.concerns(keys.identity(roots, profile.provider), profile):
        return KeyStatus(profile.provider, masked, problem, "unchecked", "", None)
    return KeyStatus(profile.provider, masked, problem, record.state, record.detail, record.checked_at)


def _read(roots: Roots, provider: str) -> Key:
    try:
        return keys.read(roots, provider)
    except NoKey as error:
        raise UserError(
            f"there is no key for {provider}", f"ways agent key add {provider}", errors.WRONG
        ) from error
    except KeyProblem as error:
        raise UserError(
            f"the key for {provider} is not used: {error}",
            f"ways agent key rotate {provider}",
            errors.REFUSED,
        ) from error


def _check(profile: Profile, key: Key) -> Record:
    async def run() -> Record:
        transport = Transport()
        try:
            return await keycheck.check(transport, profile, key)
        finally:
            await transport.close()

    return asyncio.run(run())


def _keep(roots: Roots, profile: Profile, record: Record) -> Record:
    """The record of a key that has just become a file."""
    identity = keys.identity(roots, profile.provider)
    kept = Record(
        record.state, record.detail, record.checked_at, identity or (), record.model, record.base_url
    )
    keycheck.store(roots, profile.provider, kept)
    return kept
