"""`ways rollback`: back to the version before, without a network (spec: installer; case u04)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from installer import journal, recovery, switching, versions
from installer.switching import Finished
from projection.system import System
from ways.core.errors import WRONG, UserError
from ways.core.roots import Roots


@dataclass(frozen=True)
class RollbackPlan:
    """From which version to which; `fault` says why that one cannot be used, "" when it can."""

    before: str
    after: str
    fault: str

    def lines(self) -> list[str]:
        """The plan for people."""
        found = [f"Go back from {self.before} to {self.after}."]
        return [*found, f"That is not possible: {self.fault}"] if self.fault else found


def plan(system: System, roots: Roots) -> RollbackPlan:
    """What a rollback would do. Raises UserError when there is no version to go back to."""
    installed = versions.need_installed(system, roots)
    if not installed.previous or installed.previous == installed.current:
        raise UserError(
            f"there is no version before {installed.current} here",
            "ways update --version X --allow-downgrade",
        )
    if installed.previous not in installed.names:
        what = f"the version before {installed.current}, {installed.previous}, is not in {roots.app} any more"
        raise UserError(what, f"ways update --version {installed.previous} --allow-downgrade", WRONG)
    content = versions.folder(roots, installed.previous)
    return RollbackPlan(installed.current, installed.previous, versions.damage(system, content))


def apply(system: System, roots: Roots, environ: Mapping[str, str]) -> Finished:
    """Do it. Call it under the update lock. Raises UserError, OSError."""
    told = recovery.recover(system, roots, environ)
    what = plan(system, roots)
    if what.fault:
        raise UserError(what.fault, f"ways update --version {what.after} --allow-downgrade", WRONG)
    entry = journal.begin(journal.ROLLBACK, what.before, what.after, what.after)
    done = switching.switch(system, roots, entry, environ)
    return replace(done, notes=(told, *done.notes)) if told else done
