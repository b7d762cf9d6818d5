//! `karat doctor`.

use karat_app::Health;
use karat_types::Exit;

use super::{Edge, table};
use crate::args::DoctorArgs;
use crate::failure::Failure;

pub fn doctor(edge: &Edge<'_>, args: &DoctorArgs) -> Result<Exit, Failure> {
    let findings = edge.app.doctor(args.online)?;
    if args.json {
        edge.json(&findings)?;
    } else {
        let word = |health| match health {
            Health::Fine => "ok",
            Health::Absent => "-",
            Health::Broken => "BROKEN",
        };
        let rows = findings.iter().map(|it| vec![word(it.health).to_owned(), it.what.clone(), it.says.clone()]);
        edge.printer.data(&table(edge, &["", "what", "says"], rows))?;
    }
    let broken = findings.iter().any(|finding| finding.health == Health::Broken);
    Ok(if broken { Exit::HarnessError } else { Exit::Pass })
}
