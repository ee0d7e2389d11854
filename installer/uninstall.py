"""Taking ways out again (spec: installer, `ways uninstall`): the withdrawal from every target."""

from __future__ import annotations

import os

from projection import payload_manifest
from projection.payload_manifest import PayloadManifest
from projection.reconcile import Options, Outcome, TargetPlan, withdraw_all
from projection.system import System
from projection.wants import App
from ways.core.roots import Roots


def plan(system: System, roots: Roots, options: Options) -> list[TargetPlan]:
    """What withdrawing would do, target by target. `system` is a dry one: nothing is changed."""
    return [outcome.plan for outcome in withdraw_all(system, roots, app_or_empty(system, roots), options)]


def withdraw(system: System, roots: Roots, options: Options) -> list[Outcome]:
    """Withdraw from every target that is listed or was ever served. Targets already withdrawn stay
    so when a later one fails; whoever calls deletes nothing then."""
    return withdraw_all(system, roots, app_or_empty(system, roots), options)


def app_or_empty(system: System, roots: Roots) -> App:
    """The installed app, or one without files when it has been deleted by hand: what we put into
    the targets is known from the records as well."""
    content = os.path.join(roots.app, "current")
    path = os.path.join(content, payload_manifest.NAME)
    if system.exists(path):
        shipped = payload_manifest.from_json(system.read_bytes(path), path)
        return App(roots.app, content, shipped, os.path.basename(system.real_path(content)))
    return App(roots.app, content, PayloadManifest(()), "")
