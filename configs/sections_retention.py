"""Settings of retention: for how many days each class is kept where no rule of a tenant or workspace says."""

from typing import Annotated

from pydantic import Field

from configs.section import Section

Days = Annotated[int | None, Field(ge=1, le=36_500)]  # None keeps


class RetentionSettings(Section):
    """Days until something is deleted; without a number it is kept. Rules of a tenant or a workspace come before these.

    `versions` are those that newer ones have replaced, `pages` what a reading keeps beside the pages themselves (units
    and events of jobs that have ended, and staging folders), `memory` facts, episodes and summaries of conversations,
    `traces` what answers and runs say of how they came about, with the passages that answers used, `journals` steps
    and events of runs that have ended, `conversations` those in which nothing was said for so long. `every_minutes`:
    how often each tenant's turn comes.
    """

    documents_days: Days = None
    versions_days: Days = None
    pages_days: Days = None
    answers_days: Days = None
    conversations_days: Days = None
    messages_days: Days = None
    memory_days: Days = None
    runs_days: Days = None
    journals_days: Days = None
    traces_days: Days = None
    audit_days: Days = None
    every_minutes: int = Field(60, ge=1)
