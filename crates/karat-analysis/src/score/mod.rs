//! From stored judgments to one number for each sample and system.
//!
//! The order is fixed: `consensus` merges the judges of a cell, `checks` applies bounds and fills in `pass`, `table` keeps
//! the scores of the run and reduces trials by `reduce`. `observations` is the form in which `figures` takes them.
//!
//! - `cascade`: cells that a cascade's judges did not grade, by what the first scorer says
//! - `judged`: the grades of each of several judges
//! - `matched_cells`: pairs the cells of two systems trial by trial
//! - `prefix`: the rows of a stopped run that enter figures
//! - `scales`: the steps that a metric can take
//! - `people`: what people said in closed tasks, and their labels, matched to cells and metrics
//! - `instrument`: the judges and rules that measured, names of metrics and of served models
//! - `error`: runs that cannot be analysed
//! - `classification`: F1 and related figures of expected and found labels

pub(crate) mod cascade;
pub(crate) mod checks;
pub(crate) mod classification;
pub(crate) mod consensus;
pub(crate) mod error;
pub(crate) mod instrument;
pub(crate) mod judged;
pub(crate) mod matched_cells;
pub(crate) mod observations;
pub(crate) mod people;
pub(crate) mod prefix;
pub(crate) mod reduce;
pub(crate) mod scales;
pub(crate) mod table;
