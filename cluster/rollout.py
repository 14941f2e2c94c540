"""Rolls out the deployment: files, rows and environment together, and the restarts that somebody asked for."""

import time
from collections.abc import Callable, Mapping
from datetime import datetime

from cluster import deploy
from cluster.basics.errors import AosError, Unavailable
from cluster.state.db.embedded import postgres_endpoints, timeline_fence
from cluster.state.settings.restart_requests import RestartLedger
from cluster.state.settings.settings_rows import layer_settings, read_stored_rows
from configs.sections import Settings
from configs.settings import InvalidConfiguration

Report = Callable[[str], None]

LOOK_SECONDS = 2.0  # a restart that is asked for begins after at most so long


class Rollout:
    """Deploys; while Postgres does not answer, with what it said last."""

    def __init__(
        self, base: Settings, clock: Callable[[], float] = time.monotonic, environment: Mapping[str, str] | None = None
    ) -> None:
        """Nothing is asked yet; `base` was read from files and the environment, the process' own unless given."""
        self._base, self.settings, self._environment = base, base, environment
        self._fence = timeline_fence(base)
        self._marks: dict[str, int] = {}
        self._read_at: datetime | None = None
        self._clock, self._looked = clock, clock()

    def deploy(self, report: Report) -> None:
        """Roll everything out; raises as `deploy.roll_out`."""
        try:
            self._refresh_settings(report)
        except (Unavailable, InvalidConfiguration) as error:
            report(f"the settings' rows could not be read, those of before count: {error}")
        self._send(report)

    def _send(self, report: Report) -> None:
        deploy.deploy_applications(self.settings, report, self._marks, self._base)

    def began(self, report: Report) -> None:
        """Everything was started anew: nothing waits any more for what was there when the rows were read."""
        if self._read_at is None:
            return
        try:
            self._restart_ledger().all_done(self._read_at)
        except Unavailable as error:
            report(f"what waits for a restart stays so: {error}")

    def repaired(self, report: Report) -> None:
        """What was asked for before the rows were read was deployed; what nobody asked for still waits."""
        if self._read_at is None:
            return
        try:
            ledger = self._restart_ledger()
            if waiting := ledger.waiting(self._read_at):
                parts = sorted({part for asked in waiting.values() for part in asked})
                ledger.done(list(waiting), parts, self._read_at)
        except Unavailable as error:
            report(f"what waits for a restart stays so: {error}")

    def restart(self, report: Report) -> None:
        """Carry out what was asked for, replica by replica, if something was; what fails is told to who asked."""
        if self._clock() - self._looked < LOOK_SECONDS:
            return
        self._looked = self._clock()
        try:
            ledger = self._restart_ledger()
            taken = ledger.take()
            if not taken:
                return
            before = ledger.now()
        except Unavailable:
            return  # whoever repairs Postgres sees that as well
        parts = sorted({part for asked in taken.values() for part in asked})
        report(f"restarting {', '.join(parts)}, as asked")
        failed: AosError | InvalidConfiguration | None = None
        try:
            self._refresh_settings(report)  # without the new marks nothing would be replaced
            self._send(report)
        except (AosError, InvalidConfiguration) as error:
            failed = error
            report(f"the restart failed: {error}")
        try:
            ledger.done(list(taken), parts, before, None if failed is None else str(failed))
        except Unavailable as error:
            report(f"how the restart ended could not be written down: {error}")

    def _refresh_settings(self, report: Report) -> None:
        read_at = self._restart_ledger().now()
        kept = read_stored_rows(self._base)
        found, left_out = layer_settings(kept, self._environment)
        self.settings = found.settings if kept.values else self._base
        self._marks, self._read_at = self._restart_ledger().marks(), read_at
        for name, why in left_out.items():
            report(f"the row {name} of system_settings is left out: {why}")

    def _restart_ledger(self) -> RestartLedger:
        return RestartLedger(postgres_endpoints(self._base)[0], self._fence)
