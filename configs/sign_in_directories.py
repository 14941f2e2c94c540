"""The directories (Active Directory, LDAP) whose people sign in with the password that they have there."""

from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from configs.section import Secret
from configs.sign_in_rules import SignInSource

LOGIN: Final = "{login}"
# Left out, these are what each kind of server has.
DEFAULTS: Final[dict[str, dict[str, str]]] = {
    "active_directory": {
        "user_filter": "(&(objectCategory=person)(objectClass=user)"
        "(|(sAMAccountName={login})(userPrincipalName={login})))",
        "group_filter": "(objectClass=group)",
        "subject_attribute": "objectGUID",
        "nested": "chain",
    },
    "openldap": {
        "user_filter": "(&(objectClass=inetOrgPerson)(|(uid={login})(mail={login})))",
        "group_filter": "(objectClass=groupOfNames)",
        "subject_attribute": "entryUUID",
        "nested": "walk",
    },
}


class Directory(SignInSource):
    """An LDAP server, or several that hold the same, tried in this order. No password leaves without TLS.

    `urls`: `ldaps://host`, or `ldap://host`, where StartTLS is demanded before anything else. `ca_file`: certificates
    (PEM) that theirs are checked against; the system's where left out. `base_dn`: below which people are looked for.

    `bind`: with `search` a service account (`service_dn`, `service_password`) finds whom `user_filter` means, and then
    they bind; with `direct` they bind at once, as `bind_name` says: `{login}@corp.example` in Active Directory, or a DN
    such as `uid={login},ou=people,dc=corp,dc=example`. In both `{login}` is what somebody has typed.

    `subject_attribute`: their lasting name. `email_attribute`: must not be theirs to write, as an account here that has
    the address becomes theirs. `groups_dn`: below which groups count, `base_dn` where left out; rules and `groups` name
    them by `cn`, or rules by the whole DN, where not everybody who may make groups there is trusted with names.
    `member_attribute`: of groups, names their members. `nested`: groups in groups are found by Active Directory's own
    matching rule (`chain`), by asking again for each level (`walk`), or do not count (`none`).

    `connect_seconds`: for one server; `answer_seconds`: for one answer; `seconds`: for a sign-in in all.
    """

    kind: Literal["active_directory", "openldap"]
    urls: Annotated[tuple[str, ...], Field(min_length=1)]
    ca_file: Path | None = None
    base_dn: Annotated[str, Field(min_length=1)]
    bind: Literal["search", "direct"] = "search"
    service_dn: str | None = None
    service_password: Secret = None
    bind_name: str | None = None
    user_filter: str
    group_filter: str
    subject_attribute: Literal["entryUUID", "objectGUID"]
    email_attribute: str = "mail"
    groups_dn: str | None = None
    member_attribute: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9-]*$")] = "member"
    nested: Literal["chain", "walk", "none"]
    groups_claim: Literal["groups"] = "groups"
    page_size: int = Field(500, ge=1, le=1000)
    connect_seconds: int = Field(5, ge=1, le=60)
    answer_seconds: int = Field(10, ge=1, le=60)
    seconds: int = Field(20, ge=1, le=120)

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: Any) -> Any:
        return {**DEFAULTS.get(str(given.get("kind")), {}), **given} if isinstance(given, dict) else given

    @field_validator("urls")
    @classmethod
    def _refuse_other_urls(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        for url in urls:
            parts = urlsplit(url)
            plain = parts.hostname and parts.path in ("", "/") and not (parts.query or parts.fragment or parts.username)
            if parts.scheme not in ("ldap", "ldaps") or not plain:
                raise ValueError("is not ldaps://host, or ldap://host, with a port if need be")
            _ = parts.port  # raises ValueError: it is no number
        return urls

    @model_validator(mode="after")
    def _refuse_half_a_bind(self) -> Self:
        if self.bind == "search" and not (self.service_dn and self.service_password):
            raise ValueError("bind: search needs service_dn and service_password")
        if self.bind == "direct" and LOGIN not in (self.bind_name or ""):
            raise ValueError("bind: direct needs bind_name with {login} in it")
        if self.bind == "search" and LOGIN not in self.user_filter:
            raise ValueError("user_filter has no {login} in it")
        return self
