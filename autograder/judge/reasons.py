"""Explains to the student why their process gave no answer that can be judged."""

from anatomy.system.translation import _

from autograder.sandbox import AskDied, AskFailed, AskTimeout, DeadSession, ReplyTooLarge, StudentError


def reason(error: Exception, timeout: float) -> tuple[str, str]:
    """(slug, sentence) for a SessionError or for an unreadable reply; timeout: the time limit in seconds."""
    if isinstance(error, AskTimeout):
        said = _(
            "Your code did not finish within {n:g} seconds, not counting those in which other programs had the "
            "processor. Look for a loop that never ends, or for a loop over entries where one tensor operation would "
            "do."
        )
        return "generic.timeout", said.format(n=timeout)
    if isinstance(error, AskDied):
        return "generic.process_ended", _("Your code ended its Python process: {error}.").format(error=error)
    if isinstance(error, ReplyTooLarge):
        return "generic.too_large", _("Your results are far larger than the ones asked for. Print their shapes.")
    if isinstance(error, DeadSession):
        return "generic.no_session", _("This exercise could not be run: {error}.").format(error=error)
    if isinstance(error, StudentError) and error.name in ("MemoryError", "PanicException"):
        # Packing the reply ran out of memory; safetensors reports this as a panic.
        return "generic.too_large", _("Your results are far larger than the ones asked for. Print their shapes.")
    if isinstance(error, StudentError):
        return "generic.unreadable", _("Your results could not be sent back ({error}).").format(error=error.name)
    if isinstance(error, AskFailed):
        return "generic.malformed", _("Your results could not be sent back ({error}).").format(error=error)
    said = _("Your results did not come back in the form asked for: {error}.")
    return "generic.malformed", said.format(error=error)
