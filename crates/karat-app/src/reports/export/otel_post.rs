//! Sends a run to a receiver of OpenTelemetry.

use std::time::Duration;

use serde_json::Value;

use super::otel::{Signal, SpanContent};
use crate::AppError;
use crate::error::ServiceError;
use crate::project::threads::runtime;
use crate::reports::Reports;

/// Attempts for a request that the receiver cannot take now.
const ATTEMPTS: u32 = 6;

/// Longest wait before another attempt, in seconds.
const LONGEST_WAIT: u64 = 30;

/// Variable with headers for the receiver: `name=value,name=value`.
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";

impl Reports<'_> {
    /// Posts a run to `BASE/v1/traces` and `BASE/v1/logs`. Returns the number of scores.
    ///
    /// # Errors
    /// The run cannot be read; the receiver cannot be reached or refuses a request.
    pub fn send_otel(&self, run: &str, content: SpanContent, base: &str) -> Result<u64, AppError> {
        let (runtime, client) = (runtime()?, self.app.hook_client()?);
        let headers = self.otel_headers();
        let headers: Vec<(&str, String)> = headers.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let base = base.trim_end_matches('/');
        self.otel_requests(run, content, &mut |signal, request: Value| {
            let url = format!("{base}/v1/{}", if signal == Signal::Traces { "traces" } else { "logs" });
            let refused = |problem: String| ServiceError::NotReceived { address: url.clone(), problem };
            let body = request.to_string();
            for attempt in 1..=ATTEMPTS {
                let answer = runtime.block_on(client.post(&url, &headers, body.clone()));
                let answer = answer.map_err(|error| refused(error.to_string()))?;
                match answer.status {
                    200..=299 => return Ok(()),
                    429 | 503 if attempt < ATTEMPTS => {
                        let wait = answer.retry_after_s.unwrap_or(1 << attempt.min(5)).min(LONGEST_WAIT);
                        runtime.block_on(async { tokio::time::sleep(Duration::from_secs(wait)).await });
                    }
                    status => return Err(refused(format!("it answered {status}")).into()),
                }
            }
            Ok(())
        })
    }

    fn otel_headers(&self) -> Vec<(String, String)> {
        let listed = (self.app.lookup)(HEADERS).unwrap_or_default();
        let pair =
            |pair: &str| pair.split_once('=').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
        listed.split(',').filter_map(pair).collect()
    }
}
