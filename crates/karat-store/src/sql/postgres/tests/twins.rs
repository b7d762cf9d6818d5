//! The tests of files, on a server: the same functions, with a database in place of each file. What is about the file
//! itself (its permissions, a full disk, a torn log, older versions) has no twin here.

use crate::tests::test_data::on_server;

macro_rules! twins {
    ($($name:ident = $module:path { $($test:ident),+ $(,)? })+) => { $(
        /// SC-06: the same rules hold on a server.
        mod $name {
            use $module as on_file;

            use super::on_server;

            $(
                #[test]
                fn $test() {
                    on_server(on_file::$test);
                }
            )+
        }
    )+ };
}

twins! {
    checksums = crate::tests::checksums {
        every_bit_of_every_table_is_told,
        no_table_and_no_column_is_without_a_checksum,
        a_row_in_another_place_is_told,
        a_label_that_is_gone_is_told,
        a_damaged_vector_is_made_again,
        damaged_rows_of_a_run_are_made_again,
        a_server_has_the_same_checksum,
    }
    crash = crate::tests::crash {
        kill_9_loses_nothing_that_was_acknowledged,
    }
    invalidate = crate::tests::invalidate {
        invalidating_one_cell_keeps_shared_steps,
        results_used_by_other_runs_stay,
        force_withdraws_what_others_use,
        failed_cells_keep_no_result,
        repeated_results_belong_to_the_run_that_repeated_them,
        shared_results_are_removed_with_the_last_run,
        only_the_own_copy_is_removed,
        old_results_are_pruned,
        pruning_keeps_copies_of_other_runs,
    }
    model = crate::tests::model {
        records_are_read_back,
    }
    old_store = crate::tests::old_store {
        a_server_without_checksums_gets_them,
    }
    processes = crate::tests::processes {
        processes_share_a_store,
        a_run_has_one_writing_process,
    }
    reading = crate::tests::reading {
        rows_come_in_plan_order,
        a_runs_state_changes_with_its_records,
        every_change_is_seen_once_under_the_same_number,
        pages_of_runs_stay_while_runs_are_added,
    }
    resume = crate::tests::resume {
        paid_calls_are_those_that_no_row_uses,
        spending_adds_up_over_the_parts_of_a_run,
        the_most_expensive_call_may_have_an_unknown_cost,
        finished_cells_are_found_by_their_latest_row,
        runs_are_found_by_id_prefix_and_latest,
        a_run_name_is_unique_and_has_one_writer,
    }
    reuse = crate::tests::reuse {
        steps_are_shared_by_runs,
        a_run_can_reuse_its_own_results_only,
        invalidated_results_stay_so_for_their_own_run,
        results_of_another_process_are_found,
        keys_come_into_the_index_part_by_part,
        a_frequently_hit_index_is_read_as_a_whole,
        waiting_keys_are_found_while_others_write,
        keys_do_not_wait_forever,
        a_result_counts_once,
        late_keys_undo_no_invalidation,
        only_sound_judgments_are_reused,
        calls_are_found_with_their_raw_bytes,
    }
    store_lease = crate::tests::store_lease {
        one_of_two_runs_makes_a_shared_result,
    }
    annotation = crate::server::annotation::tests {
        other_content_is_a_new_version,
        a_change_is_written_whole_or_not_at_all,
        tasks_are_found_by_their_last_event,
    }
    answers = crate::server::answers::tests {
        the_first_answer_counts_for_seven_days,
    }
    queue = crate::server::queue::tests {
        a_run_is_queued_with_its_answer_or_not_at_all,
        runs_are_taken_in_order,
    }
    outbox = crate::server::outbox::tests {
        a_message_is_taken_by_one_process,
    }
    firings = crate::server::firings::tests {
        a_due_time_is_stored_once,
        a_schedule_is_paused_and_followed,
    }
    tokens = crate::server::tokens::tests {
        tokens_are_kept_and_revoked_once,
    }
    incidents = crate::server::incidents::tests {
        pages_of_incidents_stay,
        a_run_alerts_once,
    }
    recovery = crate::server::recovery::tests {
        a_run_of_a_living_server_is_left_alone,
    }
    vectors = crate::reuse::vectors::tests {
        the_first_vector_of_a_text_stays,
    }
    journal = crate::write::journal::tests {
        facts_are_separated_by_suite_and_kind,
    }
    blobs = crate::reuse::blobs::tests {
        an_image_is_stored_once_and_pruned,
    }
}
