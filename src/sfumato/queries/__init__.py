"""Questions to a release: functions of its draws and its plan, without access to the rows."""
