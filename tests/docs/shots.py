"""Make the pictures of the tutorial:  python tests/docs/shots.py [COPY-OF-BUSI] [OUT]

Each command of the page is run on the copy, by default the generated one, and its output is shown
as a terminal would show it.
"""

import html
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from doc_blocks import ROOT, blocks_of
from PIL import Image
from playwright.sync_api import sync_playwright

from medrcube.sources.registry import find_sources

SHOTS = {
    "sources validate": "check",
    "medrcube build": "build",
    "import medrcube": "look",
    "medrcube release": "release",
    "medrcube reconstruct": "reconstruct",
    "medrcube evaluate": "evaluate",
    "medrcube compare": "compare",
}
"""Text of a block -> name of its picture."""

PAGE = """<style>body {{ margin: 0; background: #fafafa }} pre {{ display: inline-block; margin: 0;
padding: 14px 18px; width: 900px; white-space: pre-wrap; color: #1b1b1b;
font: 14px/1.45 'DejaVu Sans Mono', monospace }}</style><pre>{text}</pre>"""


def run(block, here):
    """What a block writes."""
    tools = Path(sys.executable).parent
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100"}
    shell = ["/bin/bash", "-ec", block.text]
    command = shell if block.language == "bash" else [sys.executable, "-c", block.text]
    process = subprocess.run(
        command,
        cwd=here,
        env=environment,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    prompt = "".join(f"$ {line}\n" for line in block.text.splitlines())
    output = process.stdout.replace(f"{here}/", "")
    return f"{prompt}\n{output}" if block.language == "bash" else output


def main():
    out = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs/images"
    blocks = [block for block in blocks_of(ROOT / "docs/tutorial/index.md") if not block.reason]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        here = Path(folder)
        if len(sys.argv) > 1:
            shutil.copytree(sys.argv[1], here / "busi")
        else:
            find_sources()["busi"].build_fixture(here / "busi", "original")
        programs = map(shutil.which, ("chromium-headless-shell", "chromium"))
        browser = driver.chromium.launch(
            executable_path=next(filter(None, programs)), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 940, "height": 900}, color_scheme="light")
        for block in blocks:
            text = "" if "medrcube demo" in block.text else run(block, here)
            for mark, name in SHOTS.items():
                if mark in block.text:
                    page.set_content(PAGE.format(text=html.escape(text)))
                    page.locator("pre").screenshot(path=out / f"tutorial-{name}.png")
        page.set_viewport_size({"width": 1200, "height": 900})
        page.goto((here / "report.html").as_uri())
        page.screenshot(path=out / "tutorial-report.png")
        browser.close()
    for picture in out.glob("tutorial-*.png"):
        with Image.open(picture) as image:
            few = image.convert("RGB").quantize(32 if picture.stem != "tutorial-report" else 128)
        few.save(picture, optimize=True)


if __name__ == "__main__":
    main()
