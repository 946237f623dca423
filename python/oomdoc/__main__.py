"""``python -m oomdoc`` is the program ``oomdoc``."""

import subprocess
import sys

from ._binary import NotFound, find


def main():
    try:
        return subprocess.call([find()] + sys.argv[1:])
    except NotFound as error:
        print(f"oomdoc: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
