"""Staff wing: references, exercise specs, judge, grading, recording and build."""
