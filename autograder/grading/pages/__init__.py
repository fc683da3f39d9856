"""What people read: the students' pages, the class report, rubrics."""
