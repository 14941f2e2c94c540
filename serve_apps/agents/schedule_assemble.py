"""Puts the scheduler together: one of its own in every process that carries turns out."""

from cluster.state.audit import Audit
from cluster.state.identity import Identity
from cluster.state.postgres import Database
from cluster.state.runs import Runs
from cluster.state.schedules import Action
from cluster.state.schedules_due import DueSchedules
from configs.sections_skills import ScheduleSettings
from serve_apps.agents.academy.school import School
from serve_apps.agents.desk import Desk
from serve_apps.agents.schedule import Carries, Scheduler
from serve_apps.agents.schedule_academy import Examinations
from serve_apps.agents.schedule_message import Messages


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
