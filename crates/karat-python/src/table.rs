//! Tables for readers of Arrow: pandas, Polars, DuckDB, pyarrow.

use karat_app::{App, RunTable};
use karat_columnar::{FFI_ArrowArrayStream, TableStream};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::exception;

/// The name that the PyCapsule interface gives the capsule of a stream.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// A table of a stored run. Each reader gets a stream of its own, which reads the store while it is read.
#[pyclass(frozen, module = "karat")]
pub struct ArrowTable {
    app: App,
    run: String,
    name: String,
}

impl ArrowTable {
    /// A table by its name.
    pub fn new(app: App, run: String, name: String) -> PyResult<Self> {
        if !["cells", "scores", "judgments", "calls", "figures"].contains(&name.as_str()) {
            let problem = format!("a run has no table `{name}`; use cells, scores, judgments, calls or figures");
            return Err(PyValueError::new_err(problem));
        }
        Ok(Self { app, run, name })
    }

    fn stream(&self) -> Result<TableStream, karat_app::AppError> {
        let table = match self.name.as_str() {
            "figures" => return self.app.reports().figure_table(&self.run),
            "cells" => RunTable::Cells,
            "scores" => RunTable::Scores,
            "judgments" => RunTable::Judgments,
            _ => RunTable::Calls,
        };
        self.app.reports().run_table(&self.run, table)
    }
}

#[pymethods]
impl ArrowTable {
    /// The table as a stream. A wanted schema is not cast to: the interface leaves that to the reader.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let stream = py.detach(|| self.stream().map(FFI_ArrowArrayStream::from)).map_err(|error| exception(&error))?;
        PyCapsule::new_with_value(py, stream, STREAM)
    }

    fn __repr__(&self) -> String {
        format!("<karat table {} of run {}>", self.name, self.run)
    }
}
