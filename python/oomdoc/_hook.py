"""Scripts: the answer follows the traceback."""

import sys
import threading

from . import _answer

_before = {}  # the hooks that stood when ours were put in


def install(full=False, tensors=False):
    """When an exception that nobody caught is about memory, write the answer to
    standard error after the traceback. The hooks that stand are called first;
    calling it again changes full and tensors.
    """
    if not _before:
        _before["sys"], _before["threading"] = sys.excepthook, threading.excepthook

    def main(kind, error, trace):
        _before["sys"](kind, error, trace)
        explain(error, full, tensors)

    def thread(args):
        _before["threading"](args)
        if args.exc_value is not None:
            explain(args.exc_value, full, tensors)

    sys.excepthook, threading.excepthook = main, thread


def uninstall():
    """Put back the hooks that stood before install."""
    if _before:
        sys.excepthook, threading.excepthook = _before["sys"], _before["threading"]
        _before.clear()


def explain(error, full=False, tensors=False):
    """Write the answer to standard error, or one line that says why there is
    none. It never raises: a hook that fails would hide the crash."""
    try:
        told = _answer.answer(error, full, tensors)
        if told is not None:
            sys.stderr.write("\n" + told.text())
            sys.stderr.flush()
    except Exception as trouble:
        _complain(trouble)


def _complain(trouble):
    try:
        sys.stderr.write(f"oomdoc: no answer: {trouble}\n")
    except Exception:
        pass
