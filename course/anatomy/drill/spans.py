"""Reads a length of time as people write it: ``"two weeks"``, ``"10 days"``, ``"两周"``."""

import re

LONGEST = 366  # days
_WORDS = "a one two three four five six seven eight nine ten eleven twelve thirteen fourteen".split()
_NUMBERS = {word: max(1, n) for n, word in enumerate(_WORDS)} | {"an": 1}
_DIGITS = {sign: n for n, sign in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_DAYS = {
    **dict.fromkeys(("d", "day", "days", "天", "日"), 1),
    **dict.fromkeys(("w", "week", "weeks", "周", "星期", "个星期", "礼拜", "个礼拜"), 7),
    **dict.fromkeys(("month", "months", "月", "个月"), 30),
}


class NoSpan(ValueError):
    """The text names no length of time that a plan can have."""


def days_in(text: str) -> int:
    """The number of days, 1 to LONGEST; a month has 30. Raises NoSpan."""
    found = re.fullmatch(
        r"\s*(\d{1,4}|[a-z]+|[零〇一二两三四五六七八九十]+)[\s-]*([a-z]+|[个天日周星期礼拜月]+)\s*", text.lower()
    )
    days = _number(found[1]) * _DAYS.get(found[2], 0) if found else 0
    if not 1 <= days <= LONGEST:
        raise NoSpan(text)
    return days


def _number(word: str) -> int:
    """0 for a word that is no number."""
    if word.isdecimal():
        return int(word)
    if word in _NUMBERS:
        return _NUMBERS[word]
    tens, ten, ones = word.rpartition("十")
    if len(tens) > 1 or len(ones) > 1 or not {*tens, *ones} <= set(_DIGITS):
        return 0
    return (_DIGITS[tens] if tens else 1) * 10 * bool(ten) + (_DIGITS[ones] if ones else 0)
