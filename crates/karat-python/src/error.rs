//! Errors as exceptions.

use karat_app::AppError;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    karat,
    KaratError,
    PyException,
    "An error of Karat: what was attempted, what went wrong, where, and what to do next. `exit_code` is what the command \
     line would exit with."
);

/// The exception for an error of a use case.
pub fn exception(error: &AppError) -> PyErr {
    let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
    failure(format!("{error}{hint}"), i32::from(error.exit().code()))
}

/// The exception with this message and exit code.
pub fn failure(message: String, exit_code: i32) -> PyErr {
    Python::attach(|py| {
        let exception = KaratError::new_err(message);
        match exception.value(py).setattr("exit_code", exit_code) {
            Ok(()) => exception,
            Err(other) => other,
        }
    })
}

/// The exception for an argument that a function does not take.
pub fn bad_value(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
