"""How a law is drawn: functions that know nothing of privacy. Every released value is an exact draw on a public grid."""
