"""Dependencies of the operator routes: settings, restarts, metrics, and the cluster, which comes from outside."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from cluster.console.findings import HealthFinding
from cluster.state.process_services import ProcessServices
from cluster.state.settings.restart_requests import RestartRequests
from cluster.state.system import SystemQueries
from configs.sections import Settings

THREADS = 8
Answer = TypeVar("Answer")
Probe = Callable[[], Sequence[HealthFinding]]


@dataclass(frozen=True, slots=True)
class ServeDeployment:
    """One Serve deployment.

    `queued` requests wait for a replica, `ongoing` are those that replicas work on; None where Ray does not tell.
    """

    application: str
    name: str
    status: str  # of its application, such as RUNNING
    message: str
    running: int  # replicas
    wanted: int  # replicas
    queued: int | None = None
    ongoing: int | None = None


class ClusterView(Protocol):
    """Port to the cluster that the gateway runs on. Its calls block, and are made in threads."""

    def check(self, settings: Settings) -> None:
        """Check that this configuration could be deployed.

        Raises InvalidSettings: it could not; the detail says why.
        """
        ...

    def probes(self) -> Mapping[str, Probe]:
        """Health probes by the name of the part."""
        ...

    def deployments(self) -> Sequence[ServeDeployment]:
        """Every Serve deployment. Raises Unavailable: Ray does not answer."""
        ...


class NoCluster:
    """A `ClusterView` for an API that runs by itself: nothing is below it."""

    def check(self, settings: Settings) -> None:
        """See `ClusterView`."""

    def probes(self) -> Mapping[str, Probe]:
        """See `ClusterView`."""
        return {}

    def deployments(self) -> Sequence[ServeDeployment]:
        """See `ClusterView`."""
        return ()


@dataclass(frozen=True, slots=True)
class OperatorDependencies:
    """Parts of the operator routes; calls that block have a few `threads` of their own, and hold up nobody's work."""

    upkeep: ProcessServices
    restarts: RestartRequests
    system: SystemQueries
    cluster: ClusterView
    threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(THREADS, "probe"))

    async def blocking(self, call: Callable[[], Answer]) -> Answer:
        """Run a blocking call of the cluster in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, call)
