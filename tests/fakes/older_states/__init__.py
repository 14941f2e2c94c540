"""States of earlier versions, as their own code left them: rows as SQL, and what has to be found in them as JSON."""
