//! An alert as a suite declares it.

use karat_types::EnvTemplate;

use crate::channel::Channel;
use crate::event::AlertEvent;
use crate::incident::IncidentRule;

/// An alert of a suite. Secrets stay references to the environment.
#[derive(Debug, Clone, PartialEq)]
pub struct AlertSpec {
    /// Its id.
    pub id: String,
    /// The channel.
    pub send: Channel,
    /// Address of the receiver.
    pub url: EnvTemplate,
    /// Secrets that sign a webhook.
    pub secret: Option<EnvTemplate>,
    /// The events.
    pub events: Vec<AlertEvent>,
    /// Number of cells shown in a message.
    pub examples: usize,
    /// The rule of its incidents.
    pub rule: IncidentRule,
}
