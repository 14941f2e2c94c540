"""Parallelism of reading: how many reader processes fit into the free part of a cluster."""

ONE_FOR_DATASET = 1.0  # CPUs that Ray Data's own tasks need beside its actors


def reader_count(
    cpus: float, gpus: float, cpus_each: float, gpus_each: float = 0.0, *, cores: int | None = None
) -> int:
    """At least one: it waits until there is room.

    Args:
        cpus: logical CPUs that nobody has reserved.
        gpus: GPUs likewise, in parts of one.
        cpus_each: what a reader reserves.
        gpus_each: likewise; 0 for readers without a GPU.
        cores: of the machine, where all readers run on one; logical CPUs may exceed them.
    """
    room = int((cpus - ONE_FOR_DATASET) / cpus_each)
    if gpus_each:
        room = min(room, int(gpus / gpus_each))
    return max(1, room if cores is None else min(room, cores))
