//! The content of an archive beside the program: `pages` has man pages and completions, `packages` lists the crates in the
//! program, `notices` their licences, `sbom` the same for programs that read it.

pub mod notices;
pub mod packages;
pub mod pages;
pub mod sbom;
