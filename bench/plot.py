"""Plots for RESULTS.md as SVG files beside it; the same figures give the same bytes."""

from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "fairway", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10})
from matplotlib import pyplot  # noqa: E402

HERE = Path(__file__).resolve().parent
COLOURS = ("#1f6f8b", "#e07a3f", "#7a9e4f")


def bars(name, title, groups, unit, log=True):
    """Horizontal bars, on a logarithmic scale unless told. groups: {row: {series: value}}. Writes NAME.svg and returns the Markdown that shows it."""
    series = list(next(iter(groups.values())))
    figure, axes = pyplot.subplots(figsize=(8, 0.6 + 0.5 * len(groups)), layout="constrained")
    height = 0.8 / len(series)
    for i, (label, colour) in enumerate(zip(series, COLOURS)):
        places = [row + (i - (len(series) - 1) / 2) * height for row in range(len(groups))]
        values = [group[label] for group in groups.values()]
        axes.bar_label(axes.barh(places, values, height, color=colour, label=label), fmt="%.0f", padding=3)
    axes.set_yticks(range(len(groups)), groups)
    axes.invert_yaxis()
    axes.set_xscale("log" if log else "linear")
    axes.margins(x=0.12)
    axes.set_xlabel(unit)
    axes.set_title(title, loc="left")
    axes.legend(loc="lower right", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / f"{name}.svg", metadata={"Date": None})
    pyplot.close(figure)
    return f"![{title}]({name}.svg)\n"
