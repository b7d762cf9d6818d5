//! Components of the live dashboard, for what only a server can do: lists that it filters, sorts and pages, and cells
//! read whole.
//!
//! - `listing`: a table whose heads are links that sort; its rows open in place.
//! - `filters`: the form and the chips above it; `pager`: the links below it.
//! - `steps`: the calls of a cell, with a timing bar; `json_tree`: JSON that opens part by part.

pub mod filters;
pub mod json_tree;
pub mod listing;
pub mod pager;
pub mod steps;
