"""How much a test repeats: `make test` takes the quick size, `make test-long` (SFUMATO_LONG=1) the full one.

The quick size goes through the same code; what it leaves out are repetitions, or cases whose path another one takes too.
"""

from __future__ import annotations

import os
from typing import TypeVar

Size = TypeVar("Size")

LONG = os.environ.get("SFUMATO_LONG") == "1"


def sized(quick: Size, full: Size) -> Size:
    """The first in the quick form of the suite, the second in the long one."""
    return full if LONG else quick


# Parametrised tests whose cases take the same path with other numbers: the quick form keeps every k-th case, and each case
# for which a planted fault is listed. The long form runs all of them.
THINNED: dict[str, int] = {
    "tests/dataset/test_bad_cells.py::test_a_bad_cell_moves_its_own_row_only_and_within_bounds": 3,
    "tests/engines/test_engines.py::test_dense_sparse_and_reference_agree_with_the_formula": 2,
    "tests/engines/test_shape_bounds.py::test_a_replaced_record_moves_moments_by_the_root_of_two_squared_radii": 2,
    "tests/engines/test_shape_bounds.py::test_a_replaced_record_moves_weighted_sums_by_what_is_charged": 2,
    "tests/engines/test_shapes.py::test_weighted_sums_are_those_of_single_records": 3,
    "tests/estimators/test_checks.py::test_other_declarations_pass_the_same_checks": 2,
    "tests/estimators/test_checks.py::test_scikit_learn_checks": 8,
    "tests/estimators/test_declared.py::test_a_seed_is_stamped_not_private_and_says_so": 2,
    "tests/estimators/test_declared.py::test_the_plan_is_the_same_for_any_data_of_this_shape": 2,
    "tests/estimators/test_declared.py::test_the_range_of_one_record_changes_no_other_record_and_no_plan": 2,
    "tests/estimators/test_inputs.py::test_every_form_of_the_labels_gives_the_same_model": 2,
    "tests/estimators/test_inputs.py::test_every_table_gives_the_same_model_and_scores": 2,
    "tests/estimators/test_inputs.py::test_no_cell_and_no_label_raises_or_warns": 4,
    "tests/estimators/test_odd_inputs.py::test_one_odd_cell_changes_no_other_row": 2,
    "tests/estimators/test_rows.py::test_no_row_is_longer_than_what_is_paid_for": 2,
    "tests/estimators/test_use.py::test_pipelines_cross_validation_and_searches_work": 2,
    "tests/ledger/test_ledger_intruder.py::test_a_row_that_no_ledger_would_write_is_damage": 2,
    "tests/mechanisms/test_joint.py::test_the_pair_is_no_worse_than_either_single_search_and_meets_the_price": 3,
    "tests/models/test_families_battery.py::test_a_calibrated_plan_is_just_within_its_target": 3,
    "tests/models/test_families_battery.py::test_a_release_has_the_familys_shape_and_verifies": 2,
    "tests/models/test_families_battery.py::test_what_is_expected_is_what_200_releases_give": 5,
    "tests/models/test_family_prices.py::test_the_error_of_a_drawn_mass_is_charged_for_every_family": 2,
    "tests/models/test_gamma_expectations.py::test_expected_half_width_is_what_releases_give": 2,
    "tests/models/test_gamma_families.py::test_calibrated_plans_come_within_a_millionth_and_never_over": 2,
    "tests/models/test_gamma_families.py::test_published_draws_follow_the_posterior": 2,
    "tests/models/test_gamma_families.py::test_tempered_and_noisy_releases_stay_on_the_public_grid": 2,
    "tests/models/test_logit_normal.py::test_calibrated_numbers_are_within_a_millionth_and_never_over": 2,
    "tests/models/test_logit_normal.py::test_expectations_are_met_by_simulated_releases": 3,
    "tests/models/test_logit_normal.py::test_published_draws_follow_the_posterior": 2,
    "tests/models/test_logit_normal.py::test_sketched_draws_follow_the_posterior": 2,
    "tests/models/test_losses.py::test_chords_lie_above_with_the_declared_strong_convexity": 2,
    "tests/models/test_losses.py::test_no_constant_is_broken_and_the_attained_ones_are_tight": 2,
    "tests/models/test_networks.py::test_masses_on_smaller_grids_keep_their_stated_error": 2,
    "tests/models/test_networks.py::test_what_is_expected_is_what_simulated_releases_give": 2,
    "tests/models/test_normal_families.py::test_expectations_are_met_by_simulated_releases": 3,
    "tests/models/test_normal_families.py::test_published_draws_follow_the_posterior": 2,
    "tests/models/test_rates_and_histograms.py::test_a_histogram_costs_at_least_every_pair_of_counts": 2,
    "tests/papers/test_chains.py::test_moments_agree_with_quadrature": 2,
    "tests/papers/test_running.py::test_the_page_shows_the_numbers_that_a_script_prints": 2,
    "tests/privacy/test_compose.py::test_every_route_is_at_least_the_answer": 2,
    "tests/privacy/test_cover.py::test_it_covers_everywhere_and_little_more": 3,
    "tests/privacy/test_guarantee.py::test_k_fold_of_every_event_is_k_singles": 2,
    "tests/privacy/test_inflation.py::test_many_epsilons_at_once_are_the_same_as_one_by_one": 2,
    "tests/privacy/test_inflation.py::test_one_epsilon_is_inflated_by_the_error_of_all_draws": 2,
    "tests/privacy/test_profiles.py::test_beta_pair_is_never_below_and_tight": 2,
    "tests/privacy/test_profiles.py::test_epsilon_inverts_delta_on_the_safe_side": 2,
    "tests/privacy/test_profiles.py::test_gamma_rate_is_never_below_and_tight": 2,
    "tests/privacy/test_profiles.py::test_gamma_shape_is_never_below_and_tight": 2,
    "tests/privacy/test_profiles.py::test_golden_diffused_power": 2,
    "tests/privacy/test_profiles.py::test_the_maximum_after_composing_is_no_larger_than_composing_the_maximum": 2,
    "tests/procedures/test_chain_audit.py::test_measured_mu_of_published_linear_losses_is_the_price": 2,
    "tests/procedures/test_envelope.py::test_draws_follow_the_posterior_and_no_other_power": 2,
    "tests/procedures/test_shape_replay.py::test_no_record_and_no_history_break_the_price": 2,
    "tests/procedures/test_shaped_chain.py::test_no_record_moves_a_step_by_more_than_is_priced": 2,
    "tests/queries/test_coverage.py::test_intervals_hold_the_truth_nine_times_in_ten_and_naive_ones_are_rejected": 2,
    "tests/queries/test_coverage.py::test_other_families_and_mechanisms_hold_the_truth_too": 3,
    "tests/queries/test_groups.py::test_rates_outside_a_floor_have_intervals_at_its_edge": 3,
    "tests/queries/test_held_out.py::test_families_of_one_number_against_scipy": 2,
    "tests/queries/test_own_units.py::test_wrong_questions_are_refused": 2,
    "tests/queries/test_regression_intervals.py::test_nearly_equal_features_give_wide_intervals_not_wrong_ones": 2,
    "tests/samplers/test_gamma_grid.py::test_relative_error_of_masses_is_below_what_is_charged": 3,
    "tests/samplers/test_grid.py::test_relative_error_of_masses_is_below_what_is_charged": 2,
    "tests/samplers/test_grid.py::test_the_first_cell_when_the_mode_stands_at_its_edge": 2,
    "tests/samplers/test_langevin.py::test_measured_mu_of_quadratic_losses_is_the_formula": 2,
    "tests/samplers/test_logit_grid.py::test_relative_error_of_masses_is_below_what_is_charged": 2,
    "tests/samplers/test_logit_grid.py::test_the_outer_cells_hold_the_tails": 2,
    "tests/samplers/test_simplex_lattice.py::test_far_weights_are_drawn_with_their_own_chance": 2,
    "tests/shapes/test_shape_posterior.py::test_intervals_cover": 3,
    "tests/shells/test_commands.py::test_every_kind_of_model_can_be_planned_and_released": 2,
    "tests/shells/test_fuzz.py::test_every_mutation_ends_in_one_clear_line": 4,
    "tests/shells/test_not_private.py::test_every_command_on_a_seeded_release_says_not_private": 2,
    "tests/shells/test_trouble.py::test_a_question_to_a_ledger_that_is_not_there_creates_nothing": 3,
    "tests/test_calibrate.py::test_closed_form_calibrations": 2,
    "tests/test_calibrate.py::test_numeric_calibrations": 2,
    "tests/test_planning.py::test_a_plan_is_within_its_target_and_pure": 2,
    "tests/test_planning.py::test_another_epsilon_n_or_draws_is_another_digest": 2,
    "tests/test_rehearsing.py::test_every_loss_can_be_rehearsed_and_a_plan_with_more_to_spend_errs_less": 2,
    "tests/test_support.py::test_a_row_that_is_served_is_published_verified_and_asked": 2,
    "tests/theorems/test_network_draws.py::test_one_cell_matches_quadrature_of_gammas": 2,
    "tests/theorems/test_network_draws.py::test_the_price_of_a_trajectory_is_never_below_brute_force": 2,
    "tests/theorems/test_truncated_gamma.py::test_it_is_the_exact_supremum_and_never_below_it": 2,
}
