"""Attacks on the fence around scripts, by family: bodies of `run(payload)`, to be run behind the fence only.

A body names what it achieved in `got`; whatever ends up there is an escape. Errors that it meets are its own affair.
The payload tells where the canaries are: `folder`, `secret` (a file in it), `port`, `socket`, `abstract`, `victim` (a
process), `host` (the process that asked for the script), `root` (the program's folder), `mark` (a name to leave).
"""

from typing import NamedTuple


class Attack(NamedTuple):
    """One attack."""

    family: str
    name: str
    body: str


# Tells what a raw call gave back; 300 is no error number.
SYSCALL = """
import ctypes, ctypes.util
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *given):
    done = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(one) if isinstance(one, int) else one for one in given])
    return done
"""

FILES = {
    "write a file in a folder open to all": """
open(payload["folder"] + "/" + payload["mark"], "w").write("x")
got = "written"
""",
    "write beside the interpreter": """
import os, sys
for base in {os.path.dirname(os.__file__), sys.prefix, "/", "/tmp", "/libs", "/dev", "/dev/shm", "/var/tmp", "."}:
    try:
        open(base + "/" + payload["mark"], "w").write("x")
        got = base
    except OSError:
        pass
""",
    "append to the canary": 'open(payload["secret"], "ab").write(b"x"); got = "appended"',
    "truncate by os.open": """
import os
got = os.open(payload["secret"], os.O_WRONLY | os.O_TRUNC)
""",
    "a nameless temporary file": """
import os
got = os.open("/tmp", os.O_TMPFILE | os.O_RDWR, 0o600)
""",
    "delete the canary": 'import os; os.unlink(payload["secret"]); got = "deleted"',
    "rename the library away": 'import os; os.rename(os.__file__, os.__file__ + ".old"); got = "renamed"',
    "make folders": 'import os; os.makedirs("/tmp/a/b/c"); got = "made"',
    "change modes and owners": """
import os
for path in (os.__file__, "/tmp", "/"):
    for act in (lambda: os.chmod(path, 0o777), lambda: os.chown(path, 0, 0), lambda: os.utime(path, (0, 0))):
        try:
            act()
            got = path
        except OSError:
            pass
""",
    "fill the scratch space": """
import os
for n in range(100000):
    with open(f"/tmp/{n}", "wb") as file:
        file.write(bytes(1 << 20))
    got = n
""",
    "use up inodes": """
for n in range(10_000_000):
    open(f"/tmp/i{n}", "x").close()
    got = n
""",
    "a file in memory": 'import os; got = os.memfd_create("x")',
    "devices": """
import os, stat
for name in ("sda", "vda", "mem", "kmsg", "tty", "ptmx", "fuse", "kvm", "null"):
    path = "/dev/" + name
    for flags in (os.O_RDONLY, os.O_WRONLY):
        try:
            os.open(path, flags)
            got = path
        except OSError:
            pass
""",
    "make a device": 'import os, stat; os.mknod("/tmp/d", 0o666 | stat.S_IFBLK, os.makedev(254, 0)); got = "made"',
    "a pipe with a name": 'import os; os.mkfifo("/tmp/f"); got = "made"',
    "shared memory": """
from multiprocessing import shared_memory
got = shared_memory.SharedMemory(create=True, size=1 << 20).name
""",
    "extended attributes": 'import os; os.setxattr("/tmp", "user.x", b"1"); got = "set"',
    "climb out by dots": """
import os
for depth in range(1, 40):
    for name in ("etc/passwd", payload["secret"].lstrip("/")):
        try:
            got = open("../" * depth + name).read()
        except OSError:
            pass
""",
    "a logger that writes a file": """
import logging
logging.basicConfig(filename=payload["folder"] + "/" + payload["mark"])
logging.warning("x")
got = "logged"
""",
    "a database as a file": """
import sqlite3
sqlite3.connect(payload["folder"] + "/" + payload["mark"]).execute("create table x(y)")
got = "made"
""",
    "unpack an archive over the host": """
import io, tarfile
raw = io.BytesIO()
with tarfile.open(fileobj=raw, mode="w") as tar:
    info = tarfile.TarInfo("../../.." + payload["folder"] + "/" + payload["mark"])
    tar.addfile(info, io.BytesIO())
raw.seek(0)
tarfile.open(fileobj=raw).extractall("/tmp")
got = "unpacked"
""",
    "bytecode beside a module": """
import py_compile, os
got = py_compile.compile(os.__file__, cfile="/tmp/x.pyc", doraise=True)
""",
}

SECRETS = {
    "read the accounts": """
for path in ("/etc/passwd", "/etc/shadow", "/etc/hosts", "/etc/hostname", "/etc/machine-id", "/etc/resolv.conf"):
    try:
        got = open(path).read()
    except OSError:
        pass
""",
    "read the canary": 'got = open(payload["secret"]).read()',
    "read the program": """
import os
for base, folders, files in os.walk(payload["root"]):
    got = base
for name in ("pyproject.toml", "configs/settings.py", ".aos/vault.key"):
    try:
        got = open(payload["root"] + "/" + name).read()
    except OSError:
        pass
""",
    "read environments": """
import glob, os
for path in [*(f"/proc/{one}/environ" for one in (1, "self", payload["host"])), *glob.glob("/proc/*/environ")]:
    try:
        got = open(path, "rb").read()
    except OSError:
        pass
if dict(os.environ):
    got = dict(os.environ)
""",
    "the environment in C": """
import ctypes
libc = ctypes.CDLL(None)
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
found, n = [], 0
while environ and environ[n]:
    found.append(environ[n].decode())
    n += 1
if found:
    got = found
""",
    "read homes": """
import os
for base in ("/root", "/home", os.path.expanduser("~"), "/var", "/run", "/srv", "/opt", "/mnt", "/media", "/boot"):
    try:
        found = os.listdir(base)
        if base not in ("/", "") and found and os.path.realpath(base) != "/":
            got = found
    except OSError:
        pass
""",
    "walk everything": """
import os
odd = []
for base, folders, files in os.walk("/"):
    top = base.split("/")[1]
    if top not in ("", "python", "libs", "lib64", "lib", "usr", "tmp"):
        odd.append(base)
    if base.endswith(("site-packages", "dist-packages")) and (files or folders):
        odd.append(base)
if odd:
    got = odd[:5]
""",
    "an open descriptor of the parent": """
import os
for n in range(3, 4096):
    try:
        os.fstat(n)
        got = n
    except OSError:
        pass
""",
    "what the starter said": """
import sys
if any(payload["root"] in one for one in [*sys.orig_argv, *sys.argv, *sys.path]):
    got = sys.orig_argv
""",
    "modules of the program": """
import sys
for name in ("skills", "configs", "cluster", "ray", "pydantic", "numpy", "yaml"):
    try:
        __import__(name)
        got = name
    except ImportError:
        pass
if any(name.split(".")[0] in ("skills", "configs", "cluster") for name in sys.modules):
    got = "loaded"
""",
    "memory of the parent": """
for path in (f"/proc/{payload['host']}/mem", "/proc/self/mem", "/proc/kcore", "/dev/mem"):
    try:
        got = open(path, "rb").read(16)
    except OSError:
        pass
""",
    "memory of others by one call": SYSCALL
    + """
space = ctypes.create_string_buffer(64)
vector = (ctypes.c_ulong * 2)(ctypes.addressof(space), 64)
if call(310, payload["host"], vector, 1, vector, 1, 0) >= 0 or call(311, payload["host"], vector, 1, vector, 1, 0) >= 0:
    got = space.raw.hex()
""",
}

LINKS = {
    "a symbolic link to the accounts": 'import os; os.symlink("/etc/passwd", "/tmp/l"); got = open("/tmp/l").read()',
    "a hard link": 'import os; os.link(os.__file__, "/tmp/l"); got = "linked"',
    "through another root": """
import os
for path in ("/proc/1/root/etc/passwd", "/proc/self/root/../etc/passwd", f"/proc/{payload['host']}/root/etc/passwd",
             f"/proc/{payload['host']}/cwd/pyproject.toml", "/.oldroot/etc/passwd", "/oldroot/etc/passwd", "/newroot"):
    try:
        got = open(path).read()
    except OSError:
        pass
""",
    "out of a chroot": """
import os
try:
    root = os.open("/", os.O_RDONLY)
    os.chroot("/tmp")
    os.fchdir(root)
    for _ in range(64):
        os.chdir("..")
    os.chroot(".")
finally:
    pass
got = os.listdir("/")
""",
    "a handle instead of a path": SYSCALL
    + """
handle = ctypes.create_string_buffer(bytes([8, 0, 0, 0, 1, 0, 0, 0, 2] + [0] * 7 + [0] * 64))
if call(304, -100, handle, 0) >= 0:
    got = "opened"
""",
    "the newer call that opens": SYSCALL
    + """
how = (ctypes.c_uint64 * 3)(0, 0, 0)
if call(437, -100, ctypes.c_char_p(b"/"), how, 24) >= 0:
    got = "opened"
""",
}

PROCESSES = {
    "a shell": 'import os; got = os.system("true") == 0 or None',
    "subprocess": 'import subprocess; got = subprocess.run(["/bin/sh", "-c", "id"], capture_output=True).stdout',
    "the interpreter again": """
import subprocess, sys
got = subprocess.run([sys.executable or "/python/bin/python", "-c", "print(1)"], capture_output=True).stdout
""",
    "fork": """
import os
if os.fork() == 0:
    os._exit(0)
got = "forked"
""",
    "fork twice and stay": """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(300)
    os._exit(0)
got = "forked"
""",
    "become another program": """
import os
for path in ("/bin/sh", "/python/bin/python", "/usr/bin/env"):
    try:
        os.execv(path, [path, "-c", "print('answer')"])
    except OSError:
        pass
""",
    "posix_spawn": 'import os; got = os.posix_spawn("/bin/true", ["true"], {})',
    "a pseudo terminal": 'import pty; got = pty.spawn(["/bin/sh", "-c", "id"]) == 0 or None',
    "multiprocessing": """
import multiprocessing
child = multiprocessing.get_context("fork").Process(target=print, args=("x",))
child.start()
got = child.pid
""",
    "a pool of processes": """
from concurrent.futures import ProcessPoolExecutor
with ProcessPoolExecutor(2) as pool:
    got = list(pool.map(abs, [1]))
""",
    "what others run": """
import os
found = [name for name in os.listdir("/proc") if name.isdigit()] if os.path.isdir("/proc") else []
for pid in [payload["host"], payload["victim"], *range(2, 5000)]:
    try:
        os.kill(pid, 0)
        found.append(pid)
    except OSError:
        pass
if found:
    got = found
""",
    "the session and group of others": """
import os
for pid in (payload["host"], payload["victim"]):
    for ask in (os.getpgid, os.getsid, os.sched_getaffinity, lambda one: os.getpriority(os.PRIO_PROCESS, one)):
        try:
            ask(pid)
            got = pid
        except OSError:
            pass
""",
    "raw fork, vfork, clone, clone3": SYSCALL
    + """
import os
for number, given in ((57, ()), (58, ()), (56, (17, 0, 0, 0, 0)), (56, (0x10000000 | 17, 0, 0, 0, 0)),
                      (435, (ctypes.create_string_buffer(88), 88))):
    done = call(number, *given)
    if done == 0:
        os._exit(0)
    if done > 0:
        got = number
""",
    "raw execve and execveat": SYSCALL
    + """
for path in (b"/python/bin/python", b"/bin/sh"):
    call(59, ctypes.c_char_p(path), 0, 0)
    call(322, -100, ctypes.c_char_p(path), 0, 0, 0)
""",
}

SIGNALS = {
    "kill everything": """
import os, signal
for target in (-1, 0, payload["victim"], payload["host"], -payload["victim"], 2, 3):
    for sent in (signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP):
        try:
            os.kill(target, sent)
            got = target
        except OSError:
            pass
""",
    "kill groups": """
import os, signal
for group in (payload["victim"], payload["host"]):
    try:
        os.killpg(group, signal.SIGKILL)
        got = group
    except OSError:
        pass
""",
    "a handle on a process": """
import os, signal
for pid in (payload["victim"], payload["host"], 1):
    try:
        got = os.pidfd_open(pid)
        signal.pidfd_send_signal(got, signal.SIGKILL)
    except OSError:
        pass
""",
    "raw tkill, tgkill, rt_sigqueueinfo": SYSCALL
    + """
for pid in (payload["victim"], payload["host"]):
    room = ctypes.create_string_buffer(128)
    if call(200, pid, 9) == 0 or call(234, pid, pid, 9) == 0 or call(129, pid, 9, room) == 0:
        got = pid
""",
    "ignore what can be ignored": """
import signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    time.sleep(1)
""",
    "block all signals and spin": """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while True:
    pass
""",
    "owner of a descriptor's signals": """
import fcntl, os
fcntl.fcntl(0, fcntl.F_SETOWN, payload["host"])
fcntl.fcntl(0, fcntl.F_SETFL, os.O_ASYNC)
got = "owned"
""",
}

NETWORK = {
    "loopback": """
import socket
got = socket.create_connection(("127.0.0.1", payload["port"]), timeout=1).sendall(b"x") or "sent"
""",
    "loopback over IPv6": """
import socket
got = socket.create_connection(("::1", payload["port"]), timeout=1).sendall(b"x") or "sent"
""",
    "a datagram": """
import socket
got = socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", payload["port"]))
""",
    "a unix socket": """
import socket
for address in (payload["socket"], "\\0" + payload["abstract"]):
    try:
        talk = socket.socket(socket.AF_UNIX)
        got = "made"
        talk.connect(address)
    except OSError:
        pass
""",
    "every family there is": """
import socket
for family in range(0, 46):
    for kind in (1, 2, 3, 5):
        try:
            socket.socket(family, kind)
            got = family
        except OSError:
            pass
""",
    "a pair": "import socket; got = str(socket.socketpair())",
    "names": """
import socket
try:
    got = socket.getaddrinfo("example.com", 80)
except OSError:
    got = None
""",
    "http": """
import urllib.request
got = urllib.request.urlopen(f"http://127.0.0.1:{payload['port']}/", timeout=1).read()
""",
    "the metadata address": """
import http.client
link = http.client.HTTPConnection("169.254.169.254", timeout=1)
link.request("GET", "/latest/meta-data/")
got = link.getresponse().read()
""",
    "listen": """
import socket
server = socket.socket()
server.bind(("0.0.0.0", 0))
server.listen()
got = server.getsockname()
""",
    "the interfaces": 'import socket; got = [n for n in socket.if_nameindex() if n[1] != "lo"] or None',
    "turn the line to the parent into a socket": """
import socket
line = socket.socket(fileno=0)
got = line.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, b"\\x01\\0\\0\\0")])
""",
    "raw socket calls": SYSCALL
    + """
for number, given in ((41, (2, 1, 0)), (41, (16, 3, 0)), (41, (17, 3, 0)), (41, (40, 1, 0)), (41, (38, 5, 0)),
                      (53, (1, 1, 0, (ctypes.c_int * 2)()))):
    if call(number, *given) >= 0:
        got = given
for number in (42, 43, 44, 46, 47, 48, 49, 50, 288, 299, 307):
    if call(number, 0, 0, 0, 0, 0, 0) >= 0:
        got = number
""",
    "asyncio": """
import asyncio
async def reach():
    return await asyncio.open_connection("127.0.0.1", payload["port"])
got = str(asyncio.run(reach()))
""",
}

KERNEL = {
    "new namespaces": SYSCALL
    + """
for flag in (0x10000000, 0x00020000, 0x40000000, 0x20000000, 0x08000000, 0x04000000, 0x02000000, 0x80):
    if libc.unshare(flag) == 0 or call(272, flag) == 0:
        got = hex(flag)
""",
    "join namespaces": SYSCALL
    + """
import os
for path in (f"/proc/{payload['host']}/ns/net", "/proc/1/ns/mnt", "/"):
    try:
        if call(308, os.open(path, 0), 0) == 0:
            got = path
    except OSError:
        pass
""",
    "mounts": SYSCALL
    + """
c = ctypes.c_char_p
tries = ((165, (c(b"none"), c(b"/tmp"), c(b"tmpfs"), 0, 0)), (165, (c(b"proc"), c(b"/tmp"), c(b"proc"), 0, 0)),
         (165, (c(b"/"), c(b"/tmp"), 0, 4096, 0)), (165, (0, c(b"/"), 0, 32 | 4096, 0)), (166, (c(b"/tmp"), 2)),
         (155, (c(b"/tmp"), c(b"/tmp"))), (428, (-100, c(b"/"), 1)), (429, (-100, c(b"/"), -100, c(b"/tmp"), 0)),
         (430, (c(b"tmpfs"), 0)), (442, (-100, c(b"/"), 0, 0, 0)), (161, (c(b"/tmp"),)))
for number, given in tries:
    if call(number, *given) >= 0:
        got = number
""",
    "keys": SYSCALL
    + """
c = ctypes.c_char_p
if call(248, c(b"user"), c(b"x"), c(b"y"), 1, -3) > 0 or call(249, c(b"user"), c(b"x"), 0, -3) > 0:
    got = "added"
if call(250, 0, -3, 1) > 0 or call(250, 1, 0) > 0:
    got = "joined"
""",
    "bpf, perf, userfaultfd, io_uring, fanotify, inotify": SYSCALL
    + """
room = ctypes.create_string_buffer(256)
for number, given in ((321, (0, room, 64)), (298, (room, 0, -1, -1, 0)), (323, (1,)), (425, (4, room)),
                      (300, (0, 0)), (294, (0,)), (253, ()), (438, (1, 0, 0)), (434, (1, 0)), (447, (0,)),
                      (444, (room, 24, 0)), (317, (1, 0, 0)), (290, (0, 0)), (291, (0,)), (283, (0, 0)),
                      (282, (-1, room, 8, 0))):
    if call(number, *given) >= 0:
        got = number
""",
    "modules, kexec, reboot, swap, quota, acct, time": SYSCALL
    + """
room = ctypes.create_string_buffer(256)
for number, given in ((175, (room, 16, room)), (313, (0, room, 0)), (176, (room, 0)), (246, (0, 0, 0, 0)),
                      (320, (0, 0, 0, 0, 0)), (169, (0xfee1dead, 672274793, 0x89abcdef, 0)), (167, (room, 0)),
                      (168, (room,)), (179, (0, 0, 0, 0)), (163, (room,)), (164, (room, 0)), (227, (0, room)),
                      (305, (0, room)), (159, (room,)), (170, (room, 1)), (171, (room, 1)), (172, (3,)),
                      (173, (0, 1, 1)), (103, (3, room, 256)), (212, (0, room, 8))):
    if call(number, *given) >= 0:
        got = number
""",
    "trace": SYSCALL
    + """
for request, pid in ((0, 0), (16, payload["host"]), (16, payload["victim"]), (0x4206, payload["host"]), (16, 1)):
    if call(101, request, pid, 0, 0) >= 0:
        got = (request, pid)
""",
    "another user": """
import os
before = (os.getresuid(), os.getresgid())
for act in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setresuid(0, 0, 0), lambda: os.seteuid(0),
            lambda: os.setgroups([0]), lambda: os.setreuid(1000, 1000), lambda: os.initgroups("root", 0)):
    try:
        act()
        got = "changed"
    except OSError:
        pass
if (os.getresuid(), os.getresgid()) != before or os.getuid() == 0:
    got = os.getresuid()
""",
    "rights back": SYSCALL
    + """
import struct
header = struct.pack("=Ii", 0x20080522, 0)
if call(126, header, struct.pack("=6I", *[0xffffffff] * 6)) == 0:
    got = "capset"
for option, given in ((38, 0), (8, 1), (28, 0), (47, 2), (22, 0), (4, 1), (36, 1), (35, 1), (0x59616d61, -1)):
    if call(157, option, given, 0, 0, 0) >= 0:
        got = option
""",
    "looser limits": """
import resource
for name in (one for one in dir(resource) if one.startswith("RLIMIT_")):
    for most in ((resource.RLIM_INFINITY,) * 2, (1 << 40,) * 2):
        try:
            resource.setrlimit(getattr(resource, name), most)
            got = name
        except (OSError, ValueError):
            pass
""",
    "higher priority": """
import os
for act in (lambda: os.nice(-20), lambda: os.setpriority(0, 0, -20),
            lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)),
            lambda: os.sched_setaffinity(0, {0})):
    try:
        act()
        got = "raised"
    except OSError:
        pass
""",
    "the host's name": """
import os, socket
try:
    socket.sethostname("owned")
    got = "named"
except OSError:
    pass
if os.uname().nodename not in ("sandbox",):
    got = os.uname().nodename
""",
    "memory of the old system": SYSCALL
    + """
room = ctypes.create_string_buffer(64)
for number, given in ((29, (0, 4096, 0o1600)), (64, (0, 1, 0o1600)), (68, (0, 0o1600)),
                      (240, (ctypes.c_char_p(b"x"), 0o102, 0o600, 0)),
                      (135, (0xffffffff,)), (135, (0x0400000,)), (149, (room, 64)), (151, (1,)), (325, (room, 64, 0))):
    if call(number, *given) >= 0:
        got = number
""",
    "code written into memory": """
import ctypes, mmap
space = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
space.write(b"\\xb8\\x2a\\0\\0\\0\\xc3")
got = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(space)))()
""",
    "memory made executable later": SYSCALL
    + """
import mmap
space = mmap.mmap(-1, 4096)
space.write(b"\\xb8\\x2a\\0\\0\\0\\xc3")
where = ctypes.addressof(ctypes.c_char.from_buffer(space))
if call(10, where, 4096, 5) == 0 or call(329, where, 4096, 5, -1) == 0:
    got = ctypes.CFUNCTYPE(ctypes.c_int)(where)()
""",
    "calls by another table": SYSCALL
    + """
for number in (0x40000000 + 57, 0x40000000 + 41, 0x40000000 + 2, 0x40000000 + 39):
    if call(number, 2, 1, 0) >= 0:
        got = hex(number)
""",
    "every number there is": SYSCALL
    + """
import os
# All but those that end, stop or confuse the caller itself; whatever works beyond the known ones is worth a look.
skipped = {0, 1, 3, 7, 9, 10, 11, 12, 13, 14, 15, 19, 20, 23, 24, 25, 28, 32, 33, 34, 35, 60, 127, 128, 130, 202, 219,
           230, 231, 270, 271, 273, 281, 292, 334, 335, 336}
allowed = {4, 5, 6, 8, 17, 21, 39, 63, 72, 78, 79, 89, 96, 97, 98, 100, 102, 104, 107, 108, 110, 111, 118, 120, 131,
           186, 201, 204, 217, 228, 229, 257, 262, 267, 269, 302, 318, 324, 332, 439, 2}
odd = []
for number in range(0, 480):
    if number not in skipped and call(number, 0, 0, 0, 0, 0, 0) >= 0 and number not in allowed:
        odd.append(number)
if odd:
    got = odd
""",
}

FLOODS = {
    "fork bomb": """
import os
while True:
    try:
        os.fork()
        got = "forked"
    except OSError:
        break
""",
    "thread bomb": """
import threading, time
made = []
while len(made) < 10000:
    made.append(threading.Thread(target=time.sleep, args=(60,), daemon=True))
    made[-1].start()
    got = len(made)
""",
    "two gibibytes": "got = len(bytearray(2 << 30))",
    "many small objects": """
held = []
while True:
    held.append([len(held)])
""",
    "memory that is only reserved": """
import mmap
held = []
while len(held) < 64:
    held.append(mmap.mmap(-1, 64 << 20))
got = len(held) * 64
""",
    "an endless string": 'text = "x"\nwhile True:\n    text += text\n',
    "a big power": "got = len(str(10 ** (10 ** 10)))",
    "an expression that never matches": """
import re
re.match(r"(a+)+$", "a" * 60 + "b")
""",
    "a loop of a minute": """
import time
end = time.monotonic() + 60
while time.monotonic() < end:
    pass
got = "a minute"
""",
    "a sleep of a minute": "import time; time.sleep(60); got = 'slept'",
    "a gibibyte of output": """
import sys
for _ in range(1024):
    sys.stdout.write("x" * (1 << 20))
got = "printed"
""",
    "a gibibyte of errors": """
import os
while True:
    os.write(2, b"e" * 65536)
""",
    "a gibibyte of answer": "return {'x': 'y' * (200 << 20)}",
    "deep recursion": """
import sys
sys.setrecursionlimit(1 << 30)
def down(n):
    return down(n + 1) + 1
down(0)
""",
    "recursion in C": """
import sys
sys.setrecursionlimit(1 << 30)
value = ()
for _ in range(10_000_000):
    value = (value,)
repr(value)
""",
    "a nest for the parser": 'eval("(" * 5000 + ")" * 5000); eval("-" * 2_000_000 + "1"); eval("[" * 199 + "]" * 199)',
    "open files": """
import os
held = []
while True:
    held.append(os.open("/", os.O_RDONLY))
    if len(held) > 1000:
        got = len(held)
        break
""",
    "pipes": """
import os
for _ in range(100):
    os.pipe()
    got = "made"
""",
    "a crash": "import ctypes; ctypes.string_at(0)",
    "an abort": "import os; os.abort()",
    "a bad stack": "import ctypes; ctypes.memset(id(0), 255, 1 << 20)",
    "a divide in a bomb of zip": """
import zlib
packed = zlib.compress(bytes(200 << 20), 9)
held = [zlib.decompress(packed) for _ in range(10)]
got = len(held)
""",
}

TALK = {
    "answer for oneself and go on": """
import os
os.write(0, b'{"value": {"forged": true}}\\n')
while True:
    pass
""",
    "an answer that is no JSON": "import os; os.write(0, b'\\xff\\xfe{{{\\n'); os._exit(0)",
    "an answer nested to the sky": "import os; os.write(0, b'{\"value\": ' + b'[' * 300000 + b'\\n'); os._exit(0)",
    "an answer with a number of a million digits": """
import os
os.write(0, b'{"value": {"x": ' + b'9' * 500000 + b'}}\\n')
""",
    "no answer": "import os; os._exit(0)",
    "silence on all lines": """
import os, time
for n in (0, 1, 2):
    os.close(n)
time.sleep(60)
""",
    "a pickle for an answer": """
import os, pickle
class Trap:
    def __reduce__(self):
        return os.system, ("touch " + payload["folder"] + "/" + payload["mark"],)
os.write(0, pickle.dumps(Trap()) + b"\\n")
os._exit(0)
""",
    "an error that prints the world": """
class Trap(Exception):
    def __str__(self):
        return "x" * (1 << 30)
raise Trap
""",
    "a result that is a trap": """
class Trap(dict):
    def items(self):
        while True:
            yield "x", "y"
return Trap(a=1)
""",
    "the guest's own functions": """
import sys
main = sys.modules["__main__"]
main.json.dumps = lambda *a, **k: '{"value": {"forged": 1}}' * 100000
main.os.write = lambda *a: 1
sys.stdout = None
""",
    "wait for another job": """
import os
more = os.read(0, 1 << 20)
if more:
    got = more
""",
    "exit by hook": """
import atexit, sys
atexit.register(lambda: open(payload["folder"] + "/" + payload["mark"], "w"))
sys.exit(0)
""",
}

WAYS_AROUND = {
    "builtins by a frame": """
import sys
found = sys._getframe().f_back.f_builtins["__import__"]("os")
got = found.listdir("/etc") if found.path.exists("/etc") else None
""",
    "builtins by subclasses": """
for one in object.__subclasses__():
    if one.__name__ == "_wrap_close":
        got = one.__init__.__globals__["system"]("true") == 0 or None
""",
    "code objects by hand": """
def shell():
    return None
code = shell.__code__.replace(co_code=b"\\x97\\x00" + b"\\xff\\xff" * 64)
shell.__code__ = code
shell()
""",
    "a loader": """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("settings", payload["root"] + "/configs/settings.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
got = module.__file__
""",
    "the collector": """
import gc
for one in gc.get_objects():
    if isinstance(one, str) and payload["folder"] in one and one not in payload.values():
        got = one
""",
    "audit hooks and tracing": """
import sys
sys.addaudithook(lambda *a: None)
sys.settrace(lambda *a: None)
sys.setprofile(lambda *a: None)
""",
    "a library of one's own": """
import ctypes
for path in (payload["folder"] + "/x.so", "/tmp/x.so"):
    try:
        open(path, "wb").write(b"\\x7fELF")
        got = path
    except OSError:
        pass
""",
    "pickle, marshal, yaml": """
import marshal, pickle
pickle.loads(b"cos\\nsystem\\n(S'touch /tmp/x'\\ntR.")
marshal.loads(b"\\xe3" + b"\\0" * 40)
""",
    "the debugger and the shell of Python": """
import code, pdb
code.interact(local={})
pdb.set_trace()
""",
    "turn off what guards": """
import builtins, sys
builtins.__import__ = None
builtins.print = None
sys.modules.clear()
""",
}

FAMILIES = {
    "files": FILES,
    "secrets": SECRETS,
    "links": LINKS,
    "processes": PROCESSES,
    "signals": SIGNALS,
    "network": NETWORK,
    "kernel": KERNEL,
    "floods": FLOODS,
    "talk": TALK,
    "ways around": WAYS_AROUND,
}
ATTACKS = tuple(Attack(family, name, body) for family, members in FAMILIES.items() for name, body in members.items())
# The four that the goal names.
NAMED = ("fork bomb", "two gibibytes", "a loop of a minute", "a gibibyte of output")
