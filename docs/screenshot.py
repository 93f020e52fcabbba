"""Makes the picture of the README, ``docs/_static/serve.png``: ``trick serve`` in Chromium, a trick half played.

python docs/screenshot.py [GAME]
"""

from __future__ import annotations

import io
import shutil
import sys
import threading
import time
from pathlib import Path

import uvicorn
from PIL import Image
from playwright.sync_api import sync_playwright

from trick_envs.play.web import make_app

OUT = Path(__file__).parent / "_static" / "serve.png"
PLAYS = 3  # of the person, before the picture is taken


def main() -> None:
    game = sys.argv[1] if len(sys.argv) > 1 else "pepper"
    server = uvicorn.Server(uvicorn.Config(make_app(game), port=0, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-background-networking"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        page.set_default_timeout(60_000)
        page.add_init_script("localStorage.setItem('speed', 'instant')")
        port = server.servers[0].sockets[0].getsockname()[1]
        page.goto(f"http://127.0.0.1:{port}/?game={game}")
        page.wait_for_selector("#hand.ready")
        page.keyboard.press("n")
        page.fill("#seed", "21")
        address = page.url
        page.click("#form button[type=submit]")
        page.wait_for_url(lambda url: url != address)
        for _ in range(PLAYS):
            page.wait_for_selector("#hand.ready")
            page.locator("#hand .legal").first.click()
            page.wait_for_timeout(300)
        page.wait_for_selector("#hand.ready")
        page.keyboard.press("h")
        page.mouse.move(5, 5)
        page.wait_for_selector("#hand .hint")
        picture = Image.open(io.BytesIO(page.screenshot()))
        browser.close()
    picture.convert("RGB").save(OUT, optimize=True)
    server.should_exit = True


if __name__ == "__main__":
    main()
