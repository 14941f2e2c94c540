-- What a binding was made for, and which package a skill came from: a name alone says neither.

-- `sha256` is that of the skill's newest version when it was bound; null where the skill ships, or there was none. A
-- skill that somebody of a workspace wrote gets nothing by a binding that was made for another content.
alter table credential_bindings add column sha256 text;

-- The package that a version came in; null where it came in none.
alter table skills add column package text;
