"""Multipart uploads that were begun in a bucket and never ended: their pieces stay, and no list of objects has them."""

import hashlib
import hmac
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote, urlsplit

import httpx
from lxml import etree

from cluster.basics.bounded_answers import AnswerRefused, send_bounded
from cluster.state.objects.bucket import StorageUnavailable
from configs.sections_blobs import BlobSettings

SECONDS: Final = 30.0
_PLAIN: Final = "-_.~"  # what stands for itself in an address that is signed
_EMPTY: Final = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True)
class MultipartUpload:
    """One that has not ended; `since` is when a piece came last, `size` the bytes of its pieces."""

    key: str
    upload_id: str
    since: datetime
    size: int


class MultipartUploads:
    """Those below the prefix of `blobs.url`; requests are signed (AWS Signature Version 4) with the settings' keys."""

    def __init__(self, settings: BlobSettings, client: httpx.Client, now: datetime | None = None) -> None:
        """`now`: the moment of the signatures, the present one by itself. The settings have a URL and both keys."""
        parts = urlsplit(settings.url or "")
        self._prefix = f"{parts.path.strip('/')}/" if parts.path.strip("/") else ""
        self._client, self._now, self._region = client, now, settings.region
        self._key, self._secret = settings.access_key or "", settings.secret_key or ""
        endpoint = settings.endpoint
        own = f"https://{parts.netloc}.s3.{settings.region}.amazonaws.com"
        self._base = own if endpoint is None else f"{endpoint.rstrip('/')}/{parts.netloc}"

    def list(self) -> Iterator[MultipartUpload]:
        """Every one of them. Raises StorageUnavailable."""
        markers: dict[str, str] = {}
        while True:
            page = self._ask("GET", "", {"uploads": "", "prefix": self._prefix, **markers})
            for one in page.iterfind("{*}Upload"):
                yield self._with_pieces(_text(one, "Key"), _text(one, "UploadId"), _moment(_text(one, "Initiated")))
            markers = {
                "key-marker": _text(page, "NextKeyMarker"),
                "upload-id-marker": _text(page, "NextUploadIdMarker"),
            }
            if _text(page, "IsTruncated") != "true":
                return

    def abort(self, upload: MultipartUpload) -> None:
        """Remove its pieces; one that has ended is no error. Raises StorageUnavailable."""
        self._ask("DELETE", upload.key, {"uploadId": upload.upload_id})

    def _with_pieces(self, key: str, upload_id: str, since: datetime) -> MultipartUpload:
        size, marker = 0, ""
        while True:
            page = self._ask("GET", key, {"uploadId": upload_id} | ({"part-number-marker": marker} if marker else {}))
            for piece in page.iterfind("{*}Part"):
                size += int(_text(piece, "Size") or 0)
                since = max(since, _moment(_text(piece, "LastModified")))
            marker = _text(page, "NextPartNumberMarker")
            if _text(page, "IsTruncated") != "true":
                return MultipartUpload(key, upload_id, since, size)

    def _ask(self, method: str, key: str, query: Mapping[str, str]) -> Any:
        """The answer's XML; an empty element where what is asked for is gone."""
        asked = "&".join(f"{quote(name, safe=_PLAIN)}={quote(query[name], safe=_PLAIN)}" for name in sorted(query))
        url = httpx.URL(f"{self._base}/{quote(key, safe='/' + _PLAIN)}?{asked}")
        try:
            signed = self._signature(method, url)
            answer = send_bounded(self._client, method, url, "the storage", seconds=SECONDS, headers=signed)
        except (AnswerRefused, httpx.HTTPError) as error:
            raise StorageUnavailable(f"multipart uploads cannot be listed: {error}") from error
        if answer.status_code == httpx.codes.NOT_FOUND and key:
            return etree.Element("Gone")
        if not answer.is_success:
            raise StorageUnavailable(f"multipart uploads cannot be listed: {answer.status_code} {answer.text[:200]}")
        if not answer.content:
            return etree.Element("Done")
        return etree.fromstring(answer.content, etree.XMLParser(resolve_entities=False, no_network=True))

    def _signature(self, method: str, url: httpx.URL) -> dict[str, str]:
        """Headers by AWS Signature Version 4, of a request without a body, as the S3 API reference has them."""
        now = self._now or datetime.now(UTC)
        stamp, day = f"{now:%Y%m%dT%H%M%SZ}", f"{now:%Y%m%d}"
        headers = {"host": url.netloc.decode(), "x-amz-content-sha256": _EMPTY, "x-amz-date": stamp}
        path, _, asked = url.raw_path.decode().partition("?")
        names = ";".join(sorted(headers))
        told = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
        request = "\n".join([method, path, asked, told, names, _EMPTY])
        scope = f"{day}/{self._region}/s3/aws4_request"
        signed = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(request.encode()).hexdigest()])
        key = f"AWS4{self._secret}".encode()
        for part in (day, self._region, "s3", "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        mark = hmac.digest(key, signed.encode(), "sha256").hex()
        known = f"AWS4-HMAC-SHA256 Credential={self._key}/{scope}, SignedHeaders={names}, Signature={mark}"
        return headers | {"authorization": known}


def _text(element: Any, name: str) -> str:
    return str(element.findtext(f"{{*}}{name}") or "")


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
