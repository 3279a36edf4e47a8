"""What every picture is held to: words on both axes, fonts that can be read, nothing cut off and no labels on each other."""

from __future__ import annotations

from itertools import combinations

LEAST_POINTS = 9.0
_PIXEL = 1.5  # what a bounding box may stand out by rounding


def texts(figure):
    """Every visible text of the figure that says something."""
    from matplotlib.text import Text

    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]


def tick_labels(axis):
    """Tick labels of both directions that lie within the axis's limits."""
    found = []
    for each in (axis.xaxis, axis.yaxis):
        low, high = sorted(each.get_view_interval())
        room = 1e-9 * (high - low)
        kept = [tick for tick in each.get_major_ticks() if low - room <= tick.get_loc() <= high + room]
        found.append([tick.label1 for tick in kept if tick.label1.get_text() and tick.label1.get_visible()])
    return found


def faults(figure, size=(6.0, 4.0)):
    """Everything that is wrong with the picture when it is saved."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer, said = canvas.get_renderer(), []
    width, height = canvas.get_width_height()
    if abs(figure.get_figwidth() - size[0]) > 1e-9 or figure.get_figheight() < size[1] - 1e-9:
        said.append(f"size {figure.get_size_inches()}")
    drawn = {id(text) for axis in figure.axes for labels in tick_labels(axis) for text in labels}
    ticks = {
        id(tick.label1) for axis in figure.axes for each in (axis.xaxis, axis.yaxis) for tick in each.get_major_ticks()
    }
    for text in texts(figure):
        if id(text) in ticks and id(text) not in drawn:
            continue  # a tick beyond the limits is not drawn
        box = text.get_window_extent(renderer)
        if text.get_fontsize() < LEAST_POINTS:
            said.append(f"small: {text.get_text()!r}")
        if box.x0 < -_PIXEL or box.y0 < -_PIXEL or box.x1 > width + _PIXEL or box.y1 > height + _PIXEL:
            said.append(f"outside: {text.get_text()!r}")
    for axis in figure.axes:
        for labels in tick_labels(axis):
            boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in labels]
            said += [f"overlap: {a!r} {b!r}" for (a, x), (b, y) in combinations(boxes, 2) if x.overlaps(y)]
        for legend in filter(None, [axis.get_legend()]):
            box, room = legend.get_window_extent(renderer), axis.get_window_extent(renderer)
            if box.x0 < room.x0 - _PIXEL or box.x1 > room.x1 + _PIXEL or box.y0 < room.y0 - _PIXEL:
                said.append("legend: wider than the axes")
    return said
