"""Pages for people: the students' feedback, the class report, rubrics."""
