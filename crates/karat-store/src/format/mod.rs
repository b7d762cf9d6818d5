//! The byte formats of records, one file for each record type. Each starts with a version byte;
//! [`crate::block::pack`] explains the rule for versions. `cost`, `notes` and `score` hold parts that several records
//! share; `stored_form` names all forms, for checks that damage them. `encode` turns records into rows and
//! section entries; `run_lookup` finds one run by name.

mod call;
mod cell;
mod cost;
pub(crate) mod encode;
mod judgment;
mod notes;
mod run;
pub(crate) mod run_lookup;
mod sample;
mod score;
mod step;
mod stored_form;

pub(crate) use call::{pack_call, unpack_call};
pub(crate) use cell::{StoredCell, pack_cell, status_code, unpack_cell};
pub(crate) use judgment::{is_sound, pack_judgment, unpack_judgment};
pub(crate) use run::{pack_header, run_status_code, run_status_of, unpack_header};
pub(crate) use sample::{pack_sample, unpack_sample};
pub(crate) use step::{pack_step, unpack_step};
pub use stored_form::StoredForm;
