"""Commands about documents: what is read, what is corrected, what goes out again."""
