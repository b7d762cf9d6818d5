//! The database file and the files beside it.
//!
//! `schema` opens SQLite, creates the tables and migrates old files. `state_folder` creates the private folder. `run_lock`
//! gives each run a single writer, and `run_claim` does wherever the store is; `store_lease` lets runs of several processes
//! share the work on equal results. `space` looks for room on the disk, `file_system` for the network, `backup` copies the
//! file while it is used, `copy` a whole store into an empty one of any kind. `server_state` describes a server.
//! `transaction` begins to write, and waits for a store that is locked or away.

pub(crate) mod backup;
pub(crate) mod copy;
pub(crate) mod file_system;
pub(crate) mod run_claim;
pub(crate) mod run_lock;
pub(crate) mod schema;
pub(crate) mod server_state;
pub(crate) mod space;
pub(crate) mod state_folder;
pub(crate) mod store_lease;
pub(crate) mod transaction;
