//! The rows of a block as one statement for a server: each statement is a round trip.

use std::collections::BTreeMap;

use tokio_postgres::types::ToSql;

use crate::sql::postgres::session::Session;
use crate::sql::{Row, SqlError, SqlResult};
use crate::write::encode::Encoded;

/// Rows take their numbers in the order of the lists.
const INSERT: &str = "with block as (
        insert into blocks (run, log, reuse, judgments, outputs, traces) values (?1, ?2, ?3, ?4, ?5, ?6)
        returning seq, id
    ), sample_rows as (
        insert into samples (run, row, facts)
        select ?1, it.row, it.facts from unnest(?7::bigint[], ?8::bytea[]) as it (row, facts)
        on conflict (run, row) do update set facts = excluded.facts
    ), cell_rows as (
        insert into cells (run, ordinal, status, block, output, facts)
        select ?1, it.ordinal, it.status, block.seq, it.output, it.facts
        from block, unnest(?9::bigint[], ?10::bigint[], ?11::bigint[], ?12::bytea[]) with ordinality
            as it (ordinal, status, output, facts, place)
        order by it.place
    ), judgment_rows as (
        insert into judgments (run, ordinal, scorer, judge, ok, block, entry)
        select ?1, it.ordinal, it.scorer, it.judge, it.ok, block.seq, it.place - 1
        from block, unnest(?13::bigint[], ?14::bigint[], ?15::bigint[], ?16::bigint[]) with ordinality
            as it (ordinal, scorer, judge, ok, place)
        order by it.place
    )
    select seq, id::text from block";

/// A block with all its rows.
pub(super) struct ServerBlock<'a> {
    pub run: i64,
    pub parts: &'a [&'a Encoded],
    pub log: &'a [u8],
    pub reuse: &'a [u8],
    pub judgments: &'a [u8],
    pub outputs: &'a [u8],
    pub traces: &'a [u8],
}

/// Inserts a block with all its rows, and returns its number and its id.
pub(super) fn insert(block: &ServerBlock<'_>, session: &Session) -> SqlResult<(i64, String)> {
    let mut samples: BTreeMap<i64, &[u8]> = BTreeMap::new();
    let (mut ordinals, mut statuses, mut outputs, mut facts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut base = 0;
    for part in block.parts {
        // The later of two rows counts, and one statement may change a row only once.
        samples.extend(part.samples.iter().map(|(row, facts)| (*row, part.facts_at(facts))));
        for cell in &part.cells {
            ordinals.push(cell.ordinal);
            statuses.push(cell.status);
            outputs.push(cell.output.map(|entry| (base + entry) as i64));
            facts.push(part.facts_at(&cell.facts));
        }
        base += part.outputs.len();
    }
    let (rows, sample_facts): (Vec<i64>, Vec<&[u8]>) = samples.into_iter().unzip();
    let judged = || block.parts.iter().flat_map(|part| &part.judged);
    let judged_ordinals: Vec<i64> = judged().map(|row| row.ordinal).collect();
    let scorers: Vec<i64> = judged().map(|row| row.scorer.into()).collect();
    let judges: Vec<i64> = judged().map(|row| row.judge.into()).collect();
    let sound: Vec<i64> = judged().map(|row| row.is_sound.into()).collect();
    let values: [&(dyn ToSql + Sync); 16] = [
        &block.run,
        &block.log,
        &block.reuse,
        &block.judgments,
        &block.outputs,
        &block.traces,
        &rows,
        &sample_facts,
        &ordinals,
        &statuses,
        &outputs,
        &facts,
        &judged_ordinals,
        &scorers,
        &judges,
        &sound,
    ];
    let rows = session.query_lists(INSERT, &values)?;
    let row = Row::Postgres(rows.first().ok_or(SqlError::NoRow)?);
    Ok((row.get(0)?, row.get(1)?))
}
