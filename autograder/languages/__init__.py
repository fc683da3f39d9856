"""Other languages than English: catalogues of all that a person reads, and notebooks built from them.

Everything is written in English, once. ``locale/LANGUAGE/`` at the top of the repository holds gettext catalogues, with
the English as the key and as the fallback: ``units/NN-name.po`` for all that is said in a unit, ``notebooks.po`` for
phrases that the build puts into every unit, ``messages.po`` for the package, ``widgets.po`` for the widgets,
``site.po`` for the site's own words, which no learner's package reads.
``python -m autograder.languages`` (make catalogs) brings them up to date.
"""
