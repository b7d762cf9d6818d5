//! Input errors and the checks that detect them.

/// A wrong input. Undefined results are not errors: they are `None`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// Two slices that belong together item by item differ in length.
    #[error("cannot pair {left_name} with {right_name}: {left} and {right} values; pass one of each per item")]
    Unpaired {
        /// Name of the first slice.
        left_name: &'static str,
        /// Name of the second slice.
        right_name: &'static str,
        /// Length of the first slice.
        left: usize,
        /// Length of the second slice.
        right: usize,
    },
    /// A NaN, an infinity, or a number beyond ±1e75.
    #[error(
        "{name} at index {index} is not a number between -1e75 and 1e75; \
         drop it as unscored and report the count"
    )]
    NotFinite {
        /// Name of the slice.
        name: &'static str,
        /// Index of the first such value.
        index: usize,
    },
    /// A number outside its domain.
    #[error("{name} is {value}, which is not {domain}")]
    OutOfDomain {
        /// Name of the argument.
        name: &'static str,
        /// The value.
        value: f64,
        /// The allowed values, such as "between 0 and 1".
        domain: &'static str,
    },
    /// A label that the declared list does not hold.
    #[error("{name} at index {index} is not one of the declared labels; declare it or treat the item as unscored")]
    UnknownLabel {
        /// Name of the slice.
        name: &'static str,
        /// Index of the first such value.
        index: usize,
    },
    /// A row whose length or total differs from that of the first row.
    #[error("{name}: row {row} has {found}, the first row has {expected}; every row must have the same")]
    Ragged {
        /// Name of the counted quantity.
        name: &'static str,
        /// Index of the first such row.
        row: usize,
        /// Found in that row.
        found: u64,
        /// Found in the first row.
        expected: u64,
    },
    /// An index that points past the data.
    #[error("{name} is {index}, but there are only {len}")]
    OutOfBounds {
        /// Name of the index.
        name: &'static str,
        /// The index.
        index: usize,
        /// Number of things it may point at.
        len: usize,
    },
}

/// Returns true if a number can be used in computations: beyond this size fourth powers overflow.
pub(crate) fn is_usable(value: f64) -> bool {
    value.abs() <= 1e75
}

/// Refuses NaN, infinities and numbers whose powers overflow.
pub(crate) fn finite(name: &'static str, values: &[f64]) -> Result<(), InputError> {
    match values.iter().position(|&value| !is_usable(value)) {
        Some(index) => Err(InputError::NotFinite { name, index }),
        None => Ok(()),
    }
}

/// Refuses slices of different length and non-finite values in either.
pub(crate) fn finite_pairs(
    (left_name, left): (&'static str, &[f64]),
    (right_name, right): (&'static str, &[f64]),
) -> Result<(), InputError> {
    same_length(left_name, left.len(), right_name, right.len())?;
    finite(left_name, left)?;
    finite(right_name, right)
}

/// Refuses two lengths that differ.
pub(crate) fn same_length(
    left_name: &'static str,
    left: usize,
    right_name: &'static str,
    right: usize,
) -> Result<(), InputError> {
    if left == right { Ok(()) } else { Err(InputError::Unpaired { left_name, right_name, left, right }) }
}

/// Refuses a value for which `holds` is false; NaN never holds in a comparison.
pub(crate) fn in_domain(name: &'static str, value: f64, domain: &'static str, holds: bool) -> Result<(), InputError> {
    if holds { Ok(()) } else { Err(InputError::OutOfDomain { name, value, domain }) }
}

/// Refuses a probability outside the open interval (0, 1), such as a level or α.
pub(crate) fn open_probability(name: &'static str, value: f64) -> Result<(), InputError> {
    in_domain(name, value, "between 0 and 1 (both excluded)", value > 0.0 && value < 1.0)
}

/// Refuses values outside \[0, 1\].
pub(crate) fn in_unit_interval(name: &'static str, values: &[f64]) -> Result<(), InputError> {
    finite(name, values)?;
    match values.iter().find(|v| !(0.0..=1.0).contains(*v)) {
        Some(&value) => {
            Err(InputError::OutOfDomain { name, value, domain: "between 0 and 1; rescale the score first" })
        }
        None => Ok(()),
    }
}
