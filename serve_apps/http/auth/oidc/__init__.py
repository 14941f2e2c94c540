"""Sign-in by OpenID providers: authorisation code with PKCE, and what people get by their claims."""
