//! Tests of pages.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

#[path = "page/colours.rs"]
mod colours;
#[path = "page/documents.rs"]
mod documents;
#[path = "page/every_field.rs"]
mod every_field;
#[path = "page/hostile_texts.rs"]
mod hostile_texts;
#[path = "page/snapshots.rs"]
mod snapshots;
