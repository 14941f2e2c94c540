"""Settings of the front door: where the gateway is reached, by whom it is believed, and what a request may take."""

from ipaddress import ip_network
from pathlib import Path
from typing import Self

from pydantic import Field, field_validator, model_validator

from configs.section import Section


class HttpSettings(Section):
    """The gateway's address, and its limits on requests.

    `proxies`: addresses and networks of reverse proxies in front of it, whose X-Forwarded-For and X-Forwarded-Proto are
    believed; from everybody else they are replaced. `head_seconds`: in which the head of a request has to be there.
    `connections_per_address`: at a time; this machine's own addresses and the proxies are not counted.
    `search_seconds`: a search that would wait longer for its answer is refused (429), and told when to come back.
    `ask_seconds`: the same of an answer from the documents, which a language model may write.
    `tls_certificate`: a PEM file with the chain, by which the product is also reached at `tls_host` and `tls_port`,
    encrypted; `tls_key` is its key, where that stands elsewhere. Plain HTTP stays where `host` says. `hsts_days`: for
    so long browsers that came encrypted come back so alone; 0 says nothing of it.
    """

    host: str = "127.0.0.1"
    port: int = Field(8000, ge=1, le=65535)
    max_upload_bytes: int = Field(50 * 2**20, ge=1)
    max_body_bytes: int = Field(2 * 2**20, ge=1)
    cors_origins: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    head_seconds: int = Field(10, ge=1, le=600)
    connections_per_address: int = Field(512, ge=1)
    search_seconds: float = Field(10, gt=0)
    ask_seconds: float = Field(60, gt=0)
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    tls_host: str = "0.0.0.0"
    tls_port: int = Field(8443, ge=1, le=65535)
    hsts_days: int = Field(365, ge=0, le=3650)

    @model_validator(mode="after")
    def _refuse_key_alone(self) -> Self:
        if self.tls_key is not None and self.tls_certificate is None:
            raise ValueError("tls_key is of no use without tls_certificate")
        return self

    @field_validator("proxies")
    @classmethod
    def _refuse_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for entry in value:
            try:
                ip_network(entry, strict=False)
            except ValueError:
                raise ValueError(f"{entry!r} is neither an address nor a network such as 10.0.0.0/24") from None
        return value
