"""What is sent to Ray Serve for a configuration, and what Ray's daemons are given; nothing is started."""

import logging
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ray.serve.schema import ServeDeploySchema

from cluster import connect, deploy, logs
from cluster.basics.errors import InvalidSettings, Unavailable
from cluster.state.db.embedded import resolve_endpoints
from configs.settings import InvalidConfiguration, load_settings
from tests.fakes.api_server import serve_api

RUNNING = {"state": "RUNNING"}


def apps(environment: dict[str, str]) -> dict[str, Any]:
    return {app["name"]: app for app in deploy.deployment_plan(load_settings(environment))["applications"]}


def test_the_reranker_is_deployed_only_with_weights() -> None:
    assert apps({}).keys() == {"embedding", "worker", "gateway", "console"}
    assert apps({"AOS_RERANK_MODEL": "/weights"}).keys() == {"embedding", "reranker", "worker", "gateway", "console"}
    assert "console" not in apps({"AOS_CONSOLE_ENABLED": "false"})


def test_on_a_light_laptop_models_and_console_are_there_once_somebody_asks() -> None:
    """By Serve's own scaling to none; who takes requests stays, and claims jobs, too."""
    light = apps({"AOS_PROFILE": "light", "AOS_RERANK_MODEL": "/weights"})
    least = {
        name: deployment.get("autoscaling_config", {}).get("min_replicas", deployment.get("num_replicas"))
        for name, app in light.items()
        for deployment in app["deployments"]
    }
    assert least == {"embedding": 0, "reranker": 0, "console": 0, "gateway": 1}
    resting = [light[name]["deployments"][0] for name in ("embedding", "reranker", "console")]
    assert {one["autoscaling_config"]["downscale_to_zero_delay_s"] for one in resting} == {600}
    assert light["console"]["deployments"][0]["autoscaling_config"]["max_replicas"] == 1, "sessions are in its memory"
    assert all(ServeDeploySchema.model_validate({"applications": [app]}) for app in light.values())
    staying = apps({"AOS_PROFILE": "light", "AOS_LIGHT_REST_SECONDS": "0"})
    assert staying["console"] == apps({"AOS_CONSOLE_REST_SECONDS": "0"})["console"]
    assert staying["embedding"]["deployments"][0]["autoscaling_config"]["min_replicas"] == 1


def test_a_console_that_nobody_opens_is_not_there_on_a_laptop_and_is_in_a_cluster() -> None:
    (laptop,) = apps({})["console"]["deployments"]
    assert laptop["autoscaling_config"]["min_replicas"] == 0 and "num_replicas" not in laptop
    (cluster,) = apps({"AOS_PROFILE": "prod"})["console"]["deployments"]
    assert cluster["num_replicas"] == 1 and "autoscaling_config" not in cluster


def test_numpy_takes_no_share_of_a_gpu_and_one_core() -> None:
    gpu = {"AOS_RAY_NUM_GPUS": "1"}
    shares = []
    for more in ({}, {"AOS_EMBEDDING_RUNTIME": "numpy"}, {"AOS_EMBEDDING_RUNTIME": "both"}):
        options = apps(gpu | more)["embedding"]["deployments"][0]["ray_actor_options"]
        threads = options["runtime_env"]["env_vars"]["OMP_NUM_THREADS"]
        shares.append((options.get("num_gpus"), threads))
    assert shares == [(0.2, "2"), (None, "1"), (None, "1")]


def test_one_process_alone_works_on_jobs_where_the_gateway_does() -> None:
    """Another gateway beside it would double the jobs at a time, on a machine that is asked to do little."""
    (inside,) = apps({"AOS_WORKER_PLACEMENT": "inproc"})["gateway"]["deployments"]
    (apart,) = apps({})["gateway"]["deployments"]
    assert inside["autoscaling_config"]["max_replicas"] == 1 < apart["autoscaling_config"]["max_replicas"]


def test_a_worker_in_the_gateways_process_is_restarted_with_it() -> None:
    inside = load_settings({"AOS_WORKER_PLACEMENT": "inproc"})
    for marks, told in (({}, None), ({"worker": 2}, "2"), ({"worker": 2, "gateway": 3}, "5")):
        plan = {app["name"]: app for app in deploy.deployment_plan(inside, marks)["applications"]}
        assert "worker" not in plan
        assert plan["gateway"].get("runtime_env", {}).get("env_vars", {}).get("AOS_RESTART") == told
    apart = {app["name"]: app for app in deploy.deployment_plan(load_settings({}), {"worker": 2})["applications"]}
    assert apart["worker"]["runtime_env"]["env_vars"] == {"AOS_RESTART": "2"} and "runtime_env" not in apart["gateway"]


def test_an_idle_machine_is_looked_at_seldom_and_a_fault_is_found_as_soon() -> None:
    timers = {name: connect.ray_environment(load_settings({"AOS_PROFILE": name})) for name in ("dev", "light")}
    for name in ("RAY_SERVE_CONTROL_LOOP_INTERVAL_S", "REPORTER_UPDATE_INTERVAL_MS"):
        assert float(timers["light"][name]) > float(timers["dev"][name])
    for profile, given in timers.items():
        assert float(given["RAY_SERVE_CONTROL_LOOP_INTERVAL_S"]) <= 1
        # What finds a fault: a replica within three seconds, the proxy within six.
        assert given["RAY_SERVE_PROXY_HEALTH_CHECK_PERIOD_S"] == "2"
        found = apps({"AOS_PROFILE": profile}).values()
        assert all(deployment["health_check_period_s"] == 3 for app in found for deployment in app["deployments"])


def test_every_timer_is_one_that_this_ray_has() -> None:
    """Ray passes over a name that it does not know: what was measured would be lost without a word."""
    import ray

    folder = Path(ray.__file__).parent
    raylet = (folder / "core/src/ray/raylet/raylet").read_bytes()
    sources = [folder / "serve/_private/constants.py", folder / "dashboard/consts.py"]
    sources += [*(folder / "dashboard/modules/reporter").glob("*.py")]
    python = "".join(one.read_text(encoding="utf-8") for one in sources)
    for name in connect.LIGHT_TIMERS | connect.UNCOUNTED:
        assert name in python or name.removeprefix("RAY_").encode() in raylet, name


def test_rays_figures_are_counted_where_there_is_an_agent_to_tell_them() -> None:
    given = {kind: connect.ray_environment(load_settings({"AOS_RAY_DASHBOARD": kind})) for kind in ("api", "full")}
    assert connect.UNCOUNTED.items() <= given["api"].items() and not connect.UNCOUNTED.keys() & given["full"].keys()


def test_host_and_port_are_written_out() -> None:
    """Ray's own default for a configuration file is every interface."""
    assert deploy.deployment_plan(load_settings({}))["http_options"]["host"] == "127.0.0.1"
    assert deploy.deployment_plan(load_settings({"API_PORT": "8123"}))["http_options"]["port"] == 8123


def test_only_the_gateway_and_the_console_have_a_route() -> None:
    routed = {name: app["route_prefix"] for name, app in apps({}).items() if app["route_prefix"]}
    assert routed == {"gateway": "/", "console": "/console"}


def test_a_declared_gpu_carries_embedder_and_reranker() -> None:
    with_gpu = apps({"AOS_RAY_NUM_GPUS": "1", "AOS_RERANK_MODEL": "/weights"})
    shares = [
        deployment["ray_actor_options"]["num_gpus"] * deployment["autoscaling_config"]["max_replicas"]
        for name in ("embedding", "reranker")
        for deployment in with_gpu[name]["deployments"]
    ]
    assert all(share > 0 for share in shares) and sum(shares) <= 1
    assert "num_gpus" not in with_gpu["gateway"]["deployments"][0]["ray_actor_options"]
    assert "num_gpus" not in apps({})["embedding"]["deployments"][0]["ray_actor_options"]


def test_one_setting_decides_where_models_compute() -> None:
    """A model may keep off the declared GPU; to insist on one where none is declared is refused, with the fix."""
    apart = {
        "AOS_RAY_NUM_GPUS": "1",
        "AOS_RERANK_MODEL": "/weights",
        "AOS_EMBEDDING_GPU": "false",
        "AOS_OCR_GPU": "false",
    }
    assert "num_gpus" not in apps(apart)["embedding"]["deployments"][0]["ray_actor_options"]
    assert apps(apart)["reranker"]["deployments"][0]["ray_actor_options"]["num_gpus"] == 1
    for name in ("AOS_EMBEDDING_GPU", "AOS_RERANK_GPU", "AOS_OCR_GPU"):
        with pytest.raises(InvalidSettings) as refused:
            deploy.deployment_plan(load_settings({name: "true"}))
        assert "AOS_RAY_NUM_GPUS" in refused.value.hint
        assert deploy.deployment_plan(load_settings({name: "true", "AOS_RAY_NUM_GPUS": "1"}))


def test_who_reads_with_easyocr_has_a_part_of_the_gpu() -> None:
    """Worker and reading actors share it with the models, all at once; Tesseract alone takes none."""
    one = {"AOS_RAY_NUM_GPUS": "1", "AOS_RERANK_MODEL": "/weights", "AOS_READ_READERS": "3"}
    reading = deploy.reader_gpus(load_settings(one))
    served = [d for app in apps(one).values() for d in app["deployments"]]
    replicas = {d["name"]: d.get("num_replicas") or d["autoscaling_config"]["max_replicas"] for d in served}
    shares = {d["name"]: d["ray_actor_options"].get("num_gpus", 0) for d in served}
    assert shares["Worker"] == reading > 0 == shares["Gateway"]
    assert 0.9 < 3 * reading + sum(shares[name] * replicas[name] for name in shares) <= 1
    for without in ({"AOS_OCR_GPU": "false"}, {"OCR_STRATEGY": "tesseract"}, {"AOS_RAY_NUM_GPUS": "0"}):
        assert deploy.reader_gpus(load_settings(one | without)) == 0
        assert "num_gpus" not in apps(one | without)["worker"]["deployments"][0]["ray_actor_options"]


def test_the_log_level_reaches_serve_and_our_own_loggers() -> None:
    assert deploy.deployment_plan(load_settings({"LOG_LEVEL": "DEBUG"}))["logging_config"] == {"log_level": "DEBUG"}
    names = [logging.getLogger(name) for name in logs.OURS]
    before = [(logger.level, logger.handlers[:], logger.propagate) for logger in names]
    try:
        logs.set_up(load_settings({"LOG_LEVEL": "ERROR"}))
        assert not logging.getLogger("aos.http").isEnabledFor(logging.WARNING)
        logs.set_up(load_settings({"LOG_LEVEL": "DEBUG"}))
        assert logging.getLogger("pipelines.documents.ingest.job_loop").isEnabledFor(logging.DEBUG)
        assert all(len(logger.handlers) == 1 for logger in names), "a second call replaces the first"
    finally:
        for logger, (level, handlers, propagate) in zip(names, before, strict=True):
            logger.setLevel(level)
            logger.handlers[:], logger.propagate = handlers, propagate


def test_too_few_cpus_are_refused_before_anything_would_hang() -> None:
    assert deploy.deployment_plan(load_settings({"AOS_RERANK_MODEL": "/weights"})), "the default fits"
    with pytest.raises(InvalidSettings) as refused:
        deploy.deployment_plan(load_settings({"AOS_RAY_NUM_CPUS": "4"}))
    assert "AOS_RAY_NUM_CPUS" in refused.value.hint


def test_workers_scale_by_settings() -> None:
    """DP-05: more readers of jobs by one setting."""
    assert apps({"AOS_WORKER_REPLICAS": "2"})["worker"]["deployments"][0]["num_replicas"] == 2


def test_embedders_scale_by_settings() -> None:
    def scaling(environment: dict[str, str]) -> dict[str, Any]:
        (deployment,) = apps({"RAY_ADDRESS": "10.0.0.7:6399", **environment})["embedding"]["deployments"]
        found: dict[str, Any] = deployment["autoscaling_config"]
        return found

    plain = yaml.safe_load(deploy.SERVE_YAML.read_text(encoding="utf-8"))["applications"][0]["deployments"][0]
    assert scaling({}) == plain["autoscaling_config"], "nothing is said, nothing changes"
    many = scaling({"AOS_EMBEDDING_MIN_REPLICAS": "2", "AOS_EMBEDDING_MAX_REPLICAS": "8"})
    assert (many["min_replicas"], many["max_replicas"]) == (2, 8) and "downscale_to_zero_delay_s" not in many
    none = {"AOS_EMBEDDING_MIN_REPLICAS": "0"}
    assert (scaling(none)["min_replicas"], scaling(none)["downscale_to_zero_delay_s"]) == (0, 600)
    assert scaling(none | {"AOS_LIGHT_REST_SECONDS": "60"})["downscale_to_zero_delay_s"] == 60
    assert ServeDeploySchema.model_validate({"applications": [apps(none)["embedding"]]})
    with pytest.raises(InvalidConfiguration, match="min_replicas is 3, more than max_replicas: 2"):
        load_settings({"AOS_EMBEDDING_MIN_REPLICAS": "3"})
    with pytest.raises(InvalidSettings, match="num_cpus"):
        apps({"AOS_EMBEDDING_MAX_REPLICAS": "8"})


def test_embedders_share_the_gpus_by_the_most_there_may_be() -> None:
    one = {"AOS_RAY_NUM_GPUS": "1", "RAY_ADDRESS": "10.0.0.7:6399", "AOS_OCR_GPU": "false"}
    shares = [
        apps(one | {"AOS_EMBEDDING_MAX_REPLICAS": most})["embedding"]["deployments"][0]["ray_actor_options"]["num_gpus"]
        for most in ("1", "4")
    ]
    assert shares == [1, 0.25]


def test_nodes_of_a_joined_cluster_get_what_the_environment_added(tmp_path: Path) -> None:
    environment = {
        "AOS_STATE_DIR": str(tmp_path),
        "RAY_ADDRESS": "10.0.0.7:6399",
        "RAG_CHUNK_SIZE": "900",
        "OCR_LANGUAGES": "eng,deu",
        "LOG_LEVEL": "DEBUG",
    }
    secrets = {
        "DATABASE_URL": "postgresql://app:s3cr3t-1@db/aos",
        "DATABASE_ADMIN_URL": "postgresql://owner:s3cr3t-2@db/aos",
        "POSTGRES_PASSWORD": "s3cr3t-3",
        "POSTGRES_ADMIN_PASSWORD": "s3cr3t-4",
        "REDIS_URL": "redis://:s3cr3t-5@cache",
        "REDIS_PASSWORD": "s3cr3t-6",
        "AUTH_SECRET_KEY": "s3cr3t-7-of-more-than-32-characters",
        "AOS_ADMIN_PASSWORD": "s3cr3t-8",
        "LLM_API_KEY": "s3cr3t-9",
    }
    assert "s3cr3t" not in str(deploy.deployment_plan(load_settings(environment | secrets))), (
        "nodes have secrets of their own"
    )
    sent = apps(environment)["gateway"]["runtime_env"]["env_vars"]
    assert "AOS_RAG_CHUNK_SIZE" not in sent and sent["AOS_CHUNK_SIZE"] == "900"
    assert load_settings(sent) == load_settings(environment), "a node that gets this reads the same settings"
    assert connect.ray_dashboard(load_settings(environment)).url == "http://10.0.0.7:8265"


def test_rays_token_is_that_of_the_environment_where_it_stands_there(tmp_path: Path) -> None:
    """In a pod it comes from a secret, for Ray and for us."""
    environment = {"AOS_STATE_DIR": str(tmp_path), "RAY_ADDRESS": "10.0.0.7:6399"}
    assert connect.ray_dashboard(load_settings(environment)).headers == {}
    connect.token_path(tmp_path).write_text("of-the-file\n")
    assert connect.ray_dashboard(load_settings(environment)).headers == {"Authorization": "Bearer of-the-file"}
    given = load_settings(environment | {"RAY_AUTH_TOKEN": "of-the-secret"})
    assert connect.ray_dashboard(given).headers == {"Authorization": "Bearer of-the-secret"}
    assert "of-the-secret" not in str(deploy.deployment_plan(given))


def test_deploy_waits_and_reports_and_names_what_fails(tmp_path: Path) -> None:
    def state(status: str, message: str = "") -> dict[str, Any]:
        part = {"status": "HEALTHY", "message": "", "target_num_replicas": 1, "replicas": [RUNNING]}
        return {"status": status, "message": message, "deployments": {"Part": part}}

    names = ("embedding", "worker", "gateway", "console")
    deploying = {"applications": {name: state("DEPLOYING") for name in names}}
    running = {"applications": {name: state("RUNNING") for name in names}}
    failed = {"applications": {"gateway": state("DEPLOY_FAILED", "no module x")}}
    path = "/api/serve/applications/"
    with serve_api({f"PUT {path}": {}, f"GET {path}": [deploying, running]}) as fake:
        settings = load_settings(
            {"AOS_STATE_DIR": str(tmp_path), "AOS_RAY_DASHBOARD_PORT": fake.url.rpartition(":")[2]}
        )
        connect.token_path(tmp_path).write_text("access-1\n")
        lines: list[str] = []
        deploy.deploy_applications(settings, lines.append)
        assert "gateway: deploying Part 1/1" in lines and "gateway: running Part 1/1" in lines
        (sent,) = fake.of(f"PUT {path}")
        assert sent.body == deploy.deployment_plan(settings)

        fake.answers[f"GET {path}"] = failed
        with pytest.raises(Unavailable, match="gateway does not deploy: no module x"):
            deploy.deploy_applications(settings, lines.append)

        connect.token_path(tmp_path).write_text("another")
        with pytest.raises(Unavailable, match="token"):
            connect.ray_dashboard(settings).get(path, dict)


@pytest.mark.parametrize(
    "why",
    [
        "RuntimeError: HAProxy crashed during startup",
        "ActorDiedError: class_name: HAProxyManager\nThe actor is dead because it was killed by `ray.kill`.",
    ],
)
def test_a_proxy_that_did_not_come_up_is_started_once_more(tmp_path: Path, why: str) -> None:
    part = {"status": "HEALTHY", "message": "", "target_num_replicas": 1, "replicas": [RUNNING]}
    state = {"status": "RUNNING", "message": "", "deployments": {"Part": part}}
    path, names = "/api/serve/applications/", ("embedding", "worker", "gateway", "console")
    answers = {f"PUT {path}": [(500, why), {}], f"GET {path}": {"applications": dict.fromkeys(names, state)}}
    with serve_api(answers) as fake:
        settings = load_settings(
            {"AOS_STATE_DIR": str(tmp_path), "AOS_RAY_DASHBOARD_PORT": fake.url.rpartition(":")[2]}
        )
        connect.token_path(tmp_path).write_text("access-1\n")
        lines: list[str] = []
        deploy.deploy_applications(settings, lines.append)
        assert lines[0].startswith("Ray's proxy did not start") and "gateway: running Part 1/1" in lines
        assert len(fake.of(f"PUT {path}")) == 2
        fake.answers[f"PUT {path}"] = (500, "no such import path")
        with pytest.raises(Unavailable, match="no such import path"):
            deploy.deploy_applications(settings, lines.append)


def test_a_taken_port_is_named_with_its_setting(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Unavailable) as refused:
            connect.ensure_cluster(load_settings({"AOS_STATE_DIR": str(tmp_path), "AOS_RAY_GCS_PORT": str(port)}))
    assert str(port) in str(refused.value) and "AOS_RAY_GCS_PORT" in refused.value.hint
    assert connect.ray_processes(tmp_path) == []


def test_daemons_get_a_token_file_loopback_and_short_socket_paths(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 120)
    given = connect.ray_environment(load_settings({"AOS_STATE_DIR": str(deep)}))
    assert (given["RAY_AUTH_MODE"], given["AOS_STATE_DIR"]) == ("token", str(deep))
    assert given["RAY_AUTH_TOKEN_PATH"] == str(deep / "ray-token")
    assert len(given["RAY_SERVE_HAPROXY_SOCKET_PATH"]) < 100
    assert given["HF_HUB_OFFLINE"] == "1" and given["OMP_THREAD_LIMIT"] == "1"
    assert given["RAY_worker_niceness"] == "0" and given["AOS_PYTHON"] == sys.executable
    assert "HF_HUB_OFFLINE" not in connect.ray_environment(load_settings({"AOS_RERANK_DOWNLOAD": "true"}))


def test_nothing_configured_and_nothing_running_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as nothing:
        resolve_endpoints(load_settings({"AOS_STATE_DIR": str(tmp_path)}))
    assert nothing.value.hint == "Run `aos up`."


@pytest.mark.parametrize(("gpus", "replicas", "share"), [(1, 3, 0.333), (2, 3, 0.5), (3, 3, 1), (4, 3, 1), (8, 3, 2)])
def test_every_replica_gets_a_share_that_ray_accepts(gpus: int, replicas: int, share: float) -> None:
    assert deploy.gpu_share(gpus, replicas) == share
