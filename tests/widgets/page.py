"""Reading and moving a widget in a page, as a person does."""


def find(page, role, name):
    """The control itself; of radio buttons the one that is chosen, which is where the tab key lands."""
    control = page.get_by_role(role, name=name, exact=True)
    return control.locator("input:checked") if role == "group" else control


def settle(page):
    """Two frames: one for the drawing that was asked for, one for it to be on the screen."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def trait(page, name):
    return page.evaluate("(name) => model.get(name)", name)


def said(page):
    """What a screen reader hears."""
    return page.locator(".ta [aria-live=polite]").text_content()


def words(page):
    """The verdicts beside the numbers."""
    return page.locator(".ta-word").all_text_contents()
