"""The page about the API."""

import re

from discreet.service.http.api import OPERATIONS


def test_the_page_about_the_api_needs_no_key_and_nothing_from_elsewhere(world):
    with world.web() as web:
        page = web.get("/docs", headers={"Authorization": "", "Accept": "text/html"})
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for one in OPERATIONS:
        assert f"<code>{one.method} {one.path}</code>" in page.text
    assert not re.search(r'(?:src|href)="(?!/|#)', page.text)
    anchors = set(re.findall(r'href="#([^"]+)"', page.text)) - {"main"}
    assert anchors <= set(re.findall(r'id="([^"]+)"', page.text))
    assert "regex" not in page.text
    assert "`" not in page.text
