"""A page as a browser reads it, and what must not be in it."""

from html.parser import HTMLParser

LOADS = ("src", "href", "action", "formaction", "poster", "data", "xlink:href", "background")
FORBIDDEN = {"style", "iframe", "object", "embed", "base", "frame", "applet", "template", "math"}


class Markup(HTMLParser):
    """Reads a page.

    Attributes:
        faults: whatever could run, load or look like something that is not ours.
        links: addresses that the page leads to.
        forms: (method, action, [(name, value, kind)]) of each form.
        said: all text: between tags, and in attributes that are shown or sent.
    """

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.faults, self.links, self.forms, self._texts = [], [], [], []
        self._inside, self._area, self._is_data = [], None, False
        self.feed(page)
        self.close()
        self.said = "\n".join(self._texts)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if len(attributes) != len(attrs):
            self._fault(tag, "has an attribute twice")
        if tag in FORBIDDEN or (tag == "meta" and "http-equiv" in attributes):
            self._fault(tag, "stands in the page")
        for name, value in attrs:
            self._attribute(tag, name, value or "")
        home = {"script": "/static/review/", "link": "/static/review/", "img": "/pictures/"}.get(
            tag
        )
        loads = tag != "img" or "src" in attributes
        self._is_data = attributes.get("type") == "application/json" and "src" not in attributes
        if (
            home
            and loads
            and not self._is_data
            and not (attributes.get("src") or attributes.get("href") or "").startswith(home)
        ):
            self._fault(tag, "is not ours")
        if tag == "a":
            self.links.append(attributes["href"])
            if attributes.get("target") and "noopener" not in attributes.get("rel", ""):
                self._fault(tag, "opens a window that knows us")
        self._form(tag, attributes)
        self._inside.append(tag)

    def _attribute(self, tag, name, value):
        if name.startswith("on") or name in ("style", "srcdoc", "srcset", "ping"):
            self._fault(tag, name)
        if name in LOADS and not is_ours(value):
            self._fault(tag, f"{name}={value}")
        if name in ("value", "title", "aria-label", "alt", "placeholder", "content"):
            self._texts.append(value)

    def _form(self, tag, attributes):
        if tag == "form":
            method = attributes.get("method", "get")
            self.forms.append((method, attributes.get("action", ""), []))
        elif (
            tag in ("input", "textarea", "select", "button")
            and attributes.get("name")
            and self.forms
        ):
            kind = attributes.get("type", tag)
            self.forms[-1][2].append((attributes["name"], attributes.get("value") or "", kind))

    def handle_endtag(self, tag):
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data):
        if self._inside[-1:] == ["script"] and data.strip() and not self._is_data:
            self._fault("script", "has text of its own")
        self._texts.append(data)

    def handle_comment(self, data):
        self._fault("comment", data)

    def _fault(self, tag, what):
        self.faults.append(f"<{tag}>: {what}")


def is_ours(address):
    """Whether an address can only lead into the application."""
    if address[:1] in ("#", "?", ""):
        return True
    return address.startswith("/") and address[1:2] not in ("/", "\\") and ":" not in address[:2]
