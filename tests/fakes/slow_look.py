"""A look at a folder that takes as long as a test likes."""

import threading
from collections.abc import Callable
from pathlib import Path

from configs.sections import ReadSettings
from serve_apps.http.routes.scans.folder_surveys import FolderSurvey


class SlowLook:
    """Looks until it is told to stop, or let go."""

    def __init__(self) -> None:
        self.begun, self.let_go, self.stopped = threading.Semaphore(0), threading.Event(), threading.Event()

    def __call__(self, read: ReadSettings, root: Path, gone: Callable[[], bool]) -> FolderSurvey:
        self.begun.release()
        while not gone() and not self.let_go.wait(0.01):
            pass
        if gone():
            self.stopped.set()
        return FolderSurvey(1, True, [], {})
