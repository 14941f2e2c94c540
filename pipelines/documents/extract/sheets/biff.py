"""Old workbooks (BIFF8): formulas whose value nobody has calculated, which the reading library passes over."""

import io
import struct

import olefile

_FORMULA = 0x0006
_HEAD = struct.Struct("<HH")
_CELL = struct.Struct("<HHH8sH")  # row, column, format, result, options
_CALCULATE_ON_LOAD = 0x0002
_EMPTY_RESULT = 0x03  # in the first byte of a result that is no number, as the last two tell


def uncalculated_formulas(data: bytes) -> int:
    """Count a workbook's formulas without a value. Raises OSError or struct.error for a damaged container."""
    if not data.startswith(olefile.MAGIC):
        return 0
    with olefile.OleFileIO(io.BytesIO(data)) as container:
        name = next((one for one in ("Workbook", "Book") if container.exists(one)), None)
        stream = container.openstream(name).read() if name else b""
    return uncalculated_in(stream)


def uncalculated_in(stream: bytes) -> int:
    """Count formula cells without a result that ask to be calculated on opening, or all if none has a result.

    An empty result alone may be right (`=""`). The layout is that of [MS-XLS] 2.4.127.
    """
    at = formulas = empty = asking = 0
    while at + _HEAD.size <= len(stream):
        kind, size = _HEAD.unpack_from(stream, at)
        at += _HEAD.size
        if kind == _FORMULA and size >= _CELL.size and at + _CELL.size <= len(stream):
            *_, result, options = _CELL.unpack_from(stream, at)
            is_empty = result[0] == _EMPTY_RESULT and result[6:] == b"\xff\xff"
            formulas += 1
            empty += is_empty
            asking += is_empty and bool(options & _CALCULATE_ON_LOAD)
        at += size
    return empty if empty == formulas else asking
