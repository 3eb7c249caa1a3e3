"""The line of a `ProgressDisplay`, drawn by Rich: what is done, a bar, and as many parts as fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from distrivote.report.terminal.palette import palette
from distrivote.report.text import shortened

_BAR, _SHORT_BAR = 28, 10
_WIDE = 100


class ProgressLine(Progress):
    """A bar without a thread: it is drawn when `draw` is called."""

    def __init__(self, console: Console) -> None:
        bar = _BAR if console.width >= _WIDE else _SHORT_BAR
        kept = palette().kept
        self._below = ""  # read by Rich while it creates the rest
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar, style="dim", complete_style=kept, finished_style=kept),
            _Parts(console, bar),
            console=console,
            auto_refresh=False,
            transient=True,
            # Messages during the progress are printed above the line; standard output is not redirected.
            redirect_stdout=False,
        )
        self._room = console.width - bar - 3
        self._task = self.add_task("", total=1.0, parts=())

    def draw(self, share: float, what: str, parts: Sequence[str], below: str) -> None:
        """Show a share that is done, 0 to 1, what is being done, more about it, and a second line."""
        first = len(parts[0]) if parts else 0
        title = shortened(what, max(1, self._room - first))
        self._below = below
        self.update(self._task, completed=share, description=title, parts=tuple(parts), refresh=True)

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        if self._below:
            yield Text(self._below, style="dim", no_wrap=True, overflow="ellipsis")


class _Parts(ProgressColumn):
    """As many parts as fit beside the title and the bar."""

    def __init__(self, console: Console, bar: int) -> None:
        super().__init__()
        self._console, self._bar = console, bar

    def render(self, task: Task) -> Text:
        room = self._console.width - len(task.description) - self._bar - 3
        line = ""
        for part in task.fields["parts"]:
            longer = f"{line} · {part}" if line else part
            if len(longer) > room:
                break
            line = longer
        return Text(line, no_wrap=True, overflow="ellipsis")
