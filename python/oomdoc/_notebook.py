"""IPython and Jupyter: ``%load_ext oomdoc``."""

import shlex
import sys

from . import _answer
from ._hook import _complain


def load_ipython_extension(shell):
    """After a cell that died of memory, show the answer below its traceback."""
    shell.events.register("post_run_cell", _after_cell)
    shell.register_magic_function(_magic, "line", "oomdoc")


def unload_ipython_extension(shell):
    shell.events.unregister("post_run_cell", _after_cell)
    shell.magics_manager.magics["line"].pop("oomdoc", None)


def _after_cell(result):
    # The error must not outlive this call: its frames hold the tensors.
    if result.error_in_exec is not None:
        _show(result.error_in_exec)


def _magic(line):
    """%oomdoc [--full] [--tensors]: the answer to the last exception again."""
    flags = shlex.split(line)
    unknown = [flag for flag in flags if flag not in ("--full", "--tensors")]
    if unknown:
        print(f"oomdoc: there is no {unknown[0]}; %oomdoc [--full] [--tensors]", file=sys.stderr)
        return
    error = getattr(sys, "last_value", None)
    if error is None or not _show(error, "--full" in flags, "--tensors" in flags):
        print("The last exception was not about memory." if error else "There was no exception yet.")


def _show(error, full=False, tensors=False):
    from IPython.display import display

    try:
        told = _answer.answer(error, full, tensors)
        if told is None:
            return False
        # A terminal takes the text, a notebook the HTML.
        display({"text/plain": "\n" + told.text(), "text/html": told.html()}, raw=True)
        return True
    except Exception as trouble:
        _complain(trouble)
        return True
