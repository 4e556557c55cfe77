"""A visit to the page in a browser: what a person does, and what must never happen meanwhile."""

from urllib.parse import urlsplit

PATIENCE = 60_000  # milliseconds, for a busy machine


class Visit:
    """A page in a window of its own.

    Parameters
    ----------
    browser : Browser
    url : str
        Where the service is.
    options : dict
        Options of the browser's context, such as its color scheme.

    Attributes
    ----------
    page : Page
    sent : list of Request
        All requests.
    expected : tuple of str
        Beginnings of messages in the console that a test provokes.
    """

    def __init__(self, browser, url, **options):
        self.url, self.sent, self.errors, self.expected = url, [], [], ()
        self.context = browser.new_context(reduced_motion="reduce", **options)
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.page.on("request", lambda each: self.sent.append(each))
        self.page.on("console", lambda each: self.errors.append(each.text) if each.type != "log" else None)
        self.page.on("pageerror", lambda each: self.errors.append(str(each)))
        self.page.on("dialog", lambda each: self.errors.append(f"dialog: {each.message}") or each.dismiss())
        self.page.goto(url)

    def close(self):
        self.context.close()

    def check(self):
        """Fail if the console had an error or a request went to another host."""
        assert [each for each in self.errors if not each.startswith(self.expected or ("\0",))] == []
        assert {urlsplit(each.url).netloc for each in self.sent} == {urlsplit(self.url).netloc}

    # What a person sees

    def text(self, selector):
        return self.page.locator(selector).inner_text()

    def focused(self):
        """Return the text that names the focused element."""
        script = "e => e.labels?.length ? [...e.labels].map(l => l.textContent).join(' ') : e.textContent"
        return self.page.evaluate(f"({script})(document.activeElement)")

    def has_focus(self, selector):
        return self.page.evaluate("s => document.activeElement.matches(s)", selector)

    def step(self):
        """Return what the page shows now, such as "Step 2" or "Done after 3 steps"."""
        return self.text("#case .step")

    def asked(self):
        """Return the names of the tests that are asked for."""
        labels = self.page.locator(".question .field > label, .question legend").all_inner_texts()
        return [each.removeprefix("Value of ") for each in labels]

    def is_done(self):
        return self.page.locator(".result").count() > 0

    # What a person does with the keyboard alone

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def tab_to(self, selector):
        """Press Tab until an element has the focus."""
        for _ in range(40):
            if self.has_focus(selector):
                return
            self.press("Tab")
        raise AssertionError(f"Tab does not reach {selector}.")

    def start(self, case=None, cap=None):
        """Start a case: one of the examples, or a new one."""
        self.tab_to("#start-form [type=radio]")
        while case and self.focused() != case:
            self.press("ArrowDown")
        self.tab_to("#start-form [type=text]")
        self.page.keyboard.type("" if cap is None else str(cap))
        self.press("Enter")
        self.page.locator("#case .step").wait_for()

    def after(self, action):
        """Do something and wait for the next step."""
        before = self.step()
        action()
        self.page.wait_for_function("b => document.querySelector('#case .step')?.textContent !== b", arg=before)

    def answer(self, *values):
        """Type the values that are asked for, from field to field, and send them."""

        def type_values():
            for i, value in enumerate(values):
                if i:
                    self.tab_to(f".question .row:nth-child({i + 1}) input:not([type=checkbox])")
                self.page.keyboard.type(str(value))
            self.press("Enter")

        self.after(type_values)

    def confirm(self):
        """Send what is filled in."""
        self.after(lambda: self.page.locator(".question button.primary").press("Enter"))

    def finish(self):
        """Confirm all steps that remain."""
        while not self.is_done():
            self.confirm()
