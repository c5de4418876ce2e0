"""The shop's pages, from the templates beside this file. Every value is escaped on its way into a template."""

import html
import string
from pathlib import Path

HERE = Path(__file__).resolve().parent

EVENTS = {
    "tidal-strings": ("Tidal Strings", "String quartet and a fog horn", "Friday, 20:00", "Great Hall", 42, "sea"),
    "paper-moons": ("Paper Moons", "Indie folk in a round tent", "Saturday, 19:30", "The Tent", 35, "dusk"),
    "night-trains": ("Night Trains", "Jazz until the last train leaves", "Saturday, 22:00", "Platform Stage", 28, "night"),
    "small-planets": ("Small Planets", "A concert for children and their grown-ups", "Sunday, 11:00", "Great Hall", 12, "mint"),
    "copper-and-clay": ("Copper & Clay", "Percussion made of pots and pans", "Sunday, 17:00", "The Yard", 24, "clay"),
    "the-long-encore": ("The Long Encore", "Everybody once more, all together", "Sunday, 21:00", "Great Hall", 55, "gold"),
}

# Served as they are.
FILES = {
    "/static/shop.css": ((HERE / "static/shop.css").read_bytes(), "text/css; charset=utf-8"),
    "/static/load.js": ((HERE / "static/load.ts").read_bytes(), "text/javascript; charset=utf-8"),
    "/favicon.ico": ((HERE / "static/icon.svg").read_bytes(), "image/svg+xml"),
}

TEMPLATES = {path.stem: string.Template(path.read_text(encoding="utf-8")) for path in (HERE / "templates").glob("*.html")}


def fill(template, **values):
    return TEMPLATES[template].substitute({name: html.escape(str(value)) for name, value in values.items()})


def frame(body, load):
    """A whole page around a body that is HTML already."""
    strip = fill("load", **load, percent=min(100, round(100 * load["inside"] / load["comfortable"])))
    return TEMPLATES["frame"].substitute(body=body, load=strip)


def describe(event):
    name, text, when, where, price, art = EVENTS[event]
    return {"id": event, "name": name, "text": text, "when": when, "where": where, "price": price, "art": art}


def summary(cart):
    details = describe(cart["event"])
    return {**details, "count": cart["count"], "total": cart["count"] * details["price"]}


def home():
    cards = "\n".join(fill("card", **describe(event)) for event in EVENTS)
    return TEMPLATES["home"].substitute(cards=cards)


def event(event_id):
    return fill("event", **describe(event_id))


def checkout(cart):
    return fill("checkout", **summary(cart))


def pay(cart, name):
    return fill("pay", **summary(cart), buyer=name)


def thanks(cart, name, order):
    return fill("thanks", **summary(cart), buyer=name, order=order)


def export(load):
    rows = "\n".join(fill("row", **describe(event)) for event in EVENTS)
    return TEMPLATES["export"].substitute(rows=rows, sold=load["sold"])


def empty_cart():
    return fill("empty")


def not_found():
    return fill("missing")
