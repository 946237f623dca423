"""Explains out-of-memory crashes where they happen.

In a script, before the work begins::

    import oomdoc
    oomdoc.install()

In a notebook or IPython: ``%load_ext oomdoc``, and ``%oomdoc --full`` or
``%oomdoc --tensors`` after a crash for more.

When the script or a cell dies of memory, what happened, why and what to do
follows the traceback, with the figures that only the living process has. All of
it happens on this machine: the answer is that of the program ``oomdoc``, which
the wheel brings along and which has no network code.
"""

from ._answer import Answer, answer
from ._binary import NotFound
from ._hook import install, uninstall
from ._notebook import load_ipython_extension, unload_ipython_extension

__all__ = ["Answer", "NotFound", "answer", "install", "uninstall", "load_ipython_extension", "unload_ipython_extension"]
