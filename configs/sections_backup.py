"""Settings of backups: where they go, and the passphrase that files of secrets are wrapped with."""

from pathlib import Path

from pydantic import Field, field_validator

from configs.section import Section


class BackupSettings(Section):
    """Where `aos backup` writes to and `aos restore` reads from, unless a command names another place.

    `url`: an absolute folder, or `s3://bucket/prefix` with the endpoint and keys of `blobs`. `passphrase_file`: without
    it the files of secrets (vault, sign-in and receipts) are left out, and have to be kept elsewhere. With a `url` the
    supervisor ships the log all the time and makes a backup `every_hours`, a full one a week; after each it removes
    what is older than the last `keep_full` full ones and than `keep_days`. All that lies there is compared with its
    hashes every `verify_days`, daily while something is wrong; 0: never.
    """

    url: str | None = None
    passphrase_file: Path | None = None
    every_hours: float = Field(24, gt=0)
    keep_full: int = Field(5, ge=1)
    keep_days: float = Field(30, ge=0)
    verify_days: float = Field(7, ge=0)

    @field_validator("url")
    @classmethod
    def _refuse_other_places(cls, value: str | None) -> str | None:
        if not value:
            return None
        if not value.startswith(("s3://", "/")):
            raise ValueError(f"{value!r} is neither an absolute folder nor of the form s3://bucket/prefix")
        return value
