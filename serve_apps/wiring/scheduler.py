"""Puts the scheduler together: one of its own in every process that carries turns out."""

from cluster.state.audit import AuditLog
from cluster.state.db.postgres import Database
from cluster.state.identity.identity import IdentityStore
from cluster.state.work.runs import RunLedger
from cluster.state.work.schedules import Action
from cluster.state.work.schedules_due import DueSchedules
from configs.sections_skills import ScheduleSettings
from serve_apps.agents.academy.school import Academy
from serve_apps.agents.intake.turn_intake import TurnIntake
from serve_apps.agents.schedules.nightly_examination import NightlyExamination
from serve_apps.agents.schedules.scheduled_message import ScheduledMessage
from serve_apps.agents.schedules.scheduler import ScheduledAction, Scheduler


def scheduler(
    settings: ScheduleSettings,
    database: Database,
    audit: AuditLog,
    identity: IdentityStore,
    runs: RunLedger,
    desk: TurnIntake,
    school: Academy,
    owner: str,
) -> Scheduler:
    """Nothing runs before its sweep."""
    due = DueSchedules(database)
    actions: dict[Action, ScheduledAction] = {
        Action.MESSAGE: ScheduledMessage(database, due, runs, desk),
        Action.ACADEMY: NightlyExamination(school),
    }
    return Scheduler(due, identity, audit, actions, settings, owner=owner)
