-- state: What the index for BM25 that is asked knows and has to write; nothing where it needs no care.
select chunks, waiting, written, gone from keyword_index_state() where chunks is not null;

-- make_spare: Make another beside it, unless there is one.
select make_spare_keyword_index() as answer;

-- take_spare: Have the other asked, if there is one.
select take_spare_keyword_index() as answer;

-- given_back: Note that no index names rows any more that have gone.
select keyword_places_given_back();
