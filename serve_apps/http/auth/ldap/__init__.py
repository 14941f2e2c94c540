"""Sign-in by a directory (Active Directory, LDAP): the password that somebody has there, and what their groups give."""
