"""The system calls a script may make: those an interpreter needs to compute and to read its library, no others."""

import os
import tempfile
from errno import ENOSYS, ENOTTY, EPERM
from functools import cache
from types import ModuleType
from typing import Any

# An allow-list: what is not named does not exist for a script, also what future kernels add. No call here makes a
# process or a thread, a socket, a file, a pipe or a mapping of foreign memory, or sends a signal.
PLAIN = (
    "read", "pread64", "readv", "write", "writev", "close", "lseek",
    "stat", "fstat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
    "getcwd", "getdents", "getdents64",
    "dup", "dup2", "dup3", "poll", "ppoll", "select", "pselect6", "_newselect",
    "brk", "munmap", "mremap", "madvise", "futex", "futex_time64", "membarrier", "rseq", "set_robust_list",
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall",
    "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "times", "getrusage",
    "getrlimit",
    "getrandom", "getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid",
    "getpgrp", "uname",
    "sched_yield", "sched_getaffinity", "exit", "exit_group",
)  # fmt: skip
PROT_WRITE_EXEC = 0x6
PROT_EXEC = 0x4
MAP_ANONYMOUS = 0x20
TMPFILE = 0o20000000  # O_TMPFILE without the bit it shares with O_DIRECTORY
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | TMPFILE
FCNTL = (0, 1, 2, 3, 1030)  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC


class NoLibseccomp(Exception):
    """libseccomp is not installed; the detail is what the loader said."""


@cache
def filter_program() -> bytes:
    """The filter as the kernel takes it: an array of `struct sock_filter`. Raises NoLibseccomp: it is not installed."""
    seccomp = _load_seccomp()
    built = seccomp.SyscallFilter(seccomp.ERRNO(EPERM))
    _add_rules(built, seccomp)
    with tempfile.TemporaryFile() as file:
        built.export_bpf(file)
        file.seek(0)
        return file.read()


def _load_seccomp() -> ModuleType:
    # Imported late: to find the library it runs ldconfig, and it raises RuntimeError without it.
    try:
        import pyseccomp
    except (RuntimeError, OSError) as error:
        raise NoLibseccomp(str(error)) from error
    module: ModuleType = pyseccomp
    return module


def _add_rules(built: Any, seccomp: Any) -> None:
    allow, arg, masked = seccomp.ALLOW, seccomp.Arg, seccomp.MASKED_EQ
    for name in PLAIN:
        built.add_rule(allow, name)
    # Only to read: what the mounts leave writable, if anything, cannot be opened for it either.
    built.add_rule(allow, "open", arg(1, masked, WRITING, 0))
    built.add_rule(allow, "openat", arg(2, masked, WRITING, 0))
    for command in FCNTL:
        built.add_rule(allow, "fcntl", arg(1, seccomp.EQ, command))
    # Libraries may be mapped to run; memory that was written never.
    built.add_rule(allow, "mmap", arg(2, masked, PROT_EXEC, 0))
    built.add_rule(allow, "mmap", arg(2, masked, PROT_WRITE_EXEC, PROT_EXEC), arg(3, masked, MAP_ANONYMOUS, 0))
    built.add_rule(allow, "mprotect", arg(2, masked, PROT_EXEC, 0))
    # Limits of its own may be read, not changed.
    built.add_rule(allow, "prlimit64", arg(0, seccomp.EQ, 0), arg(2, seccomp.EQ, 0))
    built.add_rule(seccomp.ERRNO(ENOTTY), "ioctl")
    built.add_rule(seccomp.ERRNO(ENOSYS), "clone3")
