//! Runs in the store: reuse of results, kept reports, damage.

mod damage;
mod early_stop;
mod kept_reports;
mod reuse;
