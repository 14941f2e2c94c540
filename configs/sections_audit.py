"""Settings of the audit trail's way to collectors."""

from pathlib import Path

from pydantic import Field

from configs.section import Section


class AuditSettings(Section):
    """The audit trail sent to collectors, by one process at a time, of each tenant in its order.

    `sinks_file`: a YAML file of collectors (configs/audit_sinks.py); none without it. `poll_seconds`: how soon a new
    entry is sent. `batch`: entries that are sent, and confirmed, at once: as many may come twice where a confirmation
    was lost. `retry_seconds`: the longest pause after a failure. `lag_seconds`: a collector that is further behind
    shows in the health checks.
    """

    sinks_file: Path | None = None
    poll_seconds: float = Field(1, gt=0, le=60)
    batch: int = Field(500, ge=1, le=5_000)
    retry_seconds: float = Field(30, ge=1, le=3_600)
    lag_seconds: float = Field(300, gt=0)
