"""The site: all units with their outputs, with widgets that work without a kernel. ``python -m autograder.site``.

``executing`` runs the solved notebooks and keeps their outputs; ``units`` joins them with the released text; ``live``
writes the files that widgets need; ``pages`` makes the other pages; Sphinx turns everything into HTML (``conf``), and
``checks`` tests the result in a browser. Another language (``words``, ``theme``) has its own folder; ``foreign`` marks
the parts that are still English there, and ``neighbors`` links the languages that are built.
"""
