"""Build directories that meson configured."""
import json
import sys
from pathlib import Path


def refuse_other_source(directory, source):
    """Ends the program if @directory was configured for another tree than @source: ninja would build that one."""
    info = directory / "meson-info" / "meson-info.json"
    if not info.exists():
        return
    configured = Path(json.loads(info.read_text())["directories"]["source"]).resolve()
    if configured != source.resolve():
        sys.exit(f"{directory}: a build directory of {configured}: remove it, or choose another with --build")
