#!/bin/sh
# Eight shards as a job array: see docs/guides/scale-out.md.
#
#   export RUN=nightly SHARED=/shared/karat
#   JOB=$(sbatch --parsable deploy/slurm-shards.sh)
#   sbatch --dependency=afterany:$JOB --wrap "karat merge $SHARED/*.db --run-id $RUN -o out"
#
# TERM, a minute before the limit, parks the run. The task then puts itself into the queue again, where it continues the run
# from the copy of its store. `--requeue` allows that, and does the same for a task whose node was lost.
#SBATCH --job-name=karat
#SBATCH --array=1-8
#SBATCH --requeue
#SBATCH --signal=B:TERM@60
#SBATCH --time=04:00:00

# A disk may still have the store of an earlier attempt, older than the copy: each attempt has a folder of its own.
LOCAL=${LOCAL:-/tmp/karat-$RUN-$SLURM_ARRAY_TASK_ID-${SLURM_RESTART_COUNT:-0}}

requeue() {
    task=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
    # A task that was cancelled is not running any more, and stays cancelled.
    if [ "$(squeue --noheader --format=%T --jobs="$task")" = RUNNING ]; then
        scontrol requeue "$task" || echo "not requeued: continue with \`scontrol requeue $task\`" >&2
    fi
}
trap '[ $? -ne 130 ] || requeue' EXIT

# In this shell, which is the process that TERM is sent to.
set -- "$SLURM_ARRAY_TASK_ID" "$SLURM_ARRAY_TASK_COUNT" "$SHARED"
. deploy/shard.sh
