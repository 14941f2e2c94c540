"""What each process of the product begins with: who needs no torch and no pandas imports none."""

import subprocess
import sys

import pytest

ASK = "import sys; print(sorted({name.partition('.')[0] for name in sys.modules} & set(%r)))"
NUMPY = """
import asyncio
from cluster.models.embedding.embedders import open_embedder
from configs.sections_retrieval import EmbeddingSettings
vectors = asyncio.run(open_embedder(EmbeddingSettings(runtime='numpy')).embed(['a question']))
assert vectors.shape == (1, 384)
"""
HEAVY = ("torch", "transformers", "sentence_transformers", "easyocr", "gradio", "onnxruntime")


def imported(statements: str, names: tuple[str, ...]) -> str:
    code = f"{statements}; {ASK % (names,)}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.strip().splitlines()[-1]


@pytest.mark.parametrize(
    "modules",
    [
        "cluster.supervisor",
        "serve_apps.gateway, serve_apps.http.app, serve_apps.wiring.http",
        "pipelines.worker",
        "serve_apps.embedding",
        "serve_apps.reranker",
        "serve_apps.console",
    ],
)
def test_who_computes_nothing_loads_no_model_library(modules: str) -> None:
    """A model's own replica does so once it loads one: Serve looks at its module in other processes, too."""
    assert imported(f"import {modules}", HEAVY) == "[]"


def test_the_packaged_model_is_read_without_the_libraries_for_all_others() -> None:
    """They are 350 MB in the embedder, and five seconds of its start."""
    code = NUMPY.replace("numpy", "torch")
    assert imported(f"exec({code!r})", tuple(name for name in HEAVY if name != "torch")) == "[]"


def test_an_embedder_of_numpy_answers_without_them() -> None:
    assert imported(f"exec({NUMPY!r})", HEAVY) == "[]"


@pytest.mark.parametrize(
    "modules", ["serve_apps.gateway, serve_apps.http.app, serve_apps.wiring.http", "pipelines.worker"]
)
def test_what_tables_and_bulk_jobs_need_is_loaded_with_the_first_of_them(modules: str) -> None:
    assert imported(f"import cluster.worker_start, {modules}", ("pyarrow", "pandas", "duckdb")) == "[]"


def test_the_consoles_pages_need_no_torch() -> None:
    assert imported("import serve_apps.ui.app", tuple(name for name in HEAVY if name != "gradio")) == "[]"


def test_serve_is_spared_pandas_and_others_have_it() -> None:
    assert imported("import cluster.worker_start, ray.serve", ("pandas", "pyarrow")) == "[]"
    assert imported("import cluster.worker_start, ray.serve, pandas; pandas.DataFrame()", ("pandas",)) == "['pandas']"
