#!/bin/sh
# Eight shards as a job array: see docs/guides/scale-out.md.
#
#   export RUN=nightly SHARED=/shared/karat
#   JOB=$(sbatch --parsable deploy/slurm-shards.sh)
#   sbatch --dependency=afterany:$JOB --wrap "karat merge $SHARED/*.db --run-id $RUN -o out"
#
# TERM, a minute before the limit, parks the run; the requeued task continues it.
#SBATCH --job-name=karat
#SBATCH --array=1-8
#SBATCH --requeue
#SBATCH --signal=B:TERM@60
#SBATCH --time=04:00:00
exec deploy/shard.sh "$SLURM_ARRAY_TASK_ID" "$SLURM_ARRAY_TASK_COUNT" "$SHARED"
