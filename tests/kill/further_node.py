"""Begins a node beside a head on this machine: `ray start` refuses that where every daemon binds loopback."""

import argparse


def main() -> None:
    """Its daemons stay; this program ends."""
    from ray._private.node import Node
    from ray._private.parameter import RayParams

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", help="of the head's GCS")
    parser.add_argument("--cpus", type=int, required=True)
    parser.add_argument("--memory", type=int, required=True, help="of the object store, in bytes")
    parser.add_argument("--agent-port", type=int, required=True)
    options = parser.parse_args()
    wanted = RayParams(
        gcs_address=options.address,
        node_ip_address="127.0.0.1",
        num_cpus=options.cpus,
        num_gpus=0,
        object_store_memory=options.memory,
        min_worker_port=0,  # two nodes on one machine: each takes ports that are free
        max_worker_port=0,
        node_manager_port=0,
        dashboard_agent_listen_port=options.agent_port,
        include_log_monitor="",  # none: what is not empty is one
    )
    Node(wanted, head=False, shutdown_at_exit=False, spawn_reaper=False)


if __name__ == "__main__":
    main()
