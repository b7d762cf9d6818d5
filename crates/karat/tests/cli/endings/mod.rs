//! Runs that end before all cells are made: refused calls, a full disk, a lost store.

mod early_stop;
mod exit_codes;
mod full_disk;
mod kill;
mod lost_store;
mod old_stores;
mod refusals;
mod votes;
