//! `karat doctor`.

use karat_app::Health;
use karat_types::Exit;

use crate::args::DoctorArgs;
use crate::commands::CommandContext;
use crate::commands::table::table;
use crate::failure::Failure;

pub fn doctor(context: &CommandContext<'_>, args: &DoctorArgs) -> Result<Exit, Failure> {
    let findings = context.app.service().doctor(args.online)?;
    if args.json {
        context.print_json(&findings)?;
    } else {
        let word = |health| match health {
            Health::Fine => "ok",
            Health::Absent => "-",
            Health::Broken => "BROKEN",
        };
        let rows = findings.iter().map(|it| vec![word(it.health).to_owned(), it.what.clone(), it.says.clone()]);
        context.printer.summary(&table(context, &["", "what", "says"], rows))?;
    }
    let broken = findings.iter().any(|finding| finding.health == Health::Broken);
    Ok(if broken { Exit::HarnessError } else { Exit::Pass })
}
