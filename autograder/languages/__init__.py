"""Languages other than English: catalogues of all texts for people, and notebooks built from them.

Every text is written once, in English. ``locale/LANGUAGE/`` at the top of the repository contains gettext catalogues,
with the English text as key and fallback: ``units/NN-name.po`` for all texts of a unit, ``notebooks.po`` for phrases
that the build adds to every unit, ``messages.po`` for the package, ``widgets.po`` for the widgets, ``labels.po`` for
words that code puts together, and two which learners' packages never read: ``site.po`` for the site's own words,
``docs.po`` for the pages of ``docs/`` that readers get and for the glossary. ``python -m autograder.languages`` (make
catalogs) updates them.
"""
