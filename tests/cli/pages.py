"""Reader of HTML pages for tests."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data
