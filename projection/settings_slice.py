"""Our slice of one target's settings.json, and the plan of merging it (spec: projection)."""

from __future__ import annotations

import os

from projection import records, wiring
from projection.claude_settings.context import SettingsContext
from projection.claude_settings.plan import SettingsPlan, plan_settings
from projection.claude_settings.slices import EMPTY, Slice, from_block
from projection.file_plan import Ground
from ways.core.errors import REFUSED, UserError
from ways.core.roots import Roots

SETTINGS = "settings.json"


def plan_target_settings(
    ground: Ground, roots: Roots, others: tuple[str, ...], deny: tuple[str, ...] = ()
) -> SettingsPlan:
    """Plan the merge of what this release wants into the target's settings.json; for a disabled target
    the withdrawal. `others` are the paths of all other targets, `deny` the user's wish for
    `permissions.deny`. Raises UserError when the app's own block is damaged, OSError when it cannot be
    read."""
    target, app = ground.target, ground.app
    ours = target_slice(ground, deny) if target.enabled else EMPTY
    context = SettingsContext(
        target=target.path,
        key=target.key,
        store=records.target_state(roots, target.key),
        locks=os.path.join(roots.state, "locks"),
        app_root=roots.app,
        home=roots.home,
        others=others,
        adapters=frozenset(wiring.WINDOWS_ARGUMENTS),
        release=app.version,
        windows=ground.platform == "windows",
    )
    return plan_settings(ground.system, os.path.join(target.path, SETTINGS), ours, context)


def target_slice(ground: Ground, deny: tuple[str, ...] = ()) -> Slice:
    """What this release wants in the target's settings.json. Raises UserError, OSError."""
    app = ground.app
    path = app.file(wiring.TEMPLATE)
    template = wiring.load_template(app, ground.system.read_bytes(path))
    block = wiring.render(template, ground.target, app, ground.platform)
    if deny:
        permissions = dict(block.get("permissions", {}))
        permissions["deny"] = [*permissions.get("deny", []), *deny]
        block["permissions"] = permissions
    try:
        return from_block(block)
    except ValueError as error:
        raise UserError(f"{path}: {error}", "ways update --force", REFUSED) from error
