//! A block with all its rows as one statement for a server, because each statement is a round trip. The function that it
//! calls lies in `sql/postgres/migrations`.

use std::collections::BTreeMap;

use tokio_postgres::types::ToSql;

use crate::format::encode::Encoded;
use crate::sql::postgres::claims::ServerClaim;
use crate::sql::postgres::session::Session;
use crate::sql::tables::{BLOCKS, SAMPLES};
use crate::sql::{Row, SqlResult, params};

const WRITE: &str = "select new_block, waiting_keys, indexed_block from write_block(
    ?1::text::uuid, ?2, ?3, ?4::text::uuid, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)";

/// A block with all its rows.
pub(super) struct ServerBlock<'a> {
    /// Its name in every attempt to write it.
    pub id: &'a str,
    pub run: i64,
    pub claim: &'a ServerClaim,
    pub parts: &'a [&'a Encoded],
    pub log: &'a [u8],
    pub reuse: &'a [u8],
    pub judgments: &'a [u8],
    pub outputs: &'a [u8],
    pub traces: &'a [u8],
}

/// A block that was written, and the keys of reusable results on the server.
pub(super) struct Written {
    pub block: i64,
    /// Keys that are not in the index.
    pub waiting: i64,
    /// The last block whose keys are in the index.
    pub indexed: i64,
}

/// Writes a block with all its rows and counts `keys` more waiting keys, in the open transaction or in one of its own.
/// Returns `None`, and writes nothing, if another process has taken the run.
pub(super) fn write(block: &ServerBlock<'_>, keys: usize, session: &Session) -> SqlResult<Option<Written>> {
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
    let sample_sum = |(row, facts): (&i64, &&[u8])| SAMPLES.sum_of_row(params![block.run, row, facts]);
    let sample_sums: Vec<Vec<u8>> = rows.iter().zip(&sample_facts).map(sample_sum).collect();
    let parts = BLOCKS.parts_of_row(params![block.log, block.reuse, block.judgments, block.outputs, block.traces]);
    let judged = || block.parts.iter().flat_map(|part| &part.judged);
    let judged_ordinals: Vec<i64> = judged().map(|row| row.ordinal).collect();
    let scorers: Vec<i64> = judged().map(|row| row.scorer.into()).collect();
    let judges: Vec<i64> = judged().map(|row| row.judge.into()).collect();
    let sound: Vec<i64> = judged().map(|row| row.is_sound.into()).collect();
    let keys = keys as i64;
    let values: [&(dyn ToSql + Sync); 22] = [
        &block.id,
        &block.run,
        &block.claim.run,
        &block.claim.owner,
        &keys,
        &block.log,
        &block.reuse,
        &block.judgments,
        &block.outputs,
        &block.traces,
        &parts,
        &rows,
        &sample_facts,
        &sample_sums,
        &ordinals,
        &statuses,
        &outputs,
        &facts,
        &judged_ordinals,
        &scorers,
        &judges,
        &sound,
    ];
    let rows = session.query_lists_once(WRITE, &values)?;
    let Some(row) = rows.first().map(Row::Postgres) else { return Ok(None) };
    Ok(Some(Written { block: row.get(0)?, waiting: row.get(1)?, indexed: row.get(2)? }))
}
