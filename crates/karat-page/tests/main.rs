//! Tests of pages.

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
