"""A cluster of two nodes on one machine loses one in the middle of a job and stays page-exact."""

import asyncio
import os
import tempfile
import threading
import time
from pathlib import Path

from pipelines.documents.ingest.stages import JobStages
from tests.evals.report import Report
from tests.kill.scans import make_scans

GOAL = "a two-node mini cluster on one machine loses a node in the middle of a job and stays page-exact"


class ReadOnCluster:
    """Surveys and readings as Datasets; indexing here, with a small embedder."""

    def __init__(self, bulk: JobStages, here: JobStages) -> None:
        self.survey, self.read, self.index = bulk.survey, bulk.read, here.index


def measure(report: Report, documents: int = 10) -> None:
    """Run a job of five pages a document over two nodes, and take one away."""
    with tempfile.TemporaryDirectory(prefix="aos-2n-") as place:
        os.environ |= {  # before Ray starts: its nodes inherit it
            "AOS_STATE_DIR": f"{place}/s",
            "RAY_AUTH_MODE": "disabled",
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # every node binds loopback
            "RAY_USAGE_STATS_ENABLED": "0",
            "OCR_STRATEGY": "tesseract",
            "HF_HUB_OFFLINE": "1",
        }
        expected = make_scans(Path(place) / "scans", documents, 5)
        asyncio.run(_run(report, Path(place), expected))


async def _run(report: Report, place: Path, expected: int) -> None:
    import ray
    from ray.cluster_utils import Cluster

    from cluster.state.db import embedded
    from cluster.state.db.migrate import apply_migrations
    from cluster.state.identity.bootstrap import first_admin
    from configs.settings import load_settings
    from pipelines.worker import DatasetStages
    from tests.fakes.ledger import bench, new_workspace

    settings = load_settings()
    found = embedded.start_servers(settings)
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    lost = nodes.add_node(num_cpus=2)
    ray.init(address=nodes.address, log_to_driver=False)
    try:
        assert found.postgres_admin
        await apply_migrations(found.postgres_admin)
        await first_admin(found.postgres_admin, settings.auth)
        scope = await new_workspace(found.postgres_admin)
        async with bench(found.postgres, place) as ledger:
            ledger.stages = ReadOnCluster(DatasetStages(settings.read), ledger.here())
            await ledger.enqueue(scope, "scan", {"root": str(place / "scans"), "agent_id": None})
            threading.Thread(target=_remove, args=(nodes, lost, found.postgres_admin), daemon=True).start()
            job = await ledger.run()
            shown = await ledger.desk.show(scope, job)
            (row,) = await ledger.rows(scope, "select count(*) as n, count(distinct id) as ids from pages")
    finally:
        ray.shutdown()
        nodes.shutdown()
        embedded.stop_servers(settings.state_dir)
    whole = shown["state"] == "completed" and row["n"] == row["ids"] == expected and not lost.any_processes_alive()
    report.figure("pages after a node was lost", row["n"], reference=expected, goal=GOAL, holds=whole)


def _remove(nodes: object, lost: object, admin: str) -> None:
    """Once a fifth of the pages is done."""
    import psycopg

    with psycopg.connect(admin, autocommit=True) as connection:
        while True:
            row = connection.execute("select count(*) from units where stage = 'read' and status = 'done'").fetchone()
            if row and row[0] >= 10:
                break
            time.sleep(0.2)
    nodes.remove_node(lost, allow_graceful=False)  # type: ignore[attr-defined]
