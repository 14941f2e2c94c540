"""The settings of retrieval: how text becomes vectors, how passages are found, judged, packed and remembered."""

from typing import Literal

from pydantic import Field, model_validator

from configs.section import Gpu, Secret, Section

_OF_A_MODEL = ("model", "base_url", "api_key", "window", "query_prefix", "passage_prefix")


class EmbeddingSettings(Section):
    """The model that turns text into vectors; `model` is a path, a hub id, or `packaged`.

    With `base_url` it is the name that this OpenAI-shaped server knows; `window` is then how many tokens that model
    reads, `seconds` how long it may take for a batch, `attempts` how often one is sent before it is given up.
    `query_prefix`, `passage_prefix`: what the model wants in front of a question and of a passage, as E5 does `query: `
    and `passage: `; nothing unless given. Another passage prefix is another index.
    `detect`: where no server is named, the first start looks for one: Ollama on this machine, and for a model that is
    not here the language model's. `detected` is what it found, kept with `base_url` and `model` for every later start.
    `runtime`: `numpy` computes the packaged model, and any other BERT with a mean over its tokens, in a sixth of the
    memory and without torch, bulk work at half the speed; its vectors are those of float32. `both` does so, too, and
    has torch in a process of its own while there is much to do. `auto` is `both` on one machine without a GPU where
    the model is such a one, and `torch` elsewhere.
    `gpu`: `auto` computes on the GPU that Ray gives its replica (ray.num_gpus) where torch sees one; true insists.
    `min_replicas`, `max_replicas`: as many there are at least and at most, by the work. With none at least the last one
    ends ten minutes after the last question (in the profile light always, after `light.rest_seconds`), and whoever asks
    next begins one: a search waits `search.embed_seconds` for it, and is answered by its words alone where that is too
    short.
    `batch_tokens`: of a batch, padding included; 2,048 on a CPU and 32,768 on a GPU unless given. `queue_tokens`: more
    than these waiting in a lane, and callers are refused. `cache_entries`: vectors of questions kept for each
    workspace, 1.5 KiB each.
    `former_model`: what `model` was when the index was made that readers use: questions to that index are embedded with
    it, which takes as much memory again. `former_base_url`, `former_api_key`, `former_window`: of its server,
    `former_query_prefix`, `former_passage_prefix`: in front of its texts. Models of servers are known by their names:
    the two need different ones.
    """

    model: str = "packaged"
    runtime: Literal["auto", "both", "torch", "numpy"] = "auto"
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    batch_tokens: int | None = Field(None, ge=256)
    queue_tokens: int = Field(1_000_000, ge=1)
    cache_entries: int = Field(20_000, ge=0)
    cache_seconds: int = Field(86_400, ge=1)
    base_url: str | None = None
    api_key: Secret = None
    detect: bool = True
    detected: Literal["ollama", "llm"] | None = None
    window: int = Field(2048, ge=64)
    query_prefix: str = Field("", max_length=500)
    passage_prefix: str = Field("", max_length=500)
    seconds: float = Field(180, gt=0)
    attempts: int = Field(4, ge=1, le=10)
    placement: Literal["inproc", "serve"] = "serve"
    gpu: Gpu = "auto"
    min_replicas: int = Field(1, ge=0)
    max_replicas: int = Field(2, ge=1)
    former_model: str | None = None
    former_base_url: str | None = None
    former_api_key: Secret = None
    former_window: int = Field(2048, ge=64)
    former_query_prefix: str = Field("", max_length=500)
    former_passage_prefix: str = Field("", max_length=500)

    @model_validator(mode="after")
    def _are_two(self) -> "EmbeddingSettings":
        if self.former_model == self.model and (self.former_base_url is None) == (self.base_url is None):
            raise ValueError(f"former_model is {self.model}, as model is: nobody could tell their vectors apart")
        return self

    @model_validator(mode="after")
    def _least_below_most(self) -> "EmbeddingSettings":
        if self.min_replicas > self.max_replicas:
            raise ValueError(f"min_replicas is {self.min_replicas}, more than max_replicas: {self.max_replicas}")
        return self

    def of_former(self) -> "EmbeddingSettings | None":
        """The same with the model before; None where none is named."""
        if self.former_model is None:
            return None
        former = {name: getattr(self, f"former_{name}") for name in _OF_A_MODEL}
        return self.model_copy(update=former)


class EnhanceSettings(Section):
    """Query expansion: a language model rewrites questions before the search, where a rule says that it helps.

    `enabled` False leaves it to callers who ask for it; `hyde`, `decompose` and `concepts` switch its techniques.
    `seconds`: longer the model is not waited for. `least_ms`: callers who wait for less are not made to.
    """

    enabled: bool = True
    hyde: bool = True
    decompose: bool = True
    concepts: bool = True
    seconds: float = Field(4.0, gt=0)
    least_ms: int = Field(1_000, ge=0)
    weight: float = Field(1.0, ge=0)


class PackSettings(Section):
    """Packing of contexts: each further chunk of a document counts by so much less; so many chunks are offered.

    `least_share`: a chunk that is less relevant than this share of the best one is left out, whatever room there is.
    `importance`: by at most this share a chunk counts less whose metrics (entropy, coherence, place) call it
    unimportant; 0 leaves them out.
    """

    diversity_factor: float = Field(0.3, ge=0, le=1)
    least_share: float = Field(0.6, ge=0, le=1)
    importance: float = Field(0.0, ge=0, le=1)
    candidates: int = Field(50, ge=1, le=200)


class RerankSettings(Section):
    """Reranking of the best candidates, and the weight of the keyword score beside the judgement.

    `model` is a cross-encoder: a local path, or a hub id with `download`; without it the default is used wherever its
    weights are present. Where there is none, or it does not answer: a service of Cohere's shape (`remote_enabled`,
    `remote_url`), then a language model (`llm`); else the stage is off and says so. `gpu`: as the embedder's.
    """

    model: str | None = None
    download: bool = False
    candidates: int = Field(12, ge=1)
    max_tokens: int = Field(192, ge=32)
    gpu: Gpu = "auto"
    weight_keyword: float = Field(0.3, ge=0, le=1)
    llm: bool = False
    llm_seconds: float = Field(10, gt=0)
    remote_enabled: bool = False
    remote_url: str | None = None
    remote_model: str | None = None
    remote_key: Secret = None
    remote_candidates: int = Field(20, ge=1, le=1_000)
    remote_seconds: float = Field(5, gt=0)


class SearchSettings(Section):
    """The retrievers and their fusion. `exact_scope` is the number of chunks up to which both scan exactly; in a
    large index, where a filter makes a walk of the graph long, more are (0: never).

    `fuse_by`: what makes a chunk's place in a leg, its rank there or where its score stands below the best; with
    `score`, `long_keyword_share` of the keyword leg's weight counts for questions of `long_words` words and more.
    `spread`: by so much less counts each further passage of a document in a list of results. `embed_seconds`: longer
    no question waits for its embedder; words alone find something too, and the result says so.
    """

    weight_keyword: float = Field(0.5, ge=0)
    weight_vector: float = Field(0.5, ge=0)
    rrf_k: int = Field(60, ge=1)
    fuse_by: Literal["rank", "score"] = "score"
    long_words: int = Field(25, ge=1)
    long_keyword_share: float = Field(2 / 3, ge=0)
    spread: float = Field(0.1, ge=0, lt=1)
    fetch: int = Field(100, ge=1)
    exact_scope: int = Field(5_000, ge=0)
    ef_search: int = Field(200, ge=10, le=1000)
    k1: float = Field(0.9, gt=0)
    b: float = Field(0.4, ge=0, le=1)
    embed_seconds: float = Field(3, gt=0)


class GateSettings(Section):
    """The quality gate that the next index has to pass before readers use it.

    `questions`: parts of its own passages that have to lead back to them, 0 for none; `floor`: the least share of them
    that does. `tolerance`: by how much it may find less than the live one, of these and of golden questions.
    """

    questions: int = Field(100, ge=0, le=1_000)
    floor: float = Field(0.6, ge=0, le=1)
    tolerance: float = Field(0.05, ge=0, le=1)


class GraphSettings(Section):
    """Limits of the knowledge graph's entities and relations of a document.

    `model`: whether a language model reads documents of less than `model_chars` characters beside the rules: those that
    people upload (`small`), all (`always`), none (`off`). `max_chars` of a document are read by rule.
    """

    enabled: bool = True
    max_entities: int = Field(30, ge=1, le=1_000)
    max_relations: int = Field(20, ge=0, le=1_000)
    max_chars: int = Field(1_000_000, ge=1_000)
    model: Literal["off", "small", "always"] = "small"
    model_chars: int = Field(8_000, ge=0, le=100_000)
    model_seconds: float = Field(60, gt=0)


class CacheSettings(Section):
    """The cache of searches and answers, in Redis.

    `risk` is the share of look-alike questions (another number, roles swapped) that may be answered with each other's
    answer: 0.001 is one in a thousand, 0 answers the same words only. The similarity from which on other words may be
    the same question follows from it by what was measured with the packaged embedder; with another one only the same
    words are, unless `similarity_threshold` says a similarity by hand, which then takes that one's place.
    `entries` is how many each set of documents, filters and options keeps, `mirrors` how many such sets a process has
    at hand; `wait_seconds` how long one replica waits for another that works the same question out.
    """

    enabled: bool = True
    risk: float = Field(0.001, ge=0, le=1)
    similarity_threshold: float | None = Field(None, ge=0, le=1)
    ttl_seconds: int = Field(86_400, ge=1)
    entries: int = Field(1_000, ge=1, le=100_000)
    mirrors: int = Field(64, ge=1)
    wait_seconds: float = Field(2, ge=0)
