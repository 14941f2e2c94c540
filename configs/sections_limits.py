"""Settings of the rate limits that hold where no rule of a tenant says otherwise."""

from pydantic import Field

from configs.section import Section


class LimitSettings(Section):
    """Requests a minute of one caller, a person or an API key; 0 for no limit. Rules of a tenant come before these.

    `requests` are changes and questions, `reads` what only reads, `chat` messages to agents and asked questions,
    `agents` changes of agents and their batch route, `admin_api` changes by administrators, `admin` changes of the
    whole system, `uploads` files. `sign_in` are requests of one address (of IPv6 a /64) for which nobody is signed in,
    but for this machine's own and `http.proxies`. Health, metrics, event streams and rules of limits are not counted;
    of streams a caller may have `streams` at a time.

    `tenant_requests`: requests a minute of a whole tenant, whatever its rules say; 0 for no such ceiling.
    `wait_seconds`: so long Redis is waited for, and left alone for a second where it is away; each process counts for
    itself meanwhile. `cache_seconds`: so old may rules be that a replica knows. `lease_seconds`: after so long a
    stream whose process was killed is not counted any more.
    """

    enabled: bool = True
    requests: int = Field(60, ge=0)
    reads: int = Field(1200, ge=0)
    chat: int = Field(30, ge=0)
    agents: int = Field(20, ge=0)
    admin_api: int = Field(30, ge=0)
    admin: int = Field(10, ge=0)
    uploads: int = Field(0, ge=0)
    sign_in: int = Field(120, ge=0)
    streams: int = Field(64, ge=0)
    tenant_requests: int = Field(0, ge=0)
    wait_seconds: float = Field(0.25, gt=0, le=5)
    cache_seconds: float = Field(3, gt=0, le=5)
    lease_seconds: float = Field(30, ge=1, le=600)
