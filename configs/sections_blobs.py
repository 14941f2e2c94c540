"""Settings of the bytes of documents: where they are kept, and how uploads in parts run."""

from urllib.parse import urlsplit

from pydantic import Field, field_validator

from configs.section import Secret, Section


class BlobSettings(Section):
    """Where uploaded bytes are kept: in a folder below `state_dir`, or in S3-compatible storage.

    `url`: `s3://bucket/prefix`; without it the folder. `endpoint`: of a storage that is not Amazon's, such as
    `https://minio.corp:9000`. Without keys the standard AWS chain is asked: its variables, then the machine's role.
    `public_endpoint`: where browsers and clients reach the storage, for the addresses that are signed for them; without
    it that is `endpoint`. `cache_bytes`: of local copies that readers need, below `state_dir`; what is in use stays
    beyond it.
    """

    url: str | None = None
    endpoint: str | None = None
    public_endpoint: str | None = None
    region: str = "us-east-1"
    access_key: Secret = None
    secret_key: Secret = None
    cache_bytes: int = Field(5 * 2**30, ge=1)

    @field_validator("url")
    @classmethod
    def _refuse_other_schemes(cls, value: str | None) -> str | None:
        if not value:
            return None
        parts = urlsplit(value)
        if parts.scheme != "s3" or not parts.netloc or "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError(f"{value!r} is not of the form s3://bucket/prefix")
        if any(part in (".", "..") for part in parts.path.split("/")):
            raise ValueError(f"{value!r} has a prefix that is no name")
        return value.rstrip("/")


class UploadSettings(Section):
    """Uploads in parts, which go on after a cut.

    `part_bytes`: of one part; of a file with more than 10,000 of these they are larger. `max_bytes`: of a file.
    `session_seconds`: an upload is forgotten when nothing came for so long; signed addresses are good for an hour at
    most, and signed anew when they are asked for. `sessions`: so many at a time for one person. `sweep_seconds`:
    between two looks for what has run out. `renew_seconds`: whoever puts a file together says so often that they are
    still at it; after two minutes of silence others may.
    """

    part_bytes: int = Field(5 * 2**20, ge=1)
    max_bytes: int = Field(100 * 2**30, ge=1)
    session_seconds: int = Field(3 * 86_400, ge=1, le=7 * 86_400)
    sessions: int = Field(20, ge=1)
    sweep_seconds: float = Field(60, gt=0)
    renew_seconds: float = Field(20, gt=0, le=60)
