"""From an exception to an answer."""

import contextlib
import re
import shutil
import subprocess
import traceback

from . import _figures
from ._binary import find

# Only exceptions with one of these words are looked into: an answer costs a
# process of about 20 ms, and most exceptions have nothing to do with memory.
# Whether memory ran out is the program's to say.
_HINT = re.compile(r"memory|alloc|exhausted|\boom\b", re.IGNORECASE)

_TIMEOUT = 20  # seconds; an answer takes a fraction of one
_MOST = 1 << 20  # characters of a traceback: what stands at its end counts


class Answer:
    """What the program says of one exception, and the process's own figures."""

    def __init__(self, report, figures, full=False):
        self._report, self._figures, self._full = report, figures, full

    def text(self, width=None):
        """The answer as plain text, in so many columns; None: the terminal's."""
        if width is None:
            width = min(max(shutil.get_terminal_size().columns, 40), 100)
        return self._written("text", "--width", str(width)) + _figures.as_text(self._figures)

    def html(self):
        """The answer as a piece of HTML, without scripts."""
        page = self._written("html")
        piece = page[page.index("<style>") : page.index("</main>")].replace("</head>\n<body>\n", "")
        return piece + _figures.as_html(self._figures) + "</main>"

    def _written(self, form, *flags):
        done = _program(self._report, "--from-report", "-", "--format", form, *flags, *(["--full"] if self._full else []))
        if done.returncode != 0:
            raise _failed(done)
        return done.stdout


def answer(error, full=False, tensors=False):
    """An Answer about an exception, or None where it is not about memory.

    full: all that is known instead of a page. tensors: also what the tensors
    that Python still holds take, by shape, which walks all objects.
    Raises NotFound where the program is missing.
    """
    told = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    if not isinstance(error, MemoryError) and not _HINT.search(told):
        return None
    log = told[-_MOST:]
    # The tables of a process that once recovered say that memory ran out, too:
    # whether this exception is about memory is for its own words to say.
    if _report(log) is None:
        return None
    return Answer(_report(log + _figures.for_the_log(), "--live"), _figures.of_this_process(tensors), full)


def _report(log, *flags):
    """The program's report on a log, None where memory did not run out."""
    done = _program(log, "--format", "json", *flags)
    if done.returncode > 1:
        raise _failed(done)
    return done.stdout if done.returncode == 0 else None


def _failed(done):
    lines = done.stderr.strip().splitlines()
    return RuntimeError(lines[0] if lines else f"the program ended with {done.returncode}")


def _program(log, *flags):
    with _no_limit():
        return subprocess.run([find(), *flags], input=log, capture_output=True, encoding="utf-8", errors="replace", timeout=_TIMEOUT)


@contextlib.contextmanager
def _no_limit():
    """Lifts the limit on address space while the program starts, which inherits
    it: the limit that stopped the script would stop the program, too."""
    try:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    except (ImportError, AttributeError, OSError, ValueError):  # Windows; macOS
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
