"""Figures, written so that an unchanged picture is an unchanged file."""

from judgekit import paths
from judgekit.results.files import replaced
from judgekit.results.numbers import checked_name


def save_figure(figure, run, name):
    """Write a figure as vector PDF for the report and as PNG (150 dpi) for the README and the slides on screen.

    Parameters
    ----------
    figure : matplotlib Axes, array of Axes, or Figure
    run, name : str
        The files are ``outputs/<run>/figures/<name>.{pdf,png}``.

    Returns
    -------
    pathlib.Path
        The PDF. No date is written into it: an unchanged figure is an unchanged file.
    """
    import matplotlib as mpl

    figure = figure.flat[0] if hasattr(figure, "flat") else figure
    figure = figure if hasattr(figure, "savefig") else figure.get_figure(root=True)
    path = paths.run_folder(run, "figures") / f"{checked_name(name)}.pdf"
    with mpl.rc_context({"pdf.fonttype": 42, "savefig.bbox": None}):
        for target, options in (
            (path, {"metadata": {"CreationDate": None}}),
            (path.with_suffix(".png"), {"dpi": 150, "metadata": {"Software": None}}),
        ):
            with replaced(target) as temporary:
                figure.savefig(temporary, format=target.suffix[1:], **options)
    return path
