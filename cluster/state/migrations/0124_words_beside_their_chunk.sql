-- Ranking a narrow scope exactly reads the words of all its chunks. They were stored apart, as the longest value of a row
-- of more than 2 KB, and each was looked up there: half of the time. Now the row keeps them, and text goes instead.
-- Rows that were written before stay as they are until they are inserted again: their document is processed again.
-- Held locks: document_chunks ACCESS EXCLUSIVE, moment.
-- Old code: runs beside it.
alter table document_chunks alter column lexemes set storage main;
