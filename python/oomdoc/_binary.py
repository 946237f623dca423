"""Where the program is."""

import os
import shutil
import sys
import sysconfig


class NotFound(Exception):
    """The program oomdoc is not here."""


def find():
    """The path of the program: what OOMDOC_BINARY names, else the one that the
    wheel put beside python, else the first in PATH. Raises NotFound."""
    named = os.environ.get("OOMDOC_BINARY")
    if named:
        if os.access(named, os.X_OK):
            return named
        raise NotFound(f"OOMDOC_BINARY names {named}, which cannot be run")
    name = "oomdoc.exe" if os.name == "nt" else "oomdoc"
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
    user = os.name + "_user"
    if user in sysconfig.get_scheme_names():
        folders.append(sysconfig.get_path("scripts", user))
    for folder in folders:
        path = os.path.join(folder or "", name)
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    path = shutil.which("oomdoc")
    if path:
        return path
    raise NotFound("the program oomdoc is neither beside python nor in PATH; install the wheel, or set OOMDOC_BINARY")
