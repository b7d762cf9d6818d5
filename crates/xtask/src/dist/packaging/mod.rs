//! Bytes of packages: `archive` is tar, gzip and ar without times, `debian` puts files where Debian has them, `libraries`
//! finds what the program links, `checksums` lists what was made.

pub mod archive;
pub mod checksums;
pub mod debian;
pub mod libraries;
