"""Errors of a cloud, by name: never the library's own text, which quotes addresses and what was sent."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from keystoneauth1 import exceptions as login
from openstack import exceptions as sdk
from requests import RequestException

from cluster.basics.errors import AosError, Conflict, Permanent, Transient, Unavailable
from skills.framework.contract import OutcomeUnknown
from skills.http_client.http_answer import ServiceBusy, ServiceFailed, ServiceGarbled, ServiceNotFound, ServiceRefused

MOST_SAID = 400  # characters of what a cloud says of a failure
_QUOTA = re.compile(r"quota|over ?limit", re.IGNORECASE)


class CloudLoginRefused(Permanent):
    """Keystone does not know this user with this password, or this application credential."""

    code, status = "openstack_login_refused", 502
    fix = "Check username, password, project_name and both domains of the credential, or make a new application one."


class CloudForbidden(Permanent):
    """The cloud lets this credential in, but not to this."""

    code, status = "openstack_forbidden", 403
    fix = "The user needs another role in the project; the cloud's administrator assigns it."


class CloudQuotaExceeded(Permanent):
    """The project's quota does not allow it."""

    code, status = "openstack_quota_exceeded", 409
    fix = "See openstack_quota_usage; delete what is not needed, or have the quota raised."


class CloudConflict(Conflict):
    """The object is in a state that does not allow it, or is used by something else."""

    code = "openstack_conflict"


class CloudAmbiguous(Conflict):
    """Several objects are called so."""

    code = "openstack_ambiguous"
    fix = "Give the id in the place of the name."


class CloudServiceMissing(Permanent):
    """The cloud's catalogue has no such service."""

    code, status = "openstack_service_missing", 404
    fix = "Check region_name of the credential; openstack_keystone_auth lists what the catalogue has."


class CloudTimeout(Transient):
    """The cloud did not answer in time."""

    code, status = "openstack_timeout", 504


_BY_STATUS: dict[int, type[AosError]] = {
    400: ServiceRefused,
    401: CloudLoginRefused,
    403: CloudForbidden,
    404: ServiceNotFound,
    409: CloudConflict,
    410: ServiceNotFound,
    412: CloudConflict,
    413: CloudQuotaExceeded,
    429: ServiceBusy,
}


@contextmanager
def name_failures(changed: "PendingChange") -> Iterator[None]:
    """Around calls of the SDK: what it throws becomes an error with a name and without secrets.

    Raises AosError: one of those above, or of `http_answer`; OutcomeUnknown if something may have been done.
    """
    try:
        yield
    except AosError as error:
        if not changed.open or isinstance(error, OutcomeUnknown):
            raise
        # The wire did not take the answer to what changes something: too large, packed, or one that sends elsewhere.
        raise OutcomeUnknown(error.detail or error.title) from None
    except (sdk.SDKException, login.ClientException, RequestException) as error:
        raise _failure_of(error, changed.open) from None


@dataclass(slots=True)
class PendingChange:
    """Flag for a changing request that has gone out and has no answer yet."""

    open: bool = False


def _failure_of(error: Exception, changed: bool) -> AosError:
    if isinstance(error, sdk.DuplicateResource | sdk.InvalidResourceQuery):
        return CloudAmbiguous()
    if isinstance(error, login.CatalogException | sdk.EndpointNotFound | sdk.ConfigException | sdk.NotSupported):
        return CloudServiceMissing()
    status = getattr(error, "status_code", None) or getattr(error, "http_status", None)
    if isinstance(status, int) and status >= 400:
        return _by_status(status, error, changed)
    if isinstance(error, sdk.NotFoundException):  # by a name: the SDK says it of a list
        return ServiceNotFound(error.message[:MOST_SAID])
    if isinstance(error, ValueError):
        return ServiceGarbled("the cloud's answer is no JSON")
    if isinstance(error, login.ConnectTimeout):
        return OutcomeUnknown("the cloud did not answer in time") if changed else CloudTimeout()
    if isinstance(error, login.ConnectionError | RequestException):
        detail = f"the cloud cannot be reached: {type(error).__name__}"
        return OutcomeUnknown(detail) if changed else Unavailable(detail)
    if isinstance(error, login.DiscoveryFailure | login.AuthPluginException | login.AuthorizationFailure):
        return ServiceGarbled("what answers at auth_url is no Keystone v3")
    return ServiceGarbled(f"the cloud's answer has another form: {type(error).__name__}")


def _by_status(status: int, error: Exception, changed: bool) -> AosError:
    said = _error_text(error)
    detail = f"{status}: {said}" if said else str(status)
    if status in (403, 409, 413) and _QUOTA.search(said):
        return CloudQuotaExceeded(detail)
    if status in _BY_STATUS:
        return _BY_STATUS[status](detail)
    if status >= 500:
        # 501 and 503 are said before anything is done; of the others nobody knows.
        return OutcomeUnknown(detail) if changed and status not in (501, 503) else ServiceFailed(detail)
    return ServiceRefused(detail)


def _error_text(error: Exception) -> str:
    text = getattr(error, "details", None) or (error.message if isinstance(error, login.HttpError) else "")
    return " ".join(str(text or "").split())[:MOST_SAID]
