-- Writes a block of a run with all its rows, in the order of the lists, and counts the keys of reusable results that it adds.
-- One statement is one round trip and one transaction: it waits for the writers' turn, and it writes only if `the_holder`
-- still has the right to write the run, which it keeps for longer. Otherwise no row comes back.
create function write_block(
    the_id uuid, the_run bigint, the_name text, the_holder uuid, added_keys bigint,
    the_log bytea, the_reuse bytea, the_judgments bytea, the_outputs bytea, the_traces bytea,
    sample_rows bigint[], sample_facts bytea[],
    cell_ordinals bigint[], cell_statuses bigint[], cell_outputs bigint[], cell_facts bytea[],
    judged_ordinals bigint[], judged_scorers bigint[], judged_judges bigint[], judged_ok bigint[]
) returns table (new_block bigint, waiting_keys bigint, indexed_block bigint)
language plpgsql as $$
begin
    perform from meta where key = 'turn' for update;
    update claims set until = clock_timestamp() + interval '30 seconds' where run = the_name and owner = the_holder;
    if not found then
        return;
    end if;
    insert into blocks (id, run, log, reuse, judgments, outputs, traces)
        values (the_id, the_run, the_log, the_reuse, the_judgments, the_outputs, the_traces)
        returning seq into new_block;
    if cardinality(sample_rows) > 0 then
        insert into samples (run, row, facts)
            select the_run, it.row, it.facts from unnest(sample_rows, sample_facts) as it (row, facts)
            on conflict (run, row) do update set facts = excluded.facts;
    end if;
    if cardinality(cell_ordinals) > 0 then
        insert into cells (run, ordinal, status, block, output, facts)
            select the_run, it.ordinal, it.status, new_block, it.output, it.facts
            from unnest(cell_ordinals, cell_statuses, cell_outputs, cell_facts) with ordinality
                as it (ordinal, status, output, facts, place)
            order by it.place;
    end if;
    if cardinality(judged_ordinals) > 0 then
        insert into judgments (run, ordinal, scorer, judge, ok, block, entry)
            select the_run, it.ordinal, it.scorer, it.judge, it.ok, new_block, it.place - 1
            from unnest(judged_ordinals, judged_scorers, judged_judges, judged_ok) with ordinality
                as it (ordinal, scorer, judge, ok, place)
            order by it.place;
    end if;
    if added_keys > 0 then
        update reuse_state set waiting = waiting + added_keys returning waiting, indexed into waiting_keys, indexed_block;
    else
        select waiting, indexed into waiting_keys, indexed_block from reuse_state;
    end if;
    return next;
end
$$;
