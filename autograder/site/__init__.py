"""The site: all units with their outputs, every widget alive without a kernel. ``python -m autograder.site``.

``executing`` runs the solved notebooks and keeps their outputs; ``units`` joins them with the released text; ``live``
writes what widgets need; ``pages`` holds the other pages; Sphinx makes HTML of it (``conf``), and ``checks`` looks at
the result in a browser. In another language (``words``, ``theme``) it has a folder of its own; ``foreign`` marks what
is English there, and ``neighbors`` links the languages that are built.
"""
