"""Who answers on this machine: processes are asked, told apart from busy ones, and ended where they hang."""
