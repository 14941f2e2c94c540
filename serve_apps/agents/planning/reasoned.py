"""The reply of a reasoning step."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Reasoned(BaseModel):
    """An answer, how it came about, and whether what was there sufficed for it."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)
    answer: str = Field(min_length=1)
    steps: list[str] = []
    context_adequacy: Literal["sufficient", "insufficient"]
    confidence: float = Field(0.9, ge=0, le=1)
