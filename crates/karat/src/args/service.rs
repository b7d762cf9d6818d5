//! Flags of the commands about schedules and alerts.

use clap::{Args, Subcommand, ValueEnum};

use super::ProgressArgs;

#[derive(Debug, Subcommand)]
pub enum ScheduleCommand {
    /// Show the next due times of a schedule, or of any cron expression
    Next(NextArgs),
    /// List the schedules of a suite
    Ls {
        /// Suite file, or the name of a preset
        #[arg(default_value = "karat.yaml")]
        suite: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the last due times of a suite, and how they ended
    History {
        /// Suite file, or the name of a preset
        suite: String,
        /// Id of the schedule [default: all]
        id: Option<String>,
        /// Number of due times
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
        count: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Skip the due times of a schedule from now on
    Pause(OneScheduleArgs),
    /// Follow a schedule again
    Resume(OneScheduleArgs),
    /// Run one due time here, with its alerts; never twice
    Run(Box<ScheduleRunArgs>),
}

#[derive(Debug, Args)]
pub struct NextArgs {
    /// Suite file, or the name of a preset
    #[arg(requires = "id", conflicts_with = "cron")]
    pub suite: Option<String>,
    /// Id of the schedule
    pub id: Option<String>,
    /// Cron expression of five fields, or a name such as `@daily`
    #[arg(long, value_name = "CRON", requires = "zone")]
    pub cron: Option<String>,
    /// Time zone of the expression, such as Europe/Berlin
    #[arg(long, value_name = "ZONE", requires = "cron")]
    pub zone: Option<String>,
    /// Time after which to begin [default: now]
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// Number of due times
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5)]
    pub count: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct OneScheduleArgs {
    /// Suite file, or the name of a preset
    pub suite: String,
    /// Id of the schedule
    pub id: String,
}

#[derive(Debug, Args)]
pub struct ScheduleRunArgs {
    #[command(flatten)]
    pub schedule: OneScheduleArgs,
    /// Due time to run, such as `2027-03-28T01:00Z` [default: the last one up to now]
    #[arg(long, value_name = "TIME")]
    pub due: Option<String>,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

#[derive(Debug, Subcommand)]
pub enum AlertCommand {
    /// List incidents, or the messages about them
    Ls {
        /// Only incidents in this state
        #[arg(long, value_name = "STATE", conflicts_with = "outbox")]
        state: Option<IncidentStateArg>,
        /// List messages, with their attempts, instead of incidents
        #[arg(long)]
        outbox: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Send a test message by an alert of a suite
    Test {
        /// Suite file, or the name of a preset
        suite: String,
        /// Id of the alert
        id: String,
    },
    /// Send the messages that are due, and retry for 20 seconds
    Flush,
    /// Send no more reminders of an incident
    Ack {
        /// Id of the incident
        id: String,
    },
    /// Close an incident by hand, without a message
    Close {
        /// Id of the incident
        id: String,
    },
    /// Try a message again that was not sent
    Retry {
        /// Id of the message
        id: String,
    },
}

/// A state of incidents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum IncidentStateArg {
    Open,
    Acknowledged,
    Closed,
}

impl IncidentStateArg {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Acknowledged => "acknowledged",
            Self::Closed => "closed",
        }
    }
}
