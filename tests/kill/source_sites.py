"""Places that documents come from, filled, changed, stopped and started by `make test-sources`, by kind.

A site of a further kind is a class with the methods of `Site` and a line in `SITES`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.fakes.rights_shelf import RightsShelf
from tests.kill.sites.bucket_site import bucket_site
from tests.kill.sites.folder_sites import dav_folder_site, folder_site, shared_folder_site
from tests.kill.sites.mailbox_site import mailbox_site
from tests.kill.sites.pages_site import pages_site
from tests.kill.sites.repository_site import repository_site
from tests.kill.sites.site_port import PlainSite, Site


class RightsSite(PlainSite, RightsShelf):
    """Items that say who may see them."""


@contextmanager
def rights_site(base: Path) -> Iterator[Site]:
    """One of its own."""
    site = RightsSite()
    site.start()
    try:
        yield site
    finally:
        site.stop()


SITES: Mapping[str, Callable[[Path], Any]] = {
    "folder": folder_site,
    "s3": bucket_site,
    "rights_shelf": rights_site,
    "smb": shared_folder_site,
    "webdav": dav_folder_site,
    "imap": mailbox_site,
    "git": repository_site,
    "web": pages_site,
}
