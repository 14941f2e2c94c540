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
_COUNTED = re.compile(
    r"(?:\b(?:version|release|ver|v|build|firmware|fw|revision|rev|patch|section|sec|chapter|clause|paragraph|article"
    r"|appendix|annex|table|figure|step|item|kapitel|abschnitt|ziffer)|§)\W{0,3}\Z",
    re.IGNORECASE,
)
_HEADING = re.compile(r"[ \t]{1,4}[^\W\d_a-z]")  # after the number, a title
_DEEPEST = 40  # sections within one; parts of an address are rarely all as small


def is_public_ip(match: re.Match[str]) -> bool:
    """An address that is valid and does not belong inside a network; `version 1.2.3.4` is none, nor is `a::b`."""
    if ":" in match["it"] and sum(char.isdecimal() for char in match["it"]) < 2:
        return False
    try:
        address = ip_address(match["it"])
    except ValueError:
        return False
    if _COUNTED.search(text_before(match, 20)) or _is_heading(match):
        return False
    return not any(address in network for network in _LOCAL if network.version == address.version)


def _is_heading(match: re.Match[str]) -> bool:
    """A section's number at the beginning of a line, before its title: `4.2.1.3 Scope of supply`."""
    before = text_before(match, 10).rpartition("\n")[2]
    if before.strip("#*> \t") or not _HEADING.match(match.string, match.end("it")) or ":" in match["it"]:
        return False
    return all(int(part) <= _DEEPEST for part in match["it"].split("."))
