"""`ways manifest`: the places in a target that are ours."""

from __future__ import annotations

import json

import click

from installer.stage import prepare
from projection.manifest import projected_roots
from projection.system import DryRunSystem
from ways.core import roots as core_roots


@click.command()
@click.option("--json", "as_json", is_flag=True, help="With every file, its size, SHA-256 and mode.")
def command(as_json: bool) -> None:
    """Print the projected roots, worked out from what this version ships."""
    app = prepare(DryRunSystem(), core_roots.resolve())
    found = projected_roots(app.payload)
    if not as_json:
        click.echo("\n".join(root.path for root in found))
        return
    rows = [
        {
            "path": root.path,
            "kind": root.kind,
            "files": [
                {"path": f.path, "size": f.size, "sha256": f.sha256, "mode": f"{f.mode:04o}"}
                for f in root.files
            ],
        }
        for root in found
    ]
    click.echo(json.dumps({"version": app.version, "roots": rows}, indent=2, ensure_ascii=False))
