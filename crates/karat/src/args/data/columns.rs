//! Flags that name rows and their columns.

use clap::Args;

/// The rows that a command reads.
#[derive(Debug, Clone, Args)]
pub struct SourceArgs {
    /// File of rows, suite, `traces:NAME` or `run:RUN`
    #[arg(default_value = "karat.yaml", value_name = "FILE|SUITE", conflicts_with = "from")]
    source: String,
    /// The same as the argument
    #[arg(long, value_name = "FILE|SUITE", hide = true)]
    from: Option<String>,
}

impl SourceArgs {
    /// The rows: a file, a suite, `traces:NAME` or `run:RUN`.
    pub fn name(&self) -> &str {
        self.from.as_deref().unwrap_or(&self.source)
    }
}

/// Columns of rows that no suite describes.
#[derive(Debug, Clone, Args)]
pub struct ColumnArgs {
    /// Column of the id [default: `id` or `sample_id`]
    #[arg(long, value_name = "COLUMN")]
    pub id: Option<String>,
    /// Column of the input [default: `input`, `question`, `prompt` and the like]
    #[arg(long, value_name = "COLUMN")]
    pub input: Option<String>,
    /// Column of the reference [default: `reference`, `target`, `expected` and the like]
    #[arg(long, value_name = "COLUMN")]
    pub reference: Option<String>,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::args::{Cli, Command, DatasetCommand};

    fn source(words: &str) -> Result<String, String> {
        let command_line = ["karat", "dataset"].into_iter().chain(words.split_whitespace());
        let cli = Cli::try_parse_from(command_line).map_err(|error| error.to_string())?;
        let Command::Dataset(command) = cli.command else { return Err("another command".to_owned()) };
        let source = match &command {
            DatasetCommand::Sample(args) => &args.source,
            DatasetCommand::Dedup(args) => &args.source,
            DatasetCommand::Split(args) => &args.source,
            DatasetCommand::Version(args) => &args.source,
            DatasetCommand::Describe(args) => &args.source,
            _ => return Err("another command of `dataset`".to_owned()),
        };
        Ok(source.name().to_owned())
    }

    /// F120: every command that reads rows takes them as an argument, and `--from` is another name of it.
    #[test]
    fn rows_are_an_argument_of_every_command() {
        for rest in ["sample -n 5 -o x", "dedup --report", "split --parts a=1 -o x", "version", "describe"] {
            let (name, flags) = rest.split_once(' ').unwrap_or((rest, ""));
            assert_eq!(source(&format!("{name} logs.jsonl {flags}")).as_deref(), Ok("logs.jsonl"), "{name}");
            assert_eq!(source(&format!("{name} --from run:latest {flags}")).as_deref(), Ok("run:latest"), "{name}");
            assert_eq!(source(&format!("{name} {flags}")).as_deref(), Ok("karat.yaml"), "{name}");
            assert!(source(&format!("{name} a.jsonl --from b.jsonl {flags}")).is_err(), "{name}");
        }
    }
}
