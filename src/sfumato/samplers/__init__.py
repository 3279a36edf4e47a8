"""Samplers: functions that draw from a law, without privacy parameters. Released values are exact draws on public grids."""
