//! Primitives of charts and of marks within texts and tables: `axis` maps values to positions, `mark` draws at them,
//! `dots` are estimates with intervals on one line, `sparkline` is a line in a cell.

pub(crate) mod axis;
pub(crate) mod dots;
pub(crate) mod mark;
pub(crate) mod sparkline;
