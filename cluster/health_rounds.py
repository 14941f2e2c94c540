"""The supervisor's rounds: asks every part whether it answers, ends what hangs here, reports what is not ours."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from cluster import connect
from cluster.basics.errors import Unavailable
from cluster.deploy import APPLICATIONS
from cluster.ray_daemons.spared_daemons import serve_api_processes
from cluster.state.db.daemon import is_running
from cluster.watch.asking import LivenessCheck, LivenessState, ask_http, ask_http2, ask_process
from cluster.watch.hanging import SilenceTracker
from cluster.watch.memory import TITLES, MemoryWatch
from cluster.watch.servers import ServerProbe, ServerWatch, server_probes
from cluster.watch.standin import StandIn, count_listeners
from cluster.watch.stopped import StoppedWorkers
from configs.sections import Settings

Report = Callable[[str], None]

ROUND_SECONDS = 3.0
LIMIT_SECONDS = 3.0  # of a question
CONTROLLER_SECONDS = 6.0  # between two questions that it answers with all it knows
ABSENT_SECONDS = 25.0  # the proxy is begun anew by the controller in less
HEAD_PARTS = ("gcs", "raylet")
CONTROLLER, MANAGER = "ray::ServeController", "ray::HAProxyManager"
TITLE_CHARACTERS = 60  # of a process, in a report
DASHBOARD = "/api/version"
GCS_HEALTH = "/api/gcs_healthz"
OURS = "gateway"  # an application that is always deployed
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class LivenessProbe:
    """One to be put: `part` is told to people, `pid` is of whom we know it beforehand."""

    part: str
    put: Callable[[], LivenessCheck]
    pid: int = 0


class LivenessRounds:
    """Asks in rounds of a few seconds; knows the head's processes, so that looking costs next to nothing."""

    def __init__(
        self,
        settings: Settings,
        report: Report,
        clock: Callable[[], float] = time.monotonic,
        servers: Callable[[], Iterable[ServerProbe]] | None = None,
    ) -> None:
        """Nothing is asked yet; `servers` are the questions to servers, those of the settings where left out."""
        self._settings, self._report, self._clock = settings, report, clock
        self._probes = servers or (lambda: (*server_probes(settings), *self._of_joined()))
        self._servers = ServerWatch(report, clock)
        self._state = settings.state_dir
        self._silences = SilenceTracker(clock)
        self._stopped = StoppedWorkers()
        self._memory = MemoryWatch(
            settings.ray.memory_high, lambda: connect.processes_by_title(self._state, *TITLES), report, clock
        )
        self.stand_in = StandIn(settings.http.host, settings.http.port)
        self._head: dict[str, psutil.Process] = {}
        self._ports: dict[int, list[int]] = {}
        self._next = self._next_controller = 0.0
        self._absent_since: float | None = None
        self._pool = ThreadPoolExecutor(8, thread_name_prefix="asking")

    def lost(self) -> str:
        """A server, or the part of Ray's head, that is missing or was ended now because it hangs; empty: all is well.

        Whatever else hangs is ended here, too, and comes back by itself: Serve replaces it. Of a joined cluster it is
        our applications that may be lost.
        """
        is_joined = self._settings.ray.address is not None
        gone = "" if is_joined else self._missing_head()
        if not is_joined and not gone:
            self._memory.look()
        if self._clock() < self._next:
            return gone
        self._next = self._clock() + ROUND_SECONDS
        servers = list(self._probes())
        questions = [] if is_joined or gone else [*self._of_head(), *self._of_processes(), self._of_proxy()]
        if questions:
            self._end_stopped()
        if questions and self._clock() >= self._next_controller:
            questions += self._of_serve()
            self._next_controller = self._clock() + CONTROLLER_SECONDS
        replies = list(self._pool.map(lambda one: one.put(), [*servers, *questions]))
        for probe, asked in zip(servers, replies, strict=False):
            gone = self._servers.judge_reply(probe, asked) or gone
        rest = dict(zip(questions, replies[len(servers) :], strict=True))
        return gone or (self._judge_replies(rest) if rest else "")

    @property
    def away(self) -> str:
        """The servers that are not ours and do not answer, and why; empty where all do."""
        return "; ".join(f"{part} does not answer: {why}" for part, why in self._servers.away.items())

    @property
    def postgres_answers(self) -> bool:
        """False where it left the last question unanswered: whoever asks it something else would wait, too."""
        return not any("postgres" in part for part in self._servers.unanswered)

    def close(self) -> None:
        """Nobody asks any more."""
        self.stand_in.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _missing_head(self) -> str:
        if not all(map(is_running, self._head.values())) or not self._head:
            self._head = connect.head_processes(self._state)
            self._ports.clear()
        return "ray" if connect.HEAD - set(self._head) else ""

    def _of_head(self) -> Iterable[LivenessProbe]:
        """GCS at its port; the raylet at the ports it opened, of which one or the other speaks gRPC."""
        gcs, raylet = self._head["gcs_server"].pid, self._head["raylet"].pid
        port = self._settings.ray.gcs_port
        yield LivenessProbe("gcs", lambda: ask_http2(LOOPBACK, port, LIMIT_SECONDS), gcs)
        yield LivenessProbe("raylet", lambda: self._asked_raylet(raylet), raylet)

    def _asked_raylet(self, pid: int) -> LivenessCheck:
        """A raylet that closes the connection is one that runs: only silence counts."""
        if pid not in self._ports:
            with suppress(psutil.Error):
                sockets = psutil.Process(pid).net_connections("tcp")
                self._ports[pid] = [one.laddr.port for one in sockets if one.status == psutil.CONN_LISTEN]
        for port in self._ports.get(pid, []):
            asked = ask_http2(LOOPBACK, port, LIMIT_SECONDS)
            if asked.reply is LivenessState.ANSWERED:
                self._ports[pid] = [port]
            if asked.reply is not LivenessState.GONE:
                return asked
        return LivenessCheck(LivenessState.GONE)

    def _of_processes(self) -> Iterable[LivenessProbe]:
        """Replicas and readers, each at its own socket."""
        for path in self._sockets():
            yield LivenessProbe(path.stem, lambda path=path: _ask_socket(path))  # type: ignore[misc]

    def _sockets(self) -> Iterable[Path]:
        return connect.liveness_folder(self._state).glob("*.sock")

    def _end_stopped(self) -> None:
        """Workers that nobody can ask; the controller is judged by what the dashboard is told."""
        asked = {int(number) for path in self._sockets() if (number := path.stem.rpartition("-")[2]).isdecimal()}
        for process in self._stopped.look(self._head["raylet"].pid, asked):
            with suppress(psutil.NoSuchProcess):
                if not (title := " ".join(process.cmdline())).startswith(CONTROLLER):
                    self._end_processes(f"stopped worker of Ray {title[:TITLE_CHARACTERS]}", [process.pid])

    def _of_proxy(self) -> LivenessProbe:
        port = self._settings.http.port
        return LivenessProbe("proxy", lambda: ask_http(self._probe_host(), port, "/-/healthz", LIMIT_SECONDS))

    def _of_serve(self) -> Iterable[LivenessProbe]:
        """The controller by way of Ray's dashboard, which has to answer for itself first."""
        port = self._settings.ray.dashboard_port
        headers = connect.ray_dashboard(self._settings).headers
        for part, path in (("dashboard", DASHBOARD), ("controller", APPLICATIONS)):
            yield LivenessProbe(part, lambda path=path: ask_http(LOOPBACK, port, path, LIMIT_SECONDS, headers))  # type: ignore[misc]

    def _of_joined(self) -> Iterable[ServerProbe]:
        """GCS and Serve's controller of a joined cluster, by way of its dashboard; none of it is ours to end."""
        if self._settings.ray.address is not None and self._clock() >= self._next_controller:
            self._next_controller = self._clock() + CONTROLLER_SECONDS
            yield ServerProbe("the GCS of the joined Ray cluster", self._ask_joined_gcs)
            yield ServerProbe("Serve on the joined Ray cluster", self._ask_joined_serve)

    def _ask_joined_gcs(self) -> LivenessCheck:
        ray = connect.ray_dashboard(self._settings)
        url = urlsplit(ray.url)
        asked = ask_http(url.hostname or "", url.port or 0, GCS_HEALTH, LIMIT_SECONDS, ray.headers)
        if asked.reply is LivenessState.ANSWERED and asked.status != HTTPStatus.OK:
            return LivenessCheck(LivenessState.GONE, why=f"the dashboard answers {asked.status}")
        return asked

    def _ask_joined_serve(self) -> LivenessCheck:
        """UNREADY where our applications are not there: the cluster was begun anew."""
        ray = connect.ray_dashboard(self._settings)
        try:
            is_deployed = ray.get(APPLICATIONS, lambda body: OURS in body["applications"], LIMIT_SECONDS)
        except Unavailable as error:
            return LivenessCheck(LivenessState.GONE, why=str(error))
        return LivenessCheck(LivenessState.ANSWERED if is_deployed else LivenessState.UNREADY)

    def _judge_replies(self, replies: dict[LivenessProbe, LivenessCheck]) -> str:
        """End what hangs; what of the head is lost by that."""
        by_part = {question.part: asked.reply for question, asked in replies.items()}
        for question, asked in replies.items():
            if question.part in ("proxy", "controller", "dashboard"):
                continue
            pid = asked.pid or question.pid
            if asked.reply is not LivenessState.SILENT:
                self._silences.answered(question.part, pid)
            elif self._silences.hangs(question.part, pid):
                self._end_processes(question.part, [pid])
                if question.part in HEAD_PARTS:
                    self._head.clear()
                    return question.part
            elif question.part in HEAD_PARTS:
                self._next = 0.0  # all of Ray is away with it: the second question follows at once
        self._judge_dashboard(by_part)
        self._judge_controller(by_part)
        self._judge_proxy(by_part["proxy"])
        return ""

    def _judge_dashboard(self, by_part: dict[str, LivenessState]) -> None:
        """Who answers in its place is ours, and nobody else begins it anew."""
        if "dashboard" not in by_part or self._settings.ray.dashboard != "api":
            return
        running = serve_api_processes(connect.ray_folder(self._state))
        pid = running[0].pid if running else 0
        if by_part["dashboard"] is LivenessState.SILENT:
            self._next_controller = 0.0  # the second question follows at once
            if self._silences.hangs("dashboard", pid):
                self._end_processes("dashboard", [process.pid for process in running])
            return
        self._silences.answered("dashboard", pid)
        if by_part["dashboard"] is LivenessState.GONE and connect.begin_missing_api(self._settings):
            self._report("the dashboard is away: begun anew")

    def _judge_controller(self, by_part: dict[str, LivenessState]) -> None:
        if "controller" not in by_part:
            return
        if by_part["controller"] is not LivenessState.SILENT:
            self._silences.answered("controller")
            return
        if LivenessState.SILENT in (by_part["dashboard"], by_part["gcs"]):
            return  # it was not asked at all
        self._next_controller = 0.0  # the second question follows at once
        pids = [process.pid for process in connect.processes_by_title(self._state, CONTROLLER)]
        if self._silences.hangs("controller", pids[0] if pids else 0):
            self._silences.answered("controller", pids[0] if pids else 0)
            self._end_processes("controller", pids)

    def _judge_proxy(self, reply: LivenessState) -> None:
        """While it is away somebody else answers; the controller begins it anew, and is helped where it does not."""
        if self.stand_in.is_open:
            if count_listeners(self._settings.http.port) > 1:
                self.stand_in.close()
                self._absent_since = None
                self._report("the proxy is back")
        elif reply is LivenessState.ANSWERED:
            self._silences.answered("proxy")
            self._absent_since = None
            return
        elif reply is LivenessState.SILENT:
            running = connect.proxy_processes(self._state)
            if self._silences.hangs("proxy", running[0].pid if running else 0):
                self._end_processes("proxy", [process.pid for process in running])
                self._silences.answered("proxy", running[0].pid if running else 0)
        elif self.stand_in.open():
            self._report("the proxy is away: clients are told to come back")
        if reply is LivenessState.GONE or self.stand_in.is_open:
            self._absent_since = self._absent_since or self._clock()
            if self._clock() - self._absent_since > ABSENT_SECONDS:
                self._absent_since = None
                managers = connect.processes_by_title(self._state, MANAGER)
                self._end_processes("proxy's manager", [process.pid for process in managers])

    def _end_processes(self, part: str, pids: Iterable[int]) -> None:
        for pid in pids:
            self._report(f"{part} (process {pid}) does not answer: it is ended, to be begun anew")
            with suppress(psutil.NoSuchProcess):
                psutil.Process(pid).kill()

    def _probe_host(self) -> str:
        host = self._settings.http.host
        return LOOPBACK if host in ("0.0.0.0", "::", "") else host


def _ask_socket(path: Path) -> LivenessCheck:
    asked = ask_process(path, LIMIT_SECONDS)
    if asked.reply is LivenessState.GONE:
        path.unlink(missing_ok=True)  # its process has ended
    return asked
