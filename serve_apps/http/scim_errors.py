"""Errors in SCIM's shape (RFC 7644, section 3.12), and the paths that answer in it."""

from cluster.basics.errors import Permanent

PREFIX = "/scim/"
MEDIA_TYPE = "application/scim+json"
SCHEMA = "urn:ietf:params:scim:api:messages:2.0:Error"
_TYPES = {"name_taken": "uniqueness", "group_name_taken": "uniqueness", "unknown_member": "invalidValue"}


class ScimRequestRefused(Permanent):
    """This request is none that SCIM allows."""

    code, status = "scim_refused", 400

    def __init__(self, scim_type: str, detail: str) -> None:
        """`scim_type` is a keyword of RFC 7644, table 9; empty where none fits."""
        super().__init__(detail)
        self.scim_type = scim_type


def is_scim_path(path: str) -> bool:
    """True for a path of SCIM."""
    return path.startswith(PREFIX)


def scim_error(status: int, code: str, message: str, scim_type: str | None) -> dict[str, object]:
    """`{schemas, status, scimType, detail}`; SCIM knows no 422."""
    status = 400 if status == 422 else status
    kind = scim_type or _TYPES.get(code) or ("invalidValue" if status == 400 else None)
    body: dict[str, object] = {"schemas": [SCHEMA], "status": str(status), "detail": message}
    return body | ({"scimType": kind} if kind else {})
