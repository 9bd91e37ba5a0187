"""What every page keeps to: the width of a phone, targets for a thumb."""

NARROW = 360
SMALL = """() => [
        ...document.querySelectorAll("main button, .choice, summary, .top a, main .button")
    ].filter(part => part.getClientRects().length && part.getBoundingClientRect().height < 43.5)
    .map(part => part.outerHTML)"""
