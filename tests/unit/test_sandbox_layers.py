"""How an isolated interpreter is to be started, and what the kernel has to say about it: decided without a process."""

from pathlib import Path

import pytest

from configs.sections_skills import SandboxSettings
from skills.sandbox.filter import PLAIN
from skills.sandbox.launch import LaunchMode, launch_modes, resource_limits
from skills.sandbox.layers import LIMIT_NAMES, NAMESPACES, IsolationLayer, IsolationReport, held_layers
from skills.sandbox.sandbox_errors import SandboxMissing

SETTINGS = SandboxSettings()
# What an escape would be made of.
NEVER = {
    "ptrace", "process_vm_readv", "process_vm_writev", "mount", "umount2", "pivot_root", "chroot", "setns", "unshare",
    "clone", "clone3", "fork", "vfork", "execve", "execveat", "keyctl", "add_key", "request_key", "bpf",
    "perf_event_open", "userfaultfd", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
    "open_by_handle_at", "name_to_handle_at", "io_uring_setup", "io_uring_enter", "io_uring_register", "socket",
    "socketpair", "connect", "bind", "listen", "sendto", "sendmsg", "recvmsg", "memfd_create", "personality",
    "reboot", "swapon", "swapoff", "acct", "quotactl", "prctl", "seccomp", "setuid", "setgid", "setresuid",
    "setgroups", "capset", "kill", "tkill", "tgkill", "rt_sigqueueinfo", "pidfd_open", "pidfd_send_signal",
    "pidfd_getfd", "openat2", "creat", "mknod", "mkdir", "unlink", "rename", "link", "symlink", "chmod", "chown",
    "truncate", "ftruncate", "shmget", "msgget", "semget", "mq_open", "pipe", "pipe2", "eventfd2", "timer_create",
    "setrlimit", "setpriority", "sched_setscheduler", "sethostname", "settimeofday", "syslog", "iopl", "ioperm",
    "modify_ldt", "arch_prctl", "landlock_create_ruleset", "fsopen", "move_mount", "open_tree", "fanotify_init",
    "inotify_init1",
}  # fmt: skip


def test_the_calls_a_script_may_make_hold_none_that_lead_out() -> None:
    assert NEVER.isdisjoint(PLAIN)


def test_root_has_a_way_of_its_own_and_every_way_asks_for_every_wall() -> None:
    as_root, plain = launch_modes(SETTINGS, root=True, fence="/usr/bin/bwrap")
    assert as_root.as_root and not plain.as_root
    assert as_root.asked == plain.asked == set(NAMESPACES)
    assert launch_modes(SETTINGS, root=False, fence="/usr/bin/bwrap") == [plain]


def test_a_weaker_way_is_tried_only_where_the_settings_give_a_wall_up() -> None:
    lenient = SandboxSettings(untrusted_without=("net", "cgroup"))
    assert launch_modes(lenient, root=False, fence="/b")[-1].asked == set(NAMESPACES) - {
        IsolationLayer.NET,
        IsolationLayer.CGROUP,
    }
    with pytest.raises(SandboxMissing, match="not installed"):
        launch_modes(lenient, root=False, fence=None)
    everything = SandboxSettings(untrusted_without=tuple(NAMESPACES))
    assert launch_modes(everything, root=False, fence=None) == [LaunchMode(frozenset())]


def test_a_wall_that_does_not_exist_cannot_be_given_up() -> None:
    with pytest.raises(ValueError, match="untrusted_without"):
        SandboxSettings.model_validate({"untrusted_without": ["walls"]})


def test_sk_13_sk_14_limits_follow_the_settings() -> None:
    found = resource_limits(SandboxSettings(memory_mb=100, files=20, processes=3), 2.5)
    assert (found["RLIMIT_AS"], found["RLIMIT_NOFILE"], found["RLIMIT_NPROC"]) == (100 << 20, 20, 3)
    assert (found["RLIMIT_CPU"], found["RLIMIT_FSIZE"], found["RLIMIT_CORE"]) == (4, 0, 0)
    assert set(found) == set(LIMIT_NAMES)


def proc(folder: Path, *, status: str, soft: int = 10, other: bool = True) -> Path:
    """A folder as the kernel's, with this process and number 7."""
    for name in ("self", "7"):
        (folder / name / "ns").mkdir(parents=True)
        for kind in NAMESPACES.values():
            (folder / name / "ns" / kind).touch()
    if not other:
        (folder / "7/ns/net").unlink()
        (folder / "7/ns/net").hardlink_to(folder / "self/ns/net")
    (folder / "7/status").write_text(status, encoding="ascii")
    rows = [f"{name:<26}{soft:<21}{10:<21}units" for name in LIMIT_NAMES.values()]
    (folder / "7/limits").write_text("Limit\n" + "\n".join(rows) + "\n", encoding="ascii")
    return folder


GOOD = "Seccomp:\t2\nNoNewPrivs:\t1\n" + "".join(
    f"{n}:\t0000000000000000\n" for n in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
)
LIMITS = dict.fromkeys(LIMIT_NAMES, 10)


def test_layers_are_what_the_kernel_says(tmp_path: Path) -> None:
    assert held_layers(7, LIMITS, proc(tmp_path, status=GOOD)) == set(IsolationLayer)


@pytest.mark.parametrize(
    ("was", "becomes", "layer"),
    [
        ("Seccomp:\t2", "Seccomp:\t0", IsolationLayer.SECCOMP),
        ("NoNewPrivs:\t1", "NoNewPrivs:\t0", IsolationLayer.NO_NEW_PRIVS),
        ("CapEff:\t0000000000000000", "CapEff:\t0000000000000001", IsolationLayer.CAPABILITIES),
        ("CapBnd:\t0000000000000000\n", "", IsolationLayer.CAPABILITIES),
    ],
)
def test_a_layer_that_the_kernel_does_not_confirm_is_missing(
    tmp_path: Path, was: str, becomes: str, layer: IsolationLayer
) -> None:
    found = held_layers(7, LIMITS, proc(tmp_path, status=GOOD.replace(was, becomes)))
    assert IsolationReport(found).missing == (layer,)


def test_a_shared_namespace_and_a_loose_limit_are_missing(tmp_path: Path) -> None:
    found = held_layers(7, LIMITS, proc(tmp_path, status=GOOD, soft=11, other=False))
    assert IsolationReport(found).missing == (IsolationLayer.NET, IsolationLayer.RLIMITS)


def test_of_a_process_that_cannot_be_seen_nothing_holds(tmp_path: Path) -> None:
    assert held_layers(8, LIMITS, tmp_path) == frozenset()
