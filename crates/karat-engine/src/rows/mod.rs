//! Rows of the dataset as the steps and scorers of their cells read them.
//!
//! - `row` is what all cells of a row share; `media` its images and files.
//! - `files` reads recorded outputs, and `joined_rows` the rows that scorers join with a cell.
pub(crate) mod files;
pub(crate) mod joined_rows;
pub(crate) mod media;
pub(crate) mod row;
