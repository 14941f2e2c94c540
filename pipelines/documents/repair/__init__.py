"""Repair of storage: what killed processes have left behind is found, shown, and removed when somebody says so."""
