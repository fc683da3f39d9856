"""Why a question to a student's process has no answer that can be judged, in a student's words."""

from autograder.sandbox import AskDied, AskFailed, AskTimeout, DeadSession, ReplyTooLarge, StudentError


def reason(error: Exception, timeout: float) -> tuple[str, str]:
    """(slug, sentence) for a SessionError, or for a reply that cannot be read; timeout: seconds that were allowed."""
    if isinstance(error, AskTimeout):
        return "generic.timeout", (
            f"Your code did not finish within {timeout:g} seconds. Look for a loop that never "
            "ends, or for a loop over entries where one tensor operation would do."
        )
    if isinstance(error, AskDied):
        return "generic.process_ended", f"Your code ended its Python process: {error}."
    if isinstance(error, ReplyTooLarge):
        return "generic.too_large", "Your results are far larger than the ones asked for. Print their shapes."
    if isinstance(error, DeadSession):
        return "generic.no_session", f"This exercise could not be run: {error}."
    if isinstance(error, StudentError) and error.name in ("MemoryError", "PanicException"):
        # What packs the reply ran out of memory: safetensors reports it as a panic.
        return "generic.too_large", "Your results are far larger than the ones asked for. Print their shapes."
    if isinstance(error, StudentError):
        return "generic.unreadable", f"Your results could not be sent back ({error.name})."
    if isinstance(error, AskFailed):
        return "generic.malformed", f"Your results could not be sent back ({error})."
    return "generic.malformed", f"Your results did not come back in the form asked for: {error}."
