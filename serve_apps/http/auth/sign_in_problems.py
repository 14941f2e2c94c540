"""Reasons for which a sign-in by a provider is refused."""

from cluster.basics.errors import Invalid, NotFound, Transient, Unauthenticated


class UnknownProvider(NotFound):
    """There is no such provider."""

    code = "unknown_provider"
    fix = "GET /api/auth/providers lists them; auth.providers_file declares them."


class SignInRefused(Unauthenticated):
    """The provider's answer was not accepted."""

    code = "sign_in_refused"
    fix = "Begin again; if it comes back, the audit trail says why (GET /api/audit?action=session.begin)."


class LogoutRefused(Invalid):
    """This is no logout token of the provider's."""

    code = "logout_refused"
    status = 400
    fix = "Have the provider send one as OpenID Connect Back-Channel Logout 1.0 describes it, for this client."


class ProviderUnavailable(Transient):
    """The provider could not be asked."""

    code = "provider_unavailable"
    status = 503
    fix = "Try again, or sign in with a password; the log says what was wrong."
