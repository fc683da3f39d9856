"""Drawing tokens in SamplingExplorer's page, as a person does."""

import numpy as np

from ..page import settle


def press(page, name, times=1):
    button = page.get_by_role("button", name=name, exact=True)
    for _ in range(times):
        button.press("Enter")
    settle(page)


def counts(page):
    """How often each token was drawn, by the numbers beside the bars; None before the first draw."""
    texts = [text for text in page.locator("text.ta-small").all_text_contents() if text.startswith("drawn ")]
    if not texts:
        return None
    return [int(text.removeprefix("drawn ").replace(",", "")) for text in texts]


def farthest(page, probabilities):
    """Largest distance of a share of the draws from its probability."""
    drawn = np.array(counts(page))
    return np.abs(drawn / drawn.sum() - probabilities).max()
