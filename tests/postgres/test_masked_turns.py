"""Personal data in what people say: readable in no row, and with `mask_messages` nowhere behind the way in."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cluster.models.messages import ModelMessage
from cluster.state.rotation import rotate_keys
from cluster.state.vault import UnopenableSecret, key_file, vault_of
from serve_apps.wiring.agents import TurnRuntime
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say, Use
from tests.fakes.workplace import Workplace, workplace

pytestmark = pytest.mark.postgres

MAIL = "ann@example.org"
TABLES = ("runs", "run_steps", "events", "messages", "approvals", "facts", "episodes", "sessions", "answers")


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with serve_model(Say("ok")) as served:
        yield served


def rows_with(admin_dsn: str, at: Workplace, needle: str) -> list[str]:
    """Tables in which a text stands anywhere in a row of the workspace."""
    found = []
    with psycopg.connect(admin_dsn) as connection:
        for table in TABLES:
            row: Any = connection.execute(
                f"select count(*) from {table} t where t.workspace_id = %s and t::text like %s".encode(),
                (at.ann.workspace, f"%{needle}%"),
            ).fetchone()
            found += [table] * bool(row[0])
    return found


@pytest.mark.parametrize("on", [True, False])
async def test_gv_04_what_is_masked_is_masked_in_the_journal_too(
    app_dsn: str, admin_dsn: str, redis_url: str, tmp_path: Path, model: ModelServer, on: bool
) -> None:
    """GV-04, MG-01: on, models and tools get it masked too; off, the journal has it sealed, and is replayed with it."""
    model.replies[:] = [Say(calls=(Use("calculator", {"expression": "6*7"}),)), Say("It is 42.")]
    masked = {"AOS_AGENTS_MASK_MESSAGES": "true"} if on else {}
    async with workplace(app_dsn, admin_dsn, redis_url, tmp_path, model, **masked) as at:
        earlier = (ModelMessage("user", f"I am {MAIL}."), ModelMessage("assistant", f"Hello {MAIL}."))
        events = await at.tell(f"/chat Write to {MAIL} how much six times seven is", "s", history=earlier)
        told = json.dumps(at.model.chats[0].body["messages"])
        assert (MAIL in told) is (not on) and "[email]" in told  # history that a client sends is guarded in any case
        assert rows_with(admin_dsn, at, MAIL) == []
        assert ("run_steps" in rows_with(admin_dsn, at, "[EMAIL ")) is not on
        workshop = TurnRuntime(at.settings, at.base)
        assert (await workshop.replays.replay(at.ann, events[0].data["run_id"]))["same"] is True


async def test_me_06_what_an_agent_says_it_will_remember_is_known_at_once(
    app_dsn: str, admin_dsn: str, redis_url: str, tmp_path: Path, model: ModelServer
) -> None:
    """ME-06: in the next conversation, guarded, without a model being asked for it."""
    model.replies[:] = [Say("I will remember that the pump is called Berta."), Say("Berta.")]
    async with workplace(app_dsn, admin_dsn, redis_url, tmp_path, model) as at:
        await at.tell("/chat Our pump has a name: Berta", "first")
        await at.tell("/chat Which name has it?", "second")
        told = json.dumps(at.model.chats[-1].body["messages"])
        assert "the pump is called Berta" in told and len(at.model.chats) == 2


async def test_gv_04_a_rotated_key_still_opens_what_was_sealed_of_a_run(
    app_dsn: str, admin_dsn: str, redis_url: str, tmp_path: Path, model: ModelServer
) -> None:
    """GV-04: values of runs are sealed anew like all other secrets; without any key a run is refused, not guessed."""
    async with workplace(app_dsn, admin_dsn, redis_url, tmp_path, model) as at:
        (run,) = {event.data["run_id"] for event in await at.tell(f"/chat I am {MAIL}.") if "run_id" in event.data}
        done = await rotate_keys(admin_dsn, vault_of(None, tmp_path), key_file(tmp_path), lambda *told: None)
        assert done["run_secrets"].resealed == done["run_secrets"].total > 0 and not done["run_secrets"].failed
        assert (await TurnRuntime(at.settings, at.base).replays.replay(at.ann, run))["same"] is True
    lost = {"AOS_MODELS_VAULT_KEY": base64.b64encode(b"k" * 32).decode()}
    async with workplace(app_dsn, admin_dsn, redis_url, tmp_path, model, **lost) as other:
        with pytest.raises(UnopenableSecret):
            await TurnRuntime(other.settings, other.base).replays.replay(at.ann, run)
