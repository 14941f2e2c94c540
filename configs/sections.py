"""The settings by section: each key with its type, default and bounds; frozen, unknown keys refused."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from configs.section import Gpu, Secret, Section
from configs.sections_audit import AuditSettings
from configs.sections_backup import BackupSettings
from configs.sections_blobs import BlobSettings, UploadSettings
from configs.sections_events import EventStreamSettings, WebhookSettings
from configs.sections_http import HttpSettings as HttpSettings
from configs.sections_identity import AuthSettings
from configs.sections_limits import LimitSettings
from configs.sections_reading import OcrSettings as OcrSettings
from configs.sections_reading import ReadSettings as ReadSettings
from configs.sections_reading import VisionSettings
from configs.sections_retention import RetentionSettings
from configs.sections_retrieval import (
    CacheSettings,
    EmbeddingSettings,
    EnhanceSettings,
    GateSettings,
    GraphSettings,
    PackSettings,
    RerankSettings,
    SearchSettings,
)
from configs.sections_skills import AcademySettings, SandboxSettings, ScheduleSettings, SkillSettings
from configs.sections_sources import SourceSettings


class PostgresSettings(Section):
    """Postgres, for durable state. Without `host` and `url` an embedded server is started.

    A process of the gateway holds at most `pool_size` and `max_overflow` connections together.
    """

    url: Secret = None
    admin_url: Secret = None
    host: str | None = None
    port: int = 5432
    database: str = "aos"
    user: str = "aos_app"
    password: Secret = None
    admin_user: str | None = None
    admin_password: Secret = None
    pool_size: int = Field(8, ge=1, le=500)
    max_overflow: int = Field(0, ge=0, le=500)
    pool_timeout: float = Field(60, gt=0)


class RedisSettings(Section):
    """Redis, for state that may be lost. Without `host` and `url` an embedded Valkey is started."""

    url: Secret = None
    host: str | None = None
    port: int = 6379
    password: Secret = None


class DiskSettings(Section):
    """Free space to be kept on the disk that holds `state_dir`.

    While less than `free_bytes` of it, or than `free_percent` where that is more, is free, uploads are refused (507),
    `aos doctor` is red, and whatever else people do goes on: what was accepted is read, and search and chat answer.
    While less than `jobs_free_bytes` is free, jobs wait, too, and say so: Postgres ends where it can write nothing.
    """

    free_bytes: int = Field(1 * 2**30, ge=0)
    free_percent: float = Field(0, ge=0, lt=100)
    jobs_free_bytes: int = Field(256 * 2**20, ge=0)


ChunkStrategy = Literal[
    "semantic", "semantic_similarity", "information_density", "topic_coherence", "hierarchical", "adaptive"
]


class ChunkSettings(Section):
    """Chunking of text; sizes are counted in `unit`.

    `semantic` cuts at titles, paragraphs and sentences into chunks of at most `size`, with `overlap`. The others close
    a chunk earlier, about `target`, never below `minimum` nor above `size`, and repeat `overlap_ratio` of the target:
    `semantic_similarity` where a sentence's cosine to the chunk is below `similarity` (every sentence is embedded),
    `topic_coherence` where they share less than `coherence` of their keywords, `information_density` at the target or
    where the chunk's entropy exceeds `entropy_factor` times the mean of sentences. `hierarchical` searches chunks of
    half the target and answers with parents of twice the target; `adaptive` takes the best of the three for each
    document. `tokens` are word pieces of the embedding model where its folder is here, else of the packaged one.
    """

    strategy: ChunkStrategy = "semantic"
    unit: Literal["characters", "words", "tokens"] = "characters"
    size: int = Field(1500, ge=100)
    overlap: int = Field(300, ge=0)
    minimum: int = Field(100, ge=1)
    target: int = Field(500, ge=50)
    overlap_ratio: float = Field(0.1, ge=0, le=0.5)
    similarity: float = Field(0.85, ge=-1, le=1)
    entropy_factor: float = Field(1.2, gt=0)
    coherence: float = Field(0.3, ge=0, le=1)

    @field_validator("strategy", mode="before")
    @classmethod
    def _in_any_case(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value


class LlmSettings(Section):
    """An OpenAI-compatible endpoint for generated answers. Without `base_url` answers are extractive."""

    base_url: str | None = None
    model: str | None = None
    api_key: Secret = None
    supports_tools: bool | None = None
    seconds: float = Field(120, gt=0)


class VllmSettings(Section):
    """vLLM on this cluster (ray.serve.llm), under /llm/v1; without `model`, a path or a hub id, it is not deployed.

    Its environment is another one: configs/constraints-gpu.txt. `gpu`: `auto` takes GPUs where ray.num_gpus declares
    some; a replica takes `tensor_parallel` whole ones, or as many logical CPUs. `engine` holds further arguments of
    vLLM's engine as name=value, the value in YAML without a comma: `max_model_len=8192`.
    """

    model: str | None = None
    name: str | None = None
    api_key: Secret = None
    download: bool = False
    gpu: Gpu = "auto"
    tensor_parallel: int = Field(1, ge=1)
    num_cpus: float = Field(0.5, gt=0)
    min_replicas: int = Field(1, ge=0)
    max_replicas: int = Field(1, ge=1)
    target_requests: int = Field(16, ge=1)
    engine: tuple[Annotated[str, Field(pattern=r"^[a-z_]\w*=[^,]*$")], ...] = ()


class ModelsSettings(Section):
    """Connections to models and routing. `vault_key` seals their keys: 32 bytes in base64; without it one is made.

    `allow`: addresses that are not public and that stored connections may have all the same: `host`, `host:port`, or a
    network such as `10.1.0.0/16`. What LLM_BASE_URL or the connections file names is never asked about, and this
    machine's own addresses are open to the first tenant while `http.host` is one of them. `drafts`: readers see what a
    model writes before it is checked against the documents; off, they see the checked answer alone. `answer_bytes`: of
    an answer that comes whole; `event_bytes`: of one event of a stream, which as a whole may be longer.
    """

    allow: tuple[str, ...] = ()
    drafts: bool = True
    connections_file: Path | None = None
    vault_key: Secret = None
    max_fallbacks: int = Field(3, ge=0)
    probe_seconds: float = Field(5, gt=0)
    connect_seconds: float = Field(10, gt=0)
    answer_bytes: int = Field(32 * 2**20, ge=2**16)
    event_bytes: int = Field(8 * 2**20, ge=2**16)


class AgentSettings(Section):
    """Limits and defaults of agents. `placement`: in the gateway's replica, or as Serve deployments of their own.

    `mask_messages`: personal data in what people say is masked before models, tools, journals and traces get it, as it
    always is in stored messages. Off, a model can use an address that it is told, and the run's journal has it. Runs
    that nobody reads are looked for every `sweep_seconds` where Postgres tells of them, too, else every `poll_seconds`.
    """

    placement: Literal["inproc", "serve"] = "inproc"
    max_rounds: int = Field(10, ge=1)
    seconds: float = Field(300, gt=0)
    rag_top_k: int = Field(8, ge=0)
    temperature: float = Field(0.7, ge=0, le=2)
    max_tokens: int = Field(4096, ge=1)
    max_depth: int = Field(3, ge=0, le=3)
    dispatch_threshold: float = Field(0.6, ge=0, le=1)
    planning_enabled: bool = True
    max_plan_steps: int = Field(6, ge=1, le=50)
    plan_style: Literal["structured", "concise"] = "structured"
    max_replans: int = Field(3, ge=0)
    approval_hours: float = Field(24, gt=0)
    lease_seconds: float = Field(15, gt=0)
    heartbeat_seconds: float = Field(3, gt=0)
    poll_seconds: float = Field(0.5, gt=0)
    sweep_seconds: float = Field(5, gt=0)
    http_allow: tuple[str, ...] = ()
    approvals_file: Path | None = None
    mask_messages: bool = False


class MemorySettings(Section):
    """Conversation memory kept at hand. Redis may be flushed at any time: Postgres holds it all.

    `episodes`: so many earlier conversations are told before a message that is near to them by `episode_similarity` or
    shares words with them; 0 for none.
    """

    ttl_seconds: int = Field(3600, ge=1)
    sessions: int = Field(1000, ge=1)
    prompt_messages: int = Field(50, ge=1)
    summary_after: int = Field(30, ge=2)
    compliance_every: int = Field(10, ge=1)
    extract_facts: bool = True
    episodes: int = Field(3, ge=0, le=20)
    episode_similarity: float = Field(0.3, ge=-1, le=1)


class TelemetrySettings(Section):
    """OpenTelemetry export (OTLP over HTTP); without `endpoint` no spans are made."""

    endpoint: str | None = None
    service: str = "aos"
    prompts: bool = False


class WorkerSettings(Section):
    """Job claims of workers. `vain_claims`: so many in a row that settle nothing end a re-index with the reason.

    `placement`: in replicas of their own, or in the gateway's process, which spares 150 MB, and people wait a little
    while documents are read.

    `small_jobs` of the small lane run at once (`auto`: by CPUs and free memory), each with a reader of its own, and
    give their place back after `slice_seconds`; bulk jobs after `bulk_slice_seconds`, where another workspace waits.
    Work is looked for every `sweep_seconds` where Postgres tells of it, too; where it does not, every `poll_seconds`.
    Where more than `bulk_seconds` of work are left of a job, by what its pages have cost, it goes on in the bulk lane.
    A file or page that costs more CPU than `quick_seconds`, its OCR counted, goes on in the slow lane, where it keeps
    nobody waiting and has the limits of `read`; so does the costliest beyond `hurried_seconds` where all of
    `small_jobs` are at work and another waits. What costs seconds gets half of the CPUs while others are read.
    `warm_reader`: the process of a reader is there before an upload, which else waits a second for it.
    """

    lease_seconds: float = Field(30, gt=0)
    heartbeat_seconds: float = Field(5, gt=0)
    poll_seconds: float = Field(0.2, gt=0)
    sweep_seconds: float = Field(2, gt=0)
    warm_reader: bool = True
    placement: Literal["inproc", "serve"] = "serve"
    replicas: int = Field(1, ge=1)
    vain_claims: int = Field(10, ge=1)
    small_jobs: Literal["auto"] | Annotated[int, Field(ge=1, le=64)] = "auto"
    slice_seconds: float = Field(3, gt=0)
    bulk_slice_seconds: float = Field(20, gt=0)
    bulk_seconds: float = Field(30, gt=0)
    quick_seconds: float = Field(20, gt=0)
    hurried_seconds: float = Field(4, gt=0)


class RaySettings(Section):
    """The cluster: join `address`, or start one here with `num_cpus` logical CPUs.

    `auth_token` opens a joined one's dashboard, as it does Ray's own parts; without it that is in the file `ray-token`
    below `state_dir`.

    `store_url`: the Redis in which the joined cluster is kept over a restart of its head, for `aos doctor` to look at;
    Ray itself is told where its head is started.

    `memory_high`: while more than this share of the machine's memory is in use, by whomever, bulk readers are ended
    one after the other, and nobody else; 1 for never.

    `dashboard`: of the one started here, `api` answers what the product asks of Ray's dashboard, `full` runs Ray's own
    with pages for a browser, and its agent, which tells Prometheus figures of Ray.
    """

    address: str | None = None
    auth_token: Secret = None
    store_url: Secret = None
    num_cpus: int = Field(8, ge=1)
    num_gpus: int = Field(0, ge=0)
    dashboard_port: int = 8265
    gcs_port: int = 6399
    object_store_mb: int = Field(512, ge=78)
    dashboard: Literal["api", "full"] = "api"
    memory_high: float = Field(0.93, gt=0, le=1)


class LightSettings(Section):
    """What is spared on one machine; the profile `light` (`aos up --light`) turns it on.

    `enabled`: Serve's controller looks at its parts half as often, and Ray's agents, where they run (`ray.dashboard:
    full`), tell figures of the machine once a minute. What a fault costs stays below what is promised for it.
    `rest_seconds`: the embedder and the console end when nobody has used them for so long, and begin with whoever asks
    next, who waits for that; 0: they stay.
    """

    enabled: bool = False
    rest_seconds: int = Field(0, ge=0)


class ConsoleSettings(Section):
    """The operator's console at /console. `api_url`: where it reaches the HTTP API; this machine's where left out.

    `rest_seconds`: it begins with whoever opens it first, who waits some seconds for that, and ends when nobody has had
    a window open for so long; 0: it is always there.
    """

    enabled: bool = True
    rest_seconds: int = Field(0, ge=0)
    session_hours: float = Field(12, gt=0, le=24 * 30)
    api_url: str | None = None


class Settings(Section):
    """Everything, by section. Pass a section down, not the whole."""

    profile: str = "dev"
    state_dir: Path = Path(".aos")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    postgres: PostgresSettings = PostgresSettings()
    redis: RedisSettings = RedisSettings()
    auth: AuthSettings = AuthSettings()
    http: HttpSettings = HttpSettings()
    limits: LimitSettings = LimitSettings()
    console: ConsoleSettings = ConsoleSettings()
    disk: DiskSettings = DiskSettings()
    backup: BackupSettings = BackupSettings()
    blobs: BlobSettings = BlobSettings()
    uploads: UploadSettings = UploadSettings()
    ocr: OcrSettings = OcrSettings()
    vision: VisionSettings = VisionSettings()
    read: ReadSettings = ReadSettings()
    chunk: ChunkSettings = ChunkSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    rerank: RerankSettings = RerankSettings()
    enhance: EnhanceSettings = EnhanceSettings()
    pack: PackSettings = PackSettings()
    search: SearchSettings = SearchSettings()
    gate: GateSettings = GateSettings()
    cache: CacheSettings = CacheSettings()
    graph: GraphSettings = GraphSettings()
    retention: RetentionSettings = RetentionSettings()
    sources: SourceSettings = SourceSettings()
    llm: LlmSettings = LlmSettings()
    vllm: VllmSettings = VllmSettings()
    models: ModelsSettings = ModelsSettings()
    agents: AgentSettings = AgentSettings()
    memory: MemorySettings = MemorySettings()
    skills: SkillSettings = SkillSettings()
    sandbox: SandboxSettings = SandboxSettings()
    schedules: ScheduleSettings = ScheduleSettings()
    academy: AcademySettings = AcademySettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    audit: AuditSettings = AuditSettings()
    webhooks: WebhookSettings = WebhookSettings()
    event_stream: EventStreamSettings = EventStreamSettings()
    worker: WorkerSettings = WorkerSettings()
    ray: RaySettings = RaySettings()
    light: LightSettings = LightSettings()
