"""`python -m scheduler`."""

import sys

from scheduler.app import main

if __name__ == "__main__":
    sys.exit(main())
