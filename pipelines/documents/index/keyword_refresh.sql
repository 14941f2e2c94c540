-- needs_care: Whether the index for BM25 has to be looked after; how its table is vacuumed follows from that.
select settle_vacuum_of_chunks() as answer;

-- state: What the index that is asked knows, and has to write; nothing where there is none.
select chunks, waiting, written, rested, cluttering, gone from keyword_index_state() where chunks is not null;

-- make_spare: Make another beside it, unless there is one.
select make_spare_keyword_index() as answer;

-- take_spare: Have the other asked: true if it is, false if others hold the table, nothing if there is none.
select take_spare_keyword_index() as answer;

-- given_back: Note that no index names the rows any more that had gone.
select keyword_places_given_back(%(gone)s);
