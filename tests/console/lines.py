"""What the console has to hold, line by line, each a figure with that line as its goal."""

from dataclasses import dataclass, field

from tests.evals.report import Report

WALK = (
    "End-to-end tests in real headless Chromium: sign in → ingest the samples → watch progress reach 100 % → open a "
    "citation and see the right page with the passage boxed → chat with approval → retry a failed page → re-index and "
    "roll back → sign out. Screenshots of every page are written to a folder"
)
ROLES = "A Viewer sees no action it may not do, and forging the request gets 403; tenant B sees nothing of A."
TASKS = "Every page has one task completed in the browser test; no request leaves its origin."
AXE = "axe-core finds no serious violation in what we wrote (what the framework itself brings is listed)."
LEAK = "200 sessions opened and closed leak < 100 MB"
LIST = "the time to open a list of 10,000 documents is printed beside a list of 10 (aim ≤ 2×)."
NEWCOMER = "A newcomer's walk, written in README as eight steps, works literally."
GOALS = (WALK, ROLES, TASKS, AXE, LEAK, LIST, NEWCOMER)


@dataclass
class Lines:
    """Figures of one session of tests."""

    report: Report = field(default_factory=lambda: Report("test-console"))

    def tell(self, name: str, value: float | int | str, goal: str, holds: bool, unit: str = "") -> None:
        """One figure of a line."""
        self.report.figure(name, value, unit=unit, goal=goal, holds=holds)

    def finish(self) -> None:
        """Write them; a line that no test came to is a figure without a value."""
        told = {figure.goal for figure in self.report.figures}
        for goal in GOALS:
            if goal not in told:
                self.report.figure("not shown by this run", None, goal=goal)
        self.report.finish()
