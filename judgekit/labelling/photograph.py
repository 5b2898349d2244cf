"""A picture of the page, where Chromium is installed."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60  # seconds


def photograph(link, path, width=1280, height=680, scale=1.5):
    """Save what a browser shows of a page as PNG.

    Parameters
    ----------
    link : str
    path : path
    width, height : int
        Pixels of the window.
    scale : float
        Pixels of the picture per pixel of the window.

    Returns
    -------
    bool
        False where no Chromium is installed, or where it saved nothing; then an older picture stays.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return False
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        picture = Path(folder) / "page.png"
        arguments = [
            browser,
            "--headless=new",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
            f"--user-data-dir={folder}/profile",
            f"--window-size={width},{height}",
            f"--force-device-scale-factor={scale}",
            "--virtual-time-budget=5000",  # the page asks for its pair after it is loaded
            f"--screenshot={picture}",
        ]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            arguments.append("--no-sandbox")  # Chromium refuses root otherwise; the page is our own
        try:
            subprocess.run([*arguments, link], capture_output=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            return False
        if not picture.is_file():
            return False
        shutil.copyfile(picture, path)
        return True
