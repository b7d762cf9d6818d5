//! `karat ls`.

use karat_types::Exit;

use super::{Edge, table};
use crate::args::LsArgs;
use crate::failure::Failure;

pub fn ls(edge: &Edge<'_>, args: &LsArgs) -> Result<Exit, Failure> {
    let runs = edge.app.runs(args.limit)?;
    if args.json {
        edge.json(&runs)?;
        return Ok(Exit::Pass);
    }
    let rows = runs.iter().map(|run| {
        vec![
            run.id.clone(),
            run.suite.clone(),
            run.status.clone(),
            format!("{}/{}", run.cells, run.planned),
            run.errors.to_string(),
            run.started_at.clone(),
        ]
    });
    edge.printer.data(&table(&["run", "suite", "status", "cells", "errors", "started"], rows))?;
    Ok(Exit::Pass)
}
