"""Exceptions. Their text is the library's: what was expected, what was found, what to do."""


class Error(Exception):
    """What can go wrong in this package, apart from keys of a wrong type.

    >>> import bouquet
    >>> try:
    ...     bouquet.Bloom(items=1000, fpr=1.5)
    ... except bouquet.Error as error:
    ...     print(error)
    parameter `fpr` must be a number above 0 and below 1, but is `1.5`
    """

    def __str__(self) -> str:
        # KeyError, of which some are, would show quotes.
        return str(self.args[0]) if self.args else ""


class ParameterError(Error, ValueError):
    """A setting is missing, malformed or out of its range."""


class UnknownKindError(Error, LookupError):
    """There is no kind of this name."""


class UnsupportedError(Error, TypeError):
    """The kind cannot do this; the text names those that can."""


class IncompatibleError(Error, ValueError):
    """Two filters that were to be combined differ."""


class ItemError(Error, ValueError):
    """What a key carries is missing, superfluous or out of its range."""


class FullError(Error):
    """The filter has no room for the key; nothing was changed."""


class NotPresentError(Error, KeyError):
    """The key is certainly not in the filter; nothing was changed."""


class AmbiguousError(Error):
    """The filter cannot tell which of several places holds the key; nothing was changed."""


class BuildError(Error):
    """The filter cannot be built of these keys."""


class FrameError(Error, ValueError):
    """The bytes are no frame, or a damaged one."""


class SecretError(Error, PermissionError):
    """The filter is keyed, and the secret is missing or wrong, or nobody with the secret vouches for the filter."""


class FileError(Error, OSError):
    """The operating system or another writer stands in the way."""


class FileMissingError(FileError, FileNotFoundError):
    """There is no such file."""
