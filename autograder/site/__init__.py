"""The course's site: units, gallery and pages, built from the released notebooks and the data beside them."""
