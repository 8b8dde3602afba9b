"""The report opened in headless Chromium: no request leaves, the console is silent, the charts are there, a
phone can show it.
"""

import re

import pytest
import report_folders as made

from loquent.report import write_report


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The report over two recipes, hostile text in the samples of one."""
    where = tmp_path_factory.mktemp("runs")
    for seed in (0, 1, 2):
        made.run(where / "ppo" / f"seed-{seed}", seed=seed, updates=12, said=made.HOSTILE)
    made.run(where / "nlpo", "reviews_nlpo", updates=12, shift=0.2, said="a" * 3000)
    return write_report([where / "ppo", where / "nlpo"], where / "report.html")


def drawn(tab, number):
    """One chart, after the page has scrolled to it: its width, its description, and the pixels with ink."""
    return tab.value(
        f"""(async () => {{
        const place = document.querySelectorAll('.plot')[{number}];
        for (let fold = place.closest('details'); fold; fold = fold.parentElement.closest('details'))
            fold.open = true;
        place.scrollIntoView({{ behavior: 'instant', block: 'center' }});
        for (let i = 0; i < 100 && !place.querySelector('canvas'); i++)
            await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        const canvas = place.querySelector('canvas');
        const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        let ink = 0;
        for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] > 200) ink++;
        return {{ width: place.querySelector('.u-over').clientWidth, ink, label: place.ariaLabel }};
        }})()"""
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390], ids=["desktop", "phone"])
def test_the_page_opens_by_itself(tab, page, width, dark):
    tab.open(page, width=width, dark=dark)
    assert [url for url in tab.requests if not url.startswith("data:")] == [page.resolve().as_uri()]
    assert tab.messages == []
    assert tab.value("document.title").startswith("Loquent: "), "nothing in a sample was run"
    assert tab.value("document.documentElement.scrollWidth") <= width, (
        "nothing makes the page wider than the screen"
    )
    charts = tab.value("document.querySelectorAll('.plot').length")
    assert charts > 12
    for number in range(charts):
        canvas = drawn(tab, number)
        assert canvas["width"] > 200, number
        assert canvas["ink"] > 100, "lines are drawn"
        assert canvas["label"], "and described for who cannot see them"
    assert tab.messages == []
    assert tab.value("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1280, 390], ids=["desktop", "phone"])
def test_without_scripts_the_charts_are_static(tab, page, width):
    static = page.with_name("static.html")
    static.write_text(re.sub("<script>.*?</script>", "", page.read_text(), flags=re.DOTALL))
    tab.open(static, width=width)
    assert tab.value("document.querySelector('.controls').hidden")
    charts = "[...document.querySelectorAll('section .plot svg[role=img]')]"
    assert tab.value(f"{charts}.length") > 12
    assert tab.value(f"{charts}.every(svg => svg.getBoundingClientRect().width > 200)")
    size = "(drawn => drawn.getBoundingClientRect().width)"
    assert tab.value(
        f"{charts}.every(svg => [...svg.querySelectorAll('.line, .mark')].some(drawn => {size}(drawn) > 4))"
    )
    assert tab.value("document.querySelectorAll('.band').length") > 3, "bands over seeds"
    assert tab.value("document.documentElement.scrollWidth") <= width
    assert tab.value(
        f"{charts}.every(svg => parseFloat(getComputedStyle(svg.querySelector('.tick')).fontSize) * "
        "svg.clientWidth / 480 >= 9)"
    )


def luminance(colour):
    """Relative luminance of "rgb(r, g, b)" (WCAG 2.2)."""
    channels = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one, two):
    bright, dim = sorted((luminance(one), luminance(two)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_and_lines_can_be_told_from_the_paper(tab, page, dark):
    tab.open(page, dark=dark)
    paper = tab.value("getComputedStyle(document.querySelector('figure')).backgroundColor")
    assert (luminance(paper) < 0.2) == dark
    for what, least in (("figcaption", 4.5), ("summary", 4.5), ("figure h4", 4.5)):
        assert (
            contrast(tab.value(f"getComputedStyle(document.querySelector('{what}')).color"), paper) >= least
        ), what
    tick = "getComputedStyle(document.querySelector('figure svg .tick')).fill"
    assert contrast(tab.value(tick), paper) >= 4.5
    for i in range(8):
        probe = (
            f"(() => {{ const p = document.createElement('i'); p.className = 'dot c{i}'; "
            "document.body.append(p); const c = getComputedStyle(p)"
        )
        assert contrast(tab.value(f"{probe}.backgroundColor; p.remove(); return c }})()"), paper) >= 3, (
            f"colour {i}"
        )
    assert contrast("rgb(255, 255, 255)", "rgb(200, 200, 200)") < 3, "it can fail"


def test_the_browser_sees_requests_and_errors(tab, tmp_path):
    """A page that does both is caught; without this the tests above could pass blind."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<img src='http://127.0.0.1:9/x.png'><script>console.error('woe'); missing()</script><div "
        "style='width: 2000px'>x</div>"
    )
    tab.open(bad, width=360)
    assert "http://127.0.0.1:9/x.png" in tab.requests
    assert any("woe" in message for message in tab.messages)
    assert len(tab.messages) >= 2
    assert tab.value("document.documentElement.scrollWidth") > 360
