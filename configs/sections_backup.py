"""Settings of backups: where they go, how often, and the passphrase that the vault's key is wrapped with."""

from pathlib import Path

from pydantic import Field, field_validator

from configs.section import Section


class BackupSettings(Section):
    """Where backups and the write-ahead log go all the time; without `url` none are made by themselves.

    `url`: an absolute folder, or `s3://bucket/prefix` with the endpoint and keys of `blobs`. `every_hours`: between two
    backups that the supervisor makes, one full a week. `passphrase_file`: without it the files of secrets (vault, sign-in
    and receipts) are left out, and have to be kept elsewhere. `ship_seconds`: between two looks for new log and new bytes.
    """

    url: str | None = None
    every_hours: float = Field(24, gt=0)
    passphrase_file: Path | None = None
    ship_seconds: float = Field(15, gt=0, le=60)

    @field_validator("url")
    @classmethod
    def _refuse_other_places(cls, value: str | None) -> str | None:
        if not value:
            return None
        if not value.startswith(("s3://", "/")):
            raise ValueError(f"{value!r} is neither an absolute folder nor of the form s3://bucket/prefix")
        return value
