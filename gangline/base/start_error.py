"""Why a process cannot start, as an exception of its own."""


class StartError(Exception):
    """The process cannot start; the message says what to change. Logged without a traceback."""
