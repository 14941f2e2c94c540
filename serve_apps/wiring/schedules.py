"""Puts the scheduler together: one of its own in every process that carries turns out."""

from cluster.state.audit import Audit
from cluster.state.db.postgres import Database
from cluster.state.identity.identity import Identity
from cluster.state.work.runs import Runs
from cluster.state.work.schedules import Action
from cluster.state.work.schedules_due import DueSchedules
from configs.sections_skills import ScheduleSettings
from serve_apps.agents.academy.school import School
from serve_apps.agents.intake.turn_intake import Desk
from serve_apps.agents.schedules.nightly_examination import Examinations
from serve_apps.agents.schedules.scheduled_message import Messages
from serve_apps.agents.schedules.scheduler import Carries, Scheduler


def scheduler(
    settings: ScheduleSettings,
    database: Database,
    audit: Audit,
    identity: Identity,
    runs: Runs,
    desk: Desk,
    school: School,
    owner: str,
) -> Scheduler:
    """Nothing runs before its sweep."""
    due = DueSchedules(database)
    actions: dict[Action, Carries] = {
        Action.MESSAGE: Messages(database, due, runs, desk),
        Action.ACADEMY: Examinations(school),
    }
    return Scheduler(due, identity, audit, actions, settings, owner=owner)
