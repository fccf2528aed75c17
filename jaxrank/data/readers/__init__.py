"""Files and data frames of results in: ``read`` and ``from_frame``."""

from jaxrank.data.readers.frames import Frame, from_frame, is_frame
from jaxrank.data.readers.reader import read, read_columns

__all__ = ["Frame", "from_frame", "is_frame", "read", "read_columns"]
