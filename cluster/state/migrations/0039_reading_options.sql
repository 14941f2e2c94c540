-- How a person asked for a page to be read (strategy and languages of OCR): a later look at the file reads it so again.
--
-- Locks: pages against everybody for the moment in which a column without a default is added.
alter table pages add column reading jsonb;
