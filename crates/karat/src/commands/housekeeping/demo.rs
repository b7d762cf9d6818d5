//! `karat demo`: a preset's demo service.

use karat_types::Exit;

use crate::args::{BuildArg, DemoArgs};
use crate::commands::CommandContext;
use crate::failure::Failure;

pub fn demo(context: &CommandContext<'_>, args: &DemoArgs) -> Result<Exit, Failure> {
    context.printer.say(&format!("serving the demo of {} at http://127.0.0.1:{}", args.preset, args.port));
    let repaired = args.build == BuildArg::Repaired;
    if args.until_eof {
        context.app.service().demo(&args.preset, args.port, repaired, end_of_input())?;
    } else {
        context.app.service().demo(&args.preset, args.port, repaired, std::future::pending())?;
    }
    Ok(Exit::Pass)
}

/// Waits for the end of standard input. A pipe ends with the process at its other end, even if that process is killed.
async fn end_of_input() {
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // Input that cannot be read has ended.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        let _ = ended.send(());
    });
    let _ = end.await;
}
