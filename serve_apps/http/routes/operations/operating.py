"""Dependencies of the operator routes: settings, restarts, metrics, and the cluster, which comes from outside."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from cluster.console.findings import Finding
from cluster.state.process_services import Upkeep
from cluster.state.settings.restart_requests import Restarts
from cluster.state.system import System
from configs.sections import Settings

THREADS = 8
Answer = TypeVar("Answer")
Probe = Callable[[], Sequence[Finding]]


@dataclass(frozen=True, slots=True)
class Deployment:
    """One Serve deployment.

    Attributes:
        status: of its application, such as RUNNING.
        running, wanted: replicas.
        queued, ongoing: requests that wait for a replica, and that replicas work on; None where Ray does not tell.
    """

    application: str
    name: str
    status: str
    message: str
    running: int
    wanted: int
    queued: int | None = None
    ongoing: int | None = None


class Cluster(Protocol):
    """Port to the cluster that the gateway runs on. Its calls block, and are made in threads."""

    def check(self, settings: Settings) -> None:
        """Check that this configuration could be deployed.

        Raises:
            InvalidSettings: it could not; the detail says why.
        """
        ...

    def probes(self) -> Mapping[str, Probe]:
        """Health probes by the name of the part."""
        ...

    def deployments(self) -> Sequence[Deployment]:
        """Every Serve deployment.

        Raises:
            Unavailable: Ray does not answer.
        """
        ...


class NoCluster:
    """A `Cluster` for an API that runs by itself: nothing is below it."""

    def check(self, settings: Settings) -> None:
        """See `Cluster`."""

    def probes(self) -> Mapping[str, Probe]:
        """See `Cluster`."""
        return {}

    def deployments(self) -> Sequence[Deployment]:
        """See `Cluster`."""
        return ()


@dataclass(frozen=True, slots=True)
class Operating:
    """Attributes:
    upkeep: this process' figures and settings.
    restarts: those that were asked for.
    system: counts over everything.
    cluster: what is below.
    threads: where its calls block; a few of their own, so that a part that hangs holds up nobody else's work.
    """

    upkeep: Upkeep
    restarts: Restarts
    system: System
    cluster: Cluster
    threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(THREADS, "probe"))

    async def blocking(self, call: Callable[[], Answer]) -> Answer:
        """Run a blocking call of the cluster in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, call)
