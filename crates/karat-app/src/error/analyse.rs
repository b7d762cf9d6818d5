//! Comparisons, gates, plans of sample sizes and drift that cannot be made.

use karat_types::Shard;

use super::{Names, errors};

errors! {
    /// An analysis of stored runs that cannot be made.
    enum AnalyseError {
        NoSide { name: String, run: String, suite: String, runs: Names, models: Names, variants: Names } =>
            "`{name}` is no stored run, and no model or variant of run {run}"
            hint "the newest runs of {suite}: {runs}; models of run {run}: {models}; variants: {variants}; `karat ls` lists all runs";
        Itself {} => "a run is compared with itself"
            hint "name two runs, or two models or variants of one with `--models A B` or `--variants A B`";
        Unlike { run: String, part: String, of: String } =>
            "`{run}` is a run and `{part}` a part of run {of}: they cannot be compared"
            hint "name two runs, or two models or variants of one, such as `karat compare {part} OTHER --run {run}`";
        NoSystem { run: String, wanted: String, has: Names } => "run {run} has no system with `{wanted}`"
            hint "its systems are {has}";
        BadConfidence { confidence: f64 } => "`--confidence {confidence}` is not a confidence level"
            hint "give a share between 0 and 1, such as 0.95";
        BadMargin { metric: String, margin: f64 } => "`--margin {metric}={margin}` is not a margin"
            hint "give the smallest difference that matters, above 0: in the metric's unit, or `5%` of the baseline";

        NoBaselineFile { path: String } => "reading the baseline {path}: there is no such file"
            hint "`karat baseline pin RUN -o {path}` makes one of a stored run";
        BadBaseline { path: String, problem: String } => "reading the baseline {path}: {problem}"
            hint "`karat baseline pin RUN -o {path}` makes a new one";
        NoBaselinePath {} => "the baseline has no file" hint "name a file with `-o baseline.json`";
        NoScores { run: String } => "run {run} has no scores, so it cannot be a baseline"
            hint "`karat retry {run}` re-runs the failed cells; `karat report {run}` shows why they failed";
        NoGates { run: String } => "run {run} has no gates: none are declared"
            hint "name them with `--policy FILE`, `--min METRIC=X` or `--max-drop X`";
        NotFinished { run: String, why: &'static str } => "run {run} is not finished, and {why}"
            hint "`karat resume {run}` finishes it";
        OnePart { run: String, shard: Shard, why: &'static str } => "run {run} is shard {shard}, and {why}"
            hint "`karat merge` makes the whole run of its shards";

        Unplannable { why: String } => "`--mde`: {why}, so no number of samples detects a difference"
            hint "plan for a metric whose `aggregate` is another";
        NoFigure { metric: String } => "`--mde`: a percentage refers to the stored figure of {metric}, and no stored run has one"
            hint "give the smallest difference that matters in the metric's unit, such as 0.02";
        BadDifference { why: String } => "`--mde`: {why}"
            hint "give the smallest difference that matters, in the metric's unit or as a percentage of its figure";
        NoSpread { metric: String, range: String, why: String } =>
            "the spread of {metric} is unknown: {range}, and {why}"
            hint "run a few samples first (`--limit 20`), of several clusters where the dataset names them, then plan again";
        NoMetrics { known: Names } => "`--mde`: this suite has no metric" hint "there are {known}";
        NoMetric { metric: String, known: Names } => "`--mde`: there is no metric `{metric}`" hint "there are {known}";

        Refused { id: String, problem: String } => "the analysis `{id}` cannot be run: {problem}";
        NoReason {} => "`--close` needs a reason, which the incident's history keeps"
            hint "write it: `--close \"new editor, new style\"`";
        Stretch {} => "a range of days has no incident to close"
            hint "`--close` applies to the whole series: leave out `--since` and `--until`";
        BadShift { shift: f64 } => "`--replay {shift}` is not a valid shift"
            hint "give a number of score units, such as `--replay=-0.5`";
        NoDays {} => "too few days to replay: a replay needs at least two days with a score"
            hint "`--since`, `--until` and `--as-of` choose the days";
        NoSuiteMetric { suite: String, metric: String, known: Names } => "the suite {suite} has no metric `{metric}`"
            hint "it has: {known}";
        NoIncident { id: String, as_of: String } => "no incident of `{id}` is open on {as_of}"
            hint "`--as-of` names another day, `--id` another analysis";
        SeveralIncidents { count: usize, systems: Names } => "incidents of {count} systems are open: {systems}"
            hint "`--system` names the one that is closed";
        LateSince { since: String, as_of: String } =>
            "`--since {since}` is after the analysed day {as_of}"
            hint "name an earlier `--since`, or a later `--as-of`";
        Unwatched { shift: f64, back: f64, metric: String, id: String, watched: &'static str } =>
            "`--replay {shift}` is not watched: the analysis `{id}` of `{metric}` watches for {watched} scores"
            hint "`--replay={back}` goes that way; `worse: both`, under `with` of the analysis, watches both";
        NoThreshold { method: String, own: &'static str } =>
            "`--z-thresh` is the threshold of `median_mad`; `{method}` has none"
            hint "use `{own}` instead, under `with` of the suite's `drift` analysis";
        NoDrift { suite: String, id: String, known: Names } => "the suite {suite} has no drift analysis `{id}`"
            hint "it has: {known}";
    }
}
