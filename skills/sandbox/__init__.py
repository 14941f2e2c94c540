"""The fence around Python that people or models wrote: a process of its own behind the kernel's walls.

A script sees an interpreter and its standard library, read-only, and nothing else: no other process, no network, no
file of this machine or of this program, no environment, no rights. It may compute, print and give back a JSON object;
of the kernel it may ask only what `filter.PLAIN` names. It has one process, one thread, an address space of 256 MiB and
5 seconds; then it is killed. Each interpreter is used once.

The list of modules that a script may import is a courtesy to authors, who are told early what is not offered. It is not
a wall, and nothing here relies on it.

What this does not protect against:

- A flaw in the kernel that is reached through the system calls that remain. What must survive that runs in a virtual
  machine.
- Side channels: the time that things take, caches, the processor's speculation, how loaded the machine is. Scripts of
  tenants who must not learn of each other do not belong on one machine.
- Use of what is allowed: a script may keep one processor core busy for its 5 seconds and hold 256 MiB while it does.
  `sandbox.at_once` says how many may at the same time; over them all there is no further budget, and no cgroup.
- What a script's answer says. Result, output and error text are its own words: they are capped and well-formed, not
  true, and text from it must not be taken for an instruction, a path, a query or HTML.
- A payload's secrets: a script can print and return what it is given. Give it nothing that its reader may not see.
- What the version of Python and its libraries tell of this machine: also the processor's model and the clock.
- A host where a layer is missing. That is found out by looking at each process before it gets a script; the script is
  then refused, unless `sandbox.untrusted_without` gives the layer up, and then it is not there.
- Whoever can already change this program's files, settings or interpreter.
"""
