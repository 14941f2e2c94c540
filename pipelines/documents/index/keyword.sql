-- worn: Whether the index for BM25 was made by an earlier run of the server.
select keyword_index_worn() as worn;

-- drop_worn: Let it go, if it still is.
select drop_worn_keyword_index() as done;

-- make: Make it, if it is gone.
select make_keyword_index() as done;
