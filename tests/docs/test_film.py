"""The README's film is what its script makes, as far as that is known without making it again."""

import pytest
from PIL import Image

from autograder import ROOT
from tests.browser import film


@pytest.mark.parametrize("theme", film.THEMES)
def test_the_film_is_short_light_and_says_what_the_check_says(theme):
    path = film.place_of(theme)
    assert path.stat().st_size <= 1_500_000
    with Image.open(path) as picture:
        assert picture.size == (film.WIDTH, film.HEIGHT) and picture.info["loop"] == 0
        told = picture.getexif()[film.ABOUT]
        shown = 0
        for at in range(picture.n_frames):
            picture.seek(at)
            picture.load()
            shown += picture.info["duration"]
    assert told == film.plain(film.message()), "the check says something else today: make film, and look at it"
    assert 10_000 <= shown <= 14_000 and picture.n_frames > 40


def test_its_mistake_is_one_character():
    differ = [(a, b) for a, b in zip(film.WRONG, film.RIGHT, strict=True) if a != b]
    assert differ == [("+", "-")] and film.ANSWER.count(film.WRONG) == 1


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
def test_who_wants_no_motion_or_sees_nothing_is_told_as_well(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    picture = text[text.index("<picture>") : text.index("</picture>")]
    media = [part.split('"')[0] for part in picture.split('media="')[1:]]
    assert [("reduced-motion" in m, "dark" in m) for m in media] == [(True, True), (True, False), (False, True)]
    assert all(f"assets/figures/{film.place_of(theme).name}" in picture for theme in film.THEMES)
    if page == "README.md":
        assert film.message().split(". ")[0] in picture
