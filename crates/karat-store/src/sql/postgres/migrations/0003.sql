-- Checksums of rows: see `sql/sealed.rs`, which has the same rule. Each table gets a column `sum`, filled by the code.

-- The bytes of one value in a checksum.
create function sum_part(value bigint) returns bytea language sql immutable as
    $$ select case when value is null then '\x00'::bytea else '\x01'::bytea || int8send(value) end $$;
create function sum_part(value bytea) returns bytea language sql immutable as
    $$ select case when value is null then '\x00'::bytea else '\x03'::bytea || int8send(octet_length(value)) || value end $$;
create function sum_part(value text) returns bytea language sql immutable as
    $$ select case when value is null then '\x00'::bytea
        else '\x02'::bytea || int8send(octet_length(convert_to(value, 'UTF8'))) || convert_to(value, 'UTF8') end $$;
create function sum_of(form bytea) returns bytea language sql immutable as
    $$ select substr(sha256(form), 1, 8) $$;

create table block_sums (
    seq bigint not null,
    run bigint not null,
    sum bytea not null,
    primary key (run, seq)
);

alter table annotation_tasks add column items bigint not null default 0, add column events bigint not null default 0;
update annotation_tasks set
    items = (select count(*) from annotation_items where task = annotation_tasks.id),
    events = (select count(*) from annotation_events where task = annotation_tasks.id);

-- As before, with checksums. A process of an older version finds no function of its form any more, and writes nothing.
drop function write_block;
create function write_block(
    the_id uuid, the_run bigint, the_name text, the_holder uuid, added_keys bigint,
    the_log bytea, the_reuse bytea, the_judgments bytea, the_outputs bytea, the_traces bytea, the_parts bytea,
    sample_rows bigint[], sample_facts bytea[], sample_sums bytea[],
    cell_ordinals bigint[], cell_statuses bigint[], cell_outputs bigint[], cell_facts bytea[],
    judged_ordinals bigint[], judged_scorers bigint[], judged_judges bigint[], judged_ok bigint[]
) returns table (new_block bigint, waiting_keys bigint, indexed_block bigint)
language plpgsql as $$
declare
    state_sum bytea;
begin
    perform from meta where key = 'turn' for update;
    update claims set until = clock_timestamp() + interval '30 seconds' where run = the_name and owner = the_holder;
    if not found then
        return;
    end if;
    new_block := nextval(pg_get_serial_sequence('blocks', 'seq'));
    insert into block_sums (seq, run, sum) values (new_block, the_run,
        sum_of('blocks'::bytea || '\x00'::bytea || sum_part(new_block) || sum_part(the_run) || the_parts) || the_parts);
    insert into blocks (seq, id, run, log, reuse, judgments, outputs, traces)
        values (new_block, the_id, the_run, the_log, the_reuse, the_judgments, the_outputs, the_traces);
    if cardinality(sample_rows) > 0 then
        insert into samples (run, row, facts, sum)
            select the_run, it.row, it.facts, it.sum
            from unnest(sample_rows, sample_facts, sample_sums) as it (row, facts, sum)
            on conflict (run, row) do update set facts = excluded.facts, sum = excluded.sum;
    end if;
    if cardinality(cell_ordinals) > 0 then
        insert into cells (seq, run, ordinal, status, block, output, facts, sum)
            select it.seq, the_run, it.ordinal, it.status, new_block, it.output, it.facts,
                sum_of('cells'::bytea || '\x00'::bytea || sum_part(it.seq) || sum_part(the_run) || sum_part(it.ordinal)
                    || sum_part(it.status) || sum_part(new_block) || sum_part(it.output) || sum_part(it.facts))
            from (
                select nextval(pg_get_serial_sequence('cells', 'seq')) as seq, listed.*
                from unnest(cell_ordinals, cell_statuses, cell_outputs, cell_facts) with ordinality
                    as listed (ordinal, status, output, facts, place)
                order by listed.place
            ) as it;
    end if;
    if cardinality(judged_ordinals) > 0 then
        insert into judgments (seq, run, ordinal, scorer, judge, ok, block, entry, sum)
            select it.seq, the_run, it.ordinal, it.scorer, it.judge, it.ok, new_block, it.place - 1,
                sum_of('judgments'::bytea || '\x00'::bytea || sum_part(it.seq) || sum_part(the_run) || sum_part(it.ordinal)
                    || sum_part(it.scorer) || sum_part(it.judge) || sum_part(it.ok) || sum_part(new_block)
                    || sum_part(it.place - 1))
            from (
                select nextval(pg_get_serial_sequence('judgments', 'seq')) as seq, listed.*
                from unnest(judged_ordinals, judged_scorers, judged_judges, judged_ok) with ordinality
                    as listed (ordinal, scorer, judge, ok, place)
                order by listed.place
            ) as it;
    end if;
    select waiting, indexed, sum into waiting_keys, indexed_block, state_sum from reuse_state;
    if state_sum is distinct from
        sum_of('reuse_state'::bytea || '\x00'::bytea || sum_part(indexed_block) || sum_part(waiting_keys)) then
        raise exception 'the row of the table `reuse_state` does not match its checksum' using errcode = 'data_corrupted';
    end if;
    if added_keys > 0 then
        waiting_keys := waiting_keys + added_keys;
        update reuse_state set waiting = waiting_keys, sum = sum_of('reuse_state'::bytea || '\x00'::bytea
            || sum_part(indexed_block) || sum_part(waiting_keys));
    end if;
    return next;
end
$$;
