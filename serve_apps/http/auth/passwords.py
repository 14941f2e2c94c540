"""Passwords: hashed by Argon2id away from the event loop, a few at a time."""

import asyncio
import secrets

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError


class BoundedPasswordHasher:
    """At most a few hashes at a time: each costs 64 MiB.

    Attributes:
        nobodys: hash of a password that nobody knows, for accounts without one.
    """

    def __init__(self, hasher: PasswordHasher, at_once: int = 2) -> None:
        """`hasher` decides the cost."""
        self._hasher = hasher
        self._turns = asyncio.Semaphore(at_once)
        self.nobodys = hasher.hash(secrets.token_hex(16))

    async def hash(self, password: str) -> str:
        """An encoded Argon2id hash."""
        async with self._turns:
            return await asyncio.to_thread(self._hasher.hash, password)

    async def holds(self, stored: str | None, password: str) -> bool:
        """True if the password matches the hash; for no user (None) it takes as long and is false."""
        async with self._turns:
            same = await asyncio.to_thread(self._verify_hash, stored or self.nobodys, password)
        return same and stored is not None

    def _verify_hash(self, stored: str, password: str) -> bool:
        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False
