"""Why a process must end although it does as it should, as exceptions of their own."""


class FatalError(Exception):
    """The process must end; the message says why, and what to change. Logged without a traceback."""


class StartError(FatalError):
    """The process cannot start."""
