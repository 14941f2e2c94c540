"""Every workspace has an assistant, whoever asks for it first and in whichever way."""

import asyncio

import pytest

from cluster.basics.errors import NotFound
from cluster.state.agent_store import AgentStore
from cluster.state.audit import AuditLog
from cluster.state.db.postgres import Database
from serve_apps.agents.intake.assistant import ASSISTANT, standing_assistant
from tests.fakes.ledger import new_workspace

pytestmark = pytest.mark.postgres


async def test_it_is_listed_in_a_new_workspace_and_made_once(app_dsn: str, admin_dsn: str) -> None:
    database = Database(app_dsn, size=4, timeout=10)
    await database.open()
    try:
        scope, other = await new_workspace(admin_dsn), await new_workspace(admin_dsn)
        audit = AuditLog(database)
        agents = AgentStore(database, standing_assistant(audit))
        found = await asyncio.gather(*(agents.resolve(scope, ASSISTANT.name) for _ in range(4)))
        assert len(set(found)) == 1
        rows, total = await agents.page(other, 0, 10)
        assert ([row["name"] for row in rows], total) == ([ASSISTANT.name], 1)
        assert rows[0]["whole_workspace"] and str(rows[0]["id"]) != found[0]
        with pytest.raises(NotFound):
            await agents.resolve(scope, "somebody")
        with pytest.raises(NotFound):
            await AgentStore(database).resolve(await new_workspace(admin_dsn), ASSISTANT.name)
    finally:
        await database.close()
