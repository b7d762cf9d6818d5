//! Cancels the batches of a run at their providers.

use karat_providers::{BatchStatus, Providers, Settings};
use karat_store::{BatchState, Store, StoredBatch};
use karat_types::{PlanHeader, RunStatus};

use crate::AppError;
use crate::error::{Lines, RunError};
use crate::project::threads::runtime;
use crate::runs::Runs;

/// The result of cancelling the batches of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelledBatches {
    /// Id of the run.
    pub run: String,
    /// Batches that were asked to end.
    pub cancelled: usize,
    /// True if the run has batches that were given up before and are not read yet.
    pub is_again: bool,
    /// The reason for each batch that could not be cancelled.
    pub problems: Vec<String>,
}

impl Runs<'_> {
    /// Cancels the batches of a run that have not ended. What is done by then is kept; `resume` reads it.
    ///
    /// # Errors
    /// There is no such run, another process runs it, or a model cannot be connected.
    pub fn cancel_batches(&self, run: &str) -> Result<CancelledBatches, AppError> {
        let store = self.app.existing_store()?;
        let header = store.run(&store.resolve(run)?)?;
        let mut batches = store.batches(&header.id)?;
        let is_again = batches.iter().any(|batch| batch.state == BatchState::Cancelled);
        batches.retain(|batch| batch.state.is_under_way());
        let mut result = CancelledBatches { run: header.id.clone(), cancelled: 0, is_again, problems: Vec::new() };
        store.give_up_answers(&header.id)?;
        if batches.is_empty() {
            return Ok(result);
        }
        // A process that waits for them would submit their calls again.
        let ledger = store.reopen(&header.id)?;
        let ended = self.connect_batches(&header.plan, &batches).and_then(|providers| {
            runtime()?.block_on(async {
                for batch in &batches {
                    match cancel(&store, &providers, batch).await {
                        Ok(is_cancelled) => result.cancelled += usize::from(is_cancelled),
                        Err(problem) => result.problems.push(problem),
                    }
                }
            });
            Ok(())
        });
        let finished = runtime()?.block_on(ledger.finish(RunStatus::Interrupted, self.app.clock.now()));
        ended?;
        finished.map_err(|error| RunError::Batch { problem: error.to_string() })?;
        Ok(result)
    }

    fn connect_batches(&self, plan: &PlanHeader, batches: &[StoredBatch]) -> Result<Providers, AppError> {
        let settings = Settings {
            own_program: self.app.own_program.clone(),
            clock: Some(self.app.clock.clone()),
            ..self.app.call_settings()
        };
        let is_used = |id: &str| batches.iter().any(|batch| batch.model == id);
        let models: Vec<_> =
            plan.models.iter().chain(&plan.judges).filter(|model| is_used(&model.id)).cloned().collect();
        Providers::connect(&models, settings).map_err(|errors| RunError::NotConnected { errors: Lines(errors) }.into())
    }
}

/// Returns `false` if the provider does not know the batch.
async fn cancel(store: &Store, providers: &Providers, batch: &StoredBatch) -> Result<bool, String> {
    let text = |error: karat_providers::BatchError| error.message;
    let api = providers.batch_api(&batch.model).map_err(text)?;
    let Some(api) = api else { return Err(format!("model {} has no batch API", batch.model)) };
    let id = match &batch.remote_id {
        Some(id) => id.clone(),
        // A killed process may have created it.
        None => match api.find(&batch.key, batch.lines, batch.created_at, &[]).await.map_err(text)? {
            Some(id) => {
                store.set_batch_remote_id(&batch.key, &id).map_err(|error| error.to_string())?;
                id
            }
            None => {
                store.release_batch(&batch.key).map_err(|error| error.to_string())?;
                return Ok(false);
            }
        },
    };
    match api.cancel(&id).await {
        Ok(()) => {}
        // Its results are read as gone.
        Err(error) if matches!(error.status, Some(404 | 410)) => {}
        // A batch that has ended cannot be cancelled.
        Err(error) => match api.status(&id).await {
            Ok(remote) if remote.status != BatchStatus::Running => {}
            _ => return Err(text(error)),
        },
    }
    store.set_batch_cancelled(&batch.key).map_err(|error| error.to_string())?;
    Ok(true)
}
