//! The module `karat._karat`: what the Python package `karat` is built on. The package is in `python/`.
//!
//! - `engine` is the entry point: use cases of `karat_app`, called from Python. Read it first.
//! - `progress` follows a run.
//! - `functions` calls functions written in Python; `workers` are the threads that do so.
//! - `table` hands tables over by Arrow's PyCapsule interface.
//! - `metrics` and `stats` are plain functions; `error` turns errors into exceptions.
//!
//! The interpreter is attached only while Python code runs: every use case runs detached.

mod engine;
mod error;
mod functions;
mod metrics;
mod progress;
mod stats;
mod table;
mod workers;

use pyo3::prelude::*;

/// The allocator of the command line. It serves this module alone: the interpreter and other modules keep theirs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The module.
#[pymodule]
fn _karat(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("KaratError", module.py().get_type::<error::KaratError>())?;
    module.add_class::<engine::Engine>()?;
    module.add_class::<functions::Answer>()?;
    module.add_class::<table::ArrowTable>()?;
    metrics::add_to(module)?;
    stats::add_to(module)
}
