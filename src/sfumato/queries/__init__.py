"""Questions to a release: functions of its draws and its plan. They cannot reach the rows."""
