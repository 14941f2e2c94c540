"""The language of a workspace's words."""

from fastapi import APIRouter
from pydantic import BaseModel

from cluster.basics.scope import Scope
from serve_apps.http.auth.guard import GuardedRoute, Its, Me, require_same_scope
from serve_apps.http.fields import Name, RequestBody
from serve_apps.retrieval.text.stemming_language import StemmingLanguages

router = APIRouter(route_class=GuardedRoute, tags=["search"])


class LanguageRequest(RequestBody):
    """Language to stem by, one of those that GET lists; `simple` does no stemming."""

    language: Name


class Language(BaseModel):
    """Stemming language; `chunks` is how many were stemmed anew, null where nothing was asked to change."""

    language: str
    known: list[str]
    chunks: int | None = None


@router.get("/api/search/language")
async def language(me: Me, parts: Its) -> Language:
    """The workspace's language, and those there are."""
    languages = StemmingLanguages(parts.database)
    return Language(language=await languages.current(me.scope), known=await languages.known(me.scope))


@router.put("/api/search/language")
async def change_language(body: LanguageRequest, me: Me, parts: Its) -> Language:
    """Compare words in another language from now on; answers once every chunk's words are cut anew."""
    require_same_scope(me, body.tenant_id, body.workspace_id)
    languages = StemmingLanguages(parts.database)
    async with parts.database.transaction(Scope.of_worker(me.scope.tenant, me.scope.workspace)) as tx:
        chunks = await languages.change(tx, me.scope, body.language)
        detail = {"language": body.language, "chunks": chunks}
        await parts.audit.record(tx, me.scope, "search.language", me.scope.workspace, detail=detail)
    return Language(language=body.language, known=await languages.known(me.scope), chunks=chunks)
