"""Reading and operating a widget in a page, as a person does."""


def find(page, role, name):
    """The control itself; for radio buttons the chosen one, where the Tab key lands."""
    control = page.get_by_role(role, name=name, exact=True)
    return control.locator("input:checked") if role == "group" else control


def settle(page):
    """Waits two frames: one for the requested drawing, one for it to appear on the screen."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def trait(page, name):
    return page.evaluate("(name) => model.get(name)", name)


def said(page):
    """The text that a screen reader announces."""
    return page.locator(".ta [aria-live=polite]").text_content()


def words(page):
    """The verdicts next to the numbers."""
    return page.locator(".ta-word").all_text_contents()
