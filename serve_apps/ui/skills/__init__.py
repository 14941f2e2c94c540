"""The page Skills: the catalogue, one skill, packages, scripts written here, and the academy."""
