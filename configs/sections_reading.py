"""The settings of reading: what a file may cost, how scans are read, what a model may look at meanwhile."""

from typing import Annotated, Literal

from pydantic import Field

from configs.section import Gpu, Section


class VisionSettings(Section):
    """A multimodal model that looks at pages which OCR reads badly. Off, and nothing leaves, until one is named.

    `connection`: id or name of a connection whose model takes pictures (configs/models.yaml, POST
    /api/llm-connections). It is asked about pages whose mean confidence is below `below`, or, with OCR_STRATEGY=vision,
    about every page that OCR read. `pages_per_job`, and `pages_per_day` for a workspace: pages that it may be asked
    about. `max_pixels`: of a picture as it is sent. `seconds`: for one answer; after `failures` in a row it is left
    alone for `rest_seconds`.
    """

    connection: str | None = None
    below: float = Field(0.60, ge=0, le=1)
    pages_per_job: int = Field(500, ge=0)
    pages_per_day: int = Field(2_000, ge=0)
    max_pixels: int = Field(1_500_000, ge=50_000)
    seconds: float = Field(60, gt=0)
    failures: int = Field(3, ge=1)
    rest_seconds: float = Field(300, gt=0)


class OcrSettings(Section):
    """OCR of scanned pages and pictures.

    `languages`: `auto` tells script and language of each page and reads it with what is installed for them, or else
    with PP-OCR; a page in others is marked `language_missing` (`aos languages list`). Names beside it are tried first
    (`auto,deu`); without it scans are in these, by Tesseract's names, the likeliest first. `tesseract_data`: a folder
    of .traineddata that comes before the program's own. `memory_bytes`: data that one engine's process may hold.
    `engine_seconds`: CPU that the OCR of one page or picture may cost, by all its engines.
    `gpu`: `auto` runs EasyOCR on the part of a GPU that Ray gives to who reads (ray.num_gpus); true insists.
    """

    strategy: Literal["cascade", "tesseract", "paddle", "easyocr", "vision"] = "cascade"
    dpi: int = Field(300, ge=72, le=1200)
    confidence_threshold: float = Field(0.60, ge=0, le=1)
    languages: tuple[str, ...] = ("auto",)
    tesseract_data: str | None = None
    psm: int = Field(3, ge=0, le=13)
    engine_seconds: float = Field(120, gt=0)
    max_pixels: int = Field(120_000_000, ge=1)
    easyocr_max_lines: int = Field(12, ge=0)
    easyocr_models: str | None = None
    memory_bytes: int = Field(4 * 2**30, ge=256 * 2**20)
    gpu: Gpu = "auto"


class ReadSettings(Section):
    """Limits on what a file may cost, and how many pages travel together.

    A file is opened and read by a process of its own. `memory_bytes` is the data that this may hold (for pictures,
    whose pixels are counted before, and for the OCR engines, which are processes of their own, it is
    ocr.memory_bytes). `cpu_seconds` is what opening a file, or reading one page, may cost; `open_seconds` and
    `page_seconds` say for how long the same may wait by the clock, without using CPU. `max_pages` is of one file,
    `tenant_pages` what all files of a tenant may have together. A file beyond a limit becomes a document with its
    reason: bomb, timeout or too_large. Of an archive, or a letter with attachments, `archive_members` files at most
    become documents, containers within it among them down to `archive_depth`; all unpack to `max_unpacked_bytes`.

    `readers`: how many processes read a bulk job's pages at once; `auto` takes the CPUs (each `reader_cpus`) and GPUs
    that are free in the cluster when a batch begins, more while it runs where an autoscaler adds nodes, and on one
    machine no more than it has cores; workers that are at bulk work at the same time share them. A batch has at least
    `batch_pages`, and as many as keep them busy for minutes. A folder of more than `partition_files` is worked at by
    all workers that are free: each claims so many files, reads and indexes them under a lease of its own.

    `rest_seconds`: the process of a reader that has read nothing for so long ends, with all that it has loaded.

    `idle`: bulk jobs get a core only while nobody else wants it, so that nobody waits for them. `floor`: the share of
    this machine that they have even if others want all of it, at most what one reader can use: it runs in pulses of
    some milliseconds, so that questions hardly notice. 0 for none.
    """

    nfs_base_path: str | None = None
    min_useful_text: int = Field(50, ge=0)
    part_chars: int = Field(20_000, ge=1_000)
    max_file_bytes: int = Field(2 * 2**30, ge=1)
    max_unpacked_bytes: int = Field(1 * 2**30, ge=1)
    archive_members: int = Field(5_000, ge=1)
    archive_depth: int = Field(3, ge=0)
    max_pages: int = Field(20_000, ge=1)
    tenant_pages: int = Field(5_000_000, ge=1)
    memory_bytes: int = Field(1 * 2**30, ge=256 * 2**20)
    cpu_seconds: float = Field(60, gt=0)
    page_seconds: float = Field(180, gt=0)
    open_seconds: float = Field(120, gt=0)
    batch_pages: int = Field(200, ge=1)
    small_pages: int = Field(20, ge=1)
    partition_files: int = Field(2_000, ge=1)
    max_attempts: int = Field(3, ge=1)
    readers: Literal["auto"] | Annotated[int, Field(ge=1)] = "auto"
    reader_cpus: float = Field(0.9, gt=0)
    rest_seconds: float = Field(300, gt=0)
    idle: bool = True
    floor: float = Field(0.1, ge=0, le=0.5)
