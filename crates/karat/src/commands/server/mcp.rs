//! `karat mcp`: runs and reports for coding agents.

use std::io;

use karat_mcp::RunLimits;
use karat_types::Exit;

use super::serve::absolute;
use crate::args::McpArgs;
use crate::commands::CommandContext;
use crate::failure::Failure;

pub fn mcp(context: CommandContext<'_>, args: &McpArgs) -> Result<Exit, Failure> {
    let CommandContext { mut app, .. } = context;
    app.home = absolute(&app.home)?;
    if let Some(file) = app.store.file() {
        app.store = format!("sqlite:{}", absolute(file)?.display())
            .parse()
            .map_err(|error| Failure::Message(format!("{error}")))?;
    }
    let root = |error| Failure::Message(format!("opening the folder {}: {error}", args.root.display()));
    app.opened = app.opened.at_root(&args.root).map_err(root)?;
    std::env::set_current_dir(&args.root).map_err(root)?;
    let limits = args.budget_usd.filter(|_| args.allow_runs);
    let limits = limits.map(|budget_usd| RunLimits { budget_usd, allow_commands: args.allow_commands });
    let (input, output) = (io::stdin().lock(), io::stdout().lock());
    karat_mcp::serve(app, limits, input, output)
        .map_err(|error| Failure::Message(format!("speaking with the agent: {error}")))?;
    Ok(Exit::Pass)
}
