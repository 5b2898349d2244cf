"""The labelling page as a figure."""

from pathlib import Path

from matplotlib.axes import Axes

from judgekit.figures.style import TEXT, use_style


def plot_page(path: str | Path) -> Axes:
    """A picture of the page (PNG, of `judgekit.people.labelling.screenshot`) at the width of the text."""
    import matplotlib.pyplot as plt

    use_style()
    image = plt.imread(path)
    height, width = image.shape[:2]
    figure = plt.figure(figsize=(TEXT, TEXT * height / width))
    figure.set_layout_engine("none")  # the style asks for one that knows of no axes like these
    axes = figure.add_axes((0, 0, 1, 1))
    axes.imshow(image, interpolation="none")
    axes.set_axis_off()
    return axes
