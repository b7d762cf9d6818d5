//! Archives of Inspect (`.eval`), damaged in their form or in what their members say.

use std::io::{Cursor, Write};

use karat_import::ImportKind;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::import::import_file;

/// Between members of an archive that the target makes itself, so that its checksums are right.
const BETWEEN: u8 = 0;

/// Members that a log has.
const MEMBERS: [&str; 6] = [
    "header.json",
    "samples/1_epoch_1.json",
    "samples/2_epoch_1.json",
    "summaries.json",
    "_journal/start.json",
    "reductions.json",
];

/// Imports the bytes as an archive; if the first is 0, as the members of one.
pub fn run(data: &[u8]) {
    match data.split_first() {
        Some((&BETWEEN, members)) => import_file(ImportKind::Inspect, "log.eval", &archive(members)),
        _ => import_file(ImportKind::Inspect, "log.eval", data),
    }
}

fn archive(members: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, content) in MEMBERS.into_iter().zip(members.split(|byte| *byte == BETWEEN)) {
        let written = zip.start_file(name, options).map(|()| zip.write_all(content));
        assert!(matches!(written, Ok(Ok(()))), "an archive in memory can be written");
    }
    zip.finish().map(Cursor::into_inner).unwrap_or_default()
}
