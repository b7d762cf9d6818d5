//! Queries about runs.
//!
//! `runs` lists runs. `rows` streams a run's cells, samples and judgments in plan order.
//! `cursors` checks these rows. `finished` and `totals` say how far a run is. `account` sums up its calls and money from the call logs; `paid_calls`
//! returns replies that a resumed run need not pay for again. `lookup` finds single records by content key.
//! `follow` reads what was added since the last look, for those who watch a run. `check` reads everything and compares it
//! with the totals. `derived` keeps what readers computed from a run's rows, `stops` the early stops of runs.

pub(crate) mod account;
pub(crate) mod check;
pub(crate) mod cursors;
pub(crate) mod derived;
pub(crate) mod finished;
pub(crate) mod follow;
pub(crate) mod lookup;
pub(crate) mod paid_calls;
pub(crate) mod rows;
pub(crate) mod runs;
pub(crate) mod stops;
pub(crate) mod totals;
