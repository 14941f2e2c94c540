"""Routes of what an organisation keeps: erasures, legal holds, retention."""
