"""Models behind an endpoint of Hugging Face's shape: embed, rerank, classify, generate; answers are checked."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, assert_never

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from skills.framework.contract import ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import BadManifest, Manifest, Risk, options_of
from skills.http_client.endpoint import HttpService, ServiceEndpoint, ServiceRequest, template_arguments
from skills.http_client.http_answer import ServiceGarbled, parse_reply

Task = Literal["embed", "rerank", "classify", "generate"]


class ModelOptions(ServiceEndpoint):
    """Options of a model skill: endpoint and task."""

    # `embed` text-embeddings-inference /embed, or the feature-extraction pipeline of HF Inference; `rerank` /rerank;
    # `classify` /predict, or the text-classification pipeline; `generate` text-generation-inference /generate, or the
    # text-generation pipeline.
    task: Task


# The arguments of each task; what is in the second set may be missing.
_ARGUMENTS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "embed": (frozenset({"texts"}), frozenset()),
    "rerank": (frozenset({"query", "texts"}), frozenset()),
    "classify": (frozenset({"text"}), frozenset()),
    "generate": (frozenset({"prompt"}), frozenset({"max_new_tokens", "temperature"})),
}

_Number = Annotated[float, Field(allow_inf_nan=False)]


class _Rank(BaseModel):
    index: int
    score: _Number


class _Label(BaseModel):
    label: str
    score: _Number


class _Text(BaseModel):
    generated_text: str


_VECTORS: TypeAdapter[list[list[float]]] = TypeAdapter(list[list[_Number]])
_RANKS: TypeAdapter[list[_Rank]] = TypeAdapter(list[_Rank])
_LABELS: TypeAdapter[list[_Label] | list[list[_Label]]] = TypeAdapter(list[_Label] | list[list[_Label]])
_TEXTS: TypeAdapter[_Text | list[_Text]] = TypeAdapter(_Text | list[_Text])


class HuggingfaceSkill:
    """One task of a served model."""

    def __init__(self, manifest: Manifest, ground: SkillDependencies) -> None:
        """Raises BadManifest where options and parameters are not those of the task."""
        how = options_of(manifest, ModelOptions)
        if manifest.risk is not Risk.READ:
            raise BadManifest(f"{manifest.name}: a model computes and changes nothing; its risk is read")
        self.spec, self.effect = manifest.spec, manifest.effect
        self._manifest, self._task = manifest, how.task
        self._service = HttpService(manifest, ground, how.place)
        needed, more = _ARGUMENTS[how.task]
        known = set(manifest.parameters.get("properties", {})) - template_arguments(manifest, how.url)
        if not needed <= set(manifest.parameters.get("required", ())) or known - needed - more:
            wanted = ", ".join(sorted(needed)) + (f", and maybe {', '.join(sorted(more))}" if more else "")
            raise BadManifest(f"{manifest.name}: {how.task} has the parameters {wanted}")

    async def run(self, call: ToolInvocation) -> Any:
        """Give {vectors, dimension}, {ranked: [{index, score, text}]}, {labels: [{label, score}]} or {text}.

        Raises:
            AosError: those of `Service.ask`.
            ServiceGarbled: the answer is not the task's, or not of as many texts as were sent.
        """
        values = self._manifest.defaults | dict(call.arguments)
        content = json.dumps(_request_body(self._task, values)).encode()
        reply = await self._service.ask(call, ServiceRequest("POST", values, True, content=content))
        try:
            return _checked_answer(self._task, parse_reply(reply), values)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise ServiceGarbled(f"this is no answer to {self._task}: {place} {first['msg']}") from None


build = HuggingfaceSkill


def _request_body(task: Task, values: Mapping[str, Any]) -> dict[str, Any]:
    if task == "embed":
        return {"inputs": values["texts"], "normalize": True, "truncate": True}
    if task == "rerank":
        return {"query": values["query"], "texts": values["texts"], "truncate": True}
    if task == "classify":
        return {"inputs": values["text"]}
    if task == "generate":
        wanted = {name: values[name] for name in ("max_new_tokens", "temperature") if values.get(name) is not None}
        return {"inputs": values["prompt"], "parameters": {"return_full_text": False, **wanted}}
    assert_never(task)


def _checked_answer(task: Task, answer: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    if task == "embed":
        vectors = _VECTORS.validate_python(answer)
        if len(vectors) != len(values["texts"]) or len({len(one) for one in vectors}) > 1:
            raise ServiceGarbled(f"{len(values['texts'])} texts, and {len(vectors)} vectors or of different sizes")
        return {"vectors": vectors, "dimension": len(vectors[0]) if vectors else 0}
    if task == "rerank":
        ranks, texts = _RANKS.validate_python(answer), values["texts"]
        if sorted(one.index for one in ranks) != list(range(len(texts))):
            raise ServiceGarbled(f"{len(texts)} texts, and not one rank for each")
        best = sorted(ranks, key=lambda one: -one.score)
        return {"ranked": [{"index": one.index, "score": one.score, "text": texts[one.index]} for one in best]}
    if task == "classify":
        found = _LABELS.validate_python(answer)
        flat = [one for part in found for one in (part if isinstance(part, list) else [part])]
        return {"labels": [one.model_dump() for one in sorted(flat, key=lambda one: -one.score)]}
    if task == "generate":
        made = _TEXTS.validate_python(answer)
        if isinstance(made, list) and len(made) != 1:
            raise ServiceGarbled(f"{len(made)} texts for one prompt")
        return {"text": made[0].generated_text if isinstance(made, list) else made.generated_text}
    assert_never(task)
