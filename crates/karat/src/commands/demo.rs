//! `karat demo`: a preset's demo service.

use karat_types::Exit;

use super::Edge;
use crate::args::{BuildArg, DemoArgs};
use crate::failure::Failure;

pub fn demo(edge: &Edge<'_>, args: &DemoArgs) -> Result<Exit, Failure> {
    edge.printer.say(&format!("serving the demo of {} at http://127.0.0.1:{}", args.preset, args.port));
    edge.app.demo(&args.preset, args.port, args.build == BuildArg::Repaired)?;
    Ok(Exit::Pass)
}
