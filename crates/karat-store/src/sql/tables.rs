//! The tables of a store, in a file and on a server: their columns, and what a row holds. `database/schema.rs` explains them.
//!
//! A server has three more, `meta`, `claims` and `making`: the version, and locks of living processes, whose rows last as long
//! as a connection. Nothing of them gets into a result. The columns `id` and `tx` of its blocks are of this kind, too.

use std::sync::OnceLock;

use super::sealed::{Remedy, Table};

macro_rules! tables {
    ($($constant:ident: $name:ident($($key:ident),* $(; $($place:ident),+)?) $([$number:ident])? {
        $($column:ident),+ $(; $($long:ident),+)?
    } $([$sums:ident])? $remedy:ident $holds:literal;)+) => {
        $(pub(crate) static $constant: Table = Table {
            name: stringify!($name),
            number: tables!(@option $($number)?),
            key: &[$(stringify!($key)),*],
            place: &[$($(stringify!($place)),+)?],
            columns: &[$(stringify!($column)),+],
            long: &[$($(stringify!($long)),+)?],
            sums: tables!(@option $($sums)?),
            holds: $holds,
            remedy: Remedy::$remedy,
            insert: OnceLock::new(),
        };)+

        /// All of them, in the order of the migrations of a file.
        pub(crate) static TABLES: &[&Table] = &[$(&$constant),+];
    };
    (@option) => { None };
    (@option $name:ident) => { Some(stringify!($name)) };
}

tables! {
    RUNS: runs(id; name) [id] {
        id, name, suite, plan_hash, status, started_at, completed_at, planned, pid, totals; header
    } Restore "a run";
    SAMPLES: samples(run, row) { run, row, facts } Resume "a sample of a run";
    BLOCKS: blocks(seq; run) [seq] { seq, run; log, reuse, judgments, outputs, traces } [block_sums]
        Restore "a commit of a run";
    CELLS: cells(seq; run, ordinal) [seq] { seq, run, ordinal, status, block, output, facts } Resume "a cell of a run";
    JUDGMENTS: judgments(seq; run, ordinal) [seq] { seq, run, ordinal, scorer, judge, ok, block, entry } Resume "a judgment of a run";
    REUSE: reuse(key, kind) { key, kind, block, entry } MadeAgain "the place of a reusable result";
    REUSE_STATE: reuse_state() { indexed, waiting } Restore "the state of the index of reusable results";
    JOURNAL: journal(seq; suite, kind) [seq] { seq, suite, kind, at, body } Restore "an entry of the journal of a suite";
    RELEASED: released(run, ordinal) { run, ordinal } Restore "a cell whose results were invalidated";
    TOKENS: tokens(id; name) { id, name, role, hash, created_at, expires_at, used_at, revoked_at }
        Restore "a token of the server";
    DERIVED: derived(run, kind) { run, kind, key, body } MadeAgain "data that was computed of a run";
    BATCHES: batches(id; run) [id] { id, key, run, model, lines, state, file, remote_id, created_at } Restore "a batch";
    BATCH_ITEMS: batch_items(id; run) [id] {
        id, run, key, model, upper, earlier, round, state, batch, line, status, error; body, response
    } Restore "a call of a batch";
    VECTORS: vectors(key) { key, vector } MadeAgain "the vector of a text";
    FIRINGS: firings(run; suite, schedule) { run, suite, schedule, due, state, note, at } Restore "a due time of a schedule";
    SCHEDULES: schedules(suite, schedule) { suite, schedule, followed_since, paused_at } Restore "a schedule";
    INCIDENTS: incidents(id; suite, alert) { id, suite, alert, key, state, body, at } Restore "an incident";
    OUTBOX: outbox(id; suite, alert) { id, path, suite, alert, incident, body, state, attempts, next_at, error, at }
        Restore "a message";
    OUTCOMES: outcomes(run) { run, at } Restore "the mark of a run whose alerts are stored";
    QUEUE: queue(seq; run) [seq] {
        seq, run, order_text, state, owner, crashes, rows, status, problem, created_at, started_at, ended_at, after_run
    } Restore "a run of the queue";
    IDEMPOTENCY: idempotency(key) { key, fingerprint, status, body, location, at } Restore "a kept answer";
    BLOBS: blobs(digest) { digest, media_type, at; content } Restore "an image or file";
    TASKS: annotation_tasks(id; name, version) [id] { id, name, version, secret, hash, body, created_at, items, events }
        Restore "a task for people";
    ITEMS: annotation_items(task, position) { task, position, shown; body } Restore "an item of a task";
    EVENTS: annotation_events(seq; task, item, person) [seq] { seq, task, item, person, kind, body, at }
        Restore "a label, or another act of a person";
    LEASES: annotation_leases(task, item, person) { task, item, person, expires_at }
        Restore "a place that a person holds";
    DRAFTS: annotation_drafts(task, item, person) { task, item, person, body, at } Restore "a draft of a person";
    SHARDS: shards(run, shard, first) { run, shard, first, last } Restore "the origin of a part of a merged run";
    STOPS: stops(run) { run, to_end, body } Restore "the early stop of a run";
}

/// Places of the columns of [`RUNS`].
pub(crate) mod run_column {
    pub const ID: usize = 0;
    pub const NAME: usize = 1;
    pub const SUITE: usize = 2;
    pub const PLAN_HASH: usize = 3;
    pub const STATUS: usize = 4;
    pub const STARTED_AT: usize = 5;
    pub const COMPLETED_AT: usize = 6;
    pub const PLANNED: usize = 7;
    pub const PID: usize = 8;
    pub const TOTALS: usize = 9;
    pub const HEADER: usize = 10;
}
