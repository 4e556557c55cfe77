"""Where features come from: functions, tables, databases and web services."""
