//! Reads a stored run once and collects everything that is known of it.
//!
//! Reading order: [`pass`] drives the one pass over the rows and builds [`crate::Findings`], from which every report starts.
//!
//! - `answer`: which variant and which model to choose
//! - `figure_text`: numbers within their sentences
//! - `recommend`: advice drawn from the findings
//! - `missing_judges`: judges that failed on part of the cells

mod answer;
mod figure_text;
pub(crate) mod missing_judges;
pub(crate) mod pass;
mod recommend;
