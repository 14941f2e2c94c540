"""Commands that change this machine and speak no HTTP."""
