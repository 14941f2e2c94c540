"""The settings of what a language model may look at while documents are read."""

from pydantic import Field

from configs.section import Section


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
