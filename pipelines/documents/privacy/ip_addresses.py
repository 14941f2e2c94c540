"""IP addresses that lead to somebody: those of machines inside a network name nobody and stay."""

import re
from ipaddress import ip_address, ip_network

from pipelines.documents.privacy.kinds import text_before

_LOCAL = tuple(
    ip_network(n)
    for n in (
        *("0.0.0.0/8", "10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"),
        *("255.0.0.0/8", "::/127", "fe80::/10", "fc00::/7"),
    )
)


def is_public_ip(match: re.Match[str]) -> bool:
    """An address that is valid and does not belong inside a network; `version 1.2.3.4` is none, nor is `a::b`."""
    if ":" in match["it"] and sum(char.isdecimal() for char in match["it"]) < 2:
        return False
    try:
        address = ip_address(match["it"])
    except ValueError:
        return False
    if re.search(r"\b(?:version|release|ver|v|build)\W{0,3}\Z", text_before(match, 20), re.IGNORECASE):
        return False
    return not any(address in network for network in _LOCAL if network.version == address.version)
