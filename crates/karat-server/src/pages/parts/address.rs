//! The addresses of pages about a run. Ids of samples go into the query, since they may have slashes.

use form_urlencoded::byte_serialize;

use crate::pages::parts::query::{LIST, Query};

/// The page of a run.
pub(in crate::pages) fn run(run: &str) -> String {
    // A space of a query is `+`; in a path it is not.
    let encoded: String = byte_serialize(run.as_bytes()).collect();
    format!("/runs/{}", encoded.replace('+', "%20"))
}

/// The cells of a run.
pub(in crate::pages) fn cells(of: &str, list: &Query) -> String {
    list.href(&format!("{}/cells", run(of)))
}

/// A sample of a run, in the list that a query selects.
pub(in crate::pages) fn sample(of: &str, id: &str, list: &Query) -> String {
    list.only(&LIST).with("id", id).href(&format!("{}/sample", run(of)))
}

/// A cell of a run, in the list that a query selects.
pub(in crate::pages) fn cell(of: &str, ordinal: u64, list: &Query) -> String {
    list.only(&LIST).with("n", ordinal.to_string()).href(&format!("{}/cell", run(of)))
}
