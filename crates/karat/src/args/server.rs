//! Flags of the commands that serve the dashboard and the HTTP API.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use karat_app::Role;

use super::parse;

#[derive(Debug, Args)]
pub struct ViewArgs {
    /// Run to open (id, the beginning of one, or `latest`), or two runs to compare [default: the list of runs]
    #[arg(value_name = "RUN", num_args = 0..=2)]
    pub runs: Vec<String>,
    /// Port on 127.0.0.1; 0 is any free port
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse::whole::<u16>)]
    pub port: u16,
    /// Print the address, and open no browser
    #[arg(long)]
    pub no_open: bool,
    /// Let every user of this machine in while the store has no tokens
    #[arg(long)]
    pub open_loopback: bool,
    /// Open the page with every component and chart in every state
    #[arg(long, conflicts_with = "runs")]
    pub style: bool,
}

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Folder of the suites that may be run; nothing outside of it is read
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
    /// Address to listen on; addresses that other machines reach need a token first
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8787")]
    pub listen: SocketAddr,
    /// Name under which the server may be opened, beside localhost
    #[arg(long, value_name = "NAME")]
    pub host: Vec<String>,
    /// Allow suites that run programs
    #[arg(long)]
    pub allow_commands: bool,
    /// Suite whose schedules are followed [default: karat.yaml of the root, and of the folders in it]
    #[arg(long, value_name = "SUITE")]
    pub schedule: Vec<String>,
    /// Address under which people open the server, such as `https://karat.example`: alerts link to it
    #[arg(long, value_name = "URL", value_parser = parse::web_address)]
    pub public_url: Option<String>,
    /// Runs at one time, scheduled ones included; others wait
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = parse::positive)]
    pub max_runs: u32,
    /// Write a line to stderr for each request and each change of a run
    #[arg(long, value_name = "FORMAT")]
    pub log: Option<LogFormat>,
    /// Serve `/metrics` without a token
    #[arg(long)]
    pub metrics_open: bool,
    /// Let every user of this machine in while the store has no tokens
    #[arg(long)]
    pub open_loopback: bool,
}

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// A JSON object on each line
    Json,
}

#[derive(Debug, Args)]
pub struct HealthArgs {
    /// Address of the server
    #[arg(default_value = "http://127.0.0.1:8787")]
    pub url: String,
}

#[derive(Debug, Args)]
pub struct McpArgs {
    /// Folder of the suites that agents may plan and run; nothing outside of it is read
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
    /// Allow agents to start runs
    #[arg(long, requires = "budget_usd")]
    pub allow_runs: bool,
    /// US dollars that all runs of the session may spend together
    #[arg(long, value_name = "USD", requires = "allow_runs", value_parser = parse::dollars)]
    pub budget_usd: Option<f64>,
    /// Allow suites that run programs
    #[arg(long, requires = "allow_runs")]
    pub allow_commands: bool,
}

#[derive(Debug, Subcommand)]
pub enum TracesCommand {
    /// List the datasets of traces
    Ls {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the newest calls of a dataset, or all calls of one trace
    Show {
        /// Name of the dataset
        dataset: String,
        /// Id of a trace or of one of its calls, or the beginning of one [default: list the newest calls]
        trace: Option<String>,
        /// Day (UTC) to list [default: the last day with calls]
        #[arg(long, value_name = "DATE", conflicts_with = "trace")]
        day: Option<String>,
        /// Number of calls to list
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = parse::whole::<usize>, conflicts_with = "trace")]
        n: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove rows: of a dataset, of earlier days, or of a person
    #[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
    Rm {
        /// Name of the dataset [default: all]
        #[arg(group = "what")]
        dataset: Option<String>,
        /// Remove days before this one
        #[arg(long, value_name = "DATE", group = "what")]
        before: Option<String>,
        /// Remove rows with this value, such as `metadata.user=ann`; several must all match
        #[arg(long, value_name = "NAME=VALUE", group = "what")]
        r#match: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Create a token, and print it once
    #[command(visible_alias = "new")]
    Create {
        /// Role of the token: read, run, admin, ingest or annotate
        #[arg(long, value_name = "ROLE")]
        role: Role,
        /// Name to recognize it by
        #[arg(long, value_name = "NAME")]
        name: String,
        /// Time after which it is refused, such as `90d` [default: never]
        #[arg(long, value_name = "DURATION")]
        expires: Option<String>,
    },
    /// List all tokens
    Ls {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Refuse a token from now on
    Revoke {
        /// Id of the token
        id: String,
    },
    /// Replace a token by a new one with the same name and role
    Rotate {
        /// Id of the token
        id: String,
        /// Time for which the old one is still accepted
        #[arg(long, value_name = "DURATION", default_value = "0s")]
        grace: String,
    },
}
