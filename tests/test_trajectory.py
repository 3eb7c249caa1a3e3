from __future__ import annotations

from distrivote.trajectory import Insertion, Interventions

RECORD = Interventions((Insertion(2, 3), Insertion(7, 1)), (4, 6, 9), (10.0, 7.0, 8.0), True)


def test_a_record_is_cut_with_its_trajectory() -> None:
    assert RECORD.up_to(3) == Interventions((Insertion(2, 1),), (3,), (10.0,), True)
    assert RECORD.up_to(6) == Interventions((Insertion(2, 3),), (4, 6), (10.0, 7.0), False)
    assert RECORD.up_to(0) == Interventions()


def test_a_record_of_a_whole_trajectory_stays_as_it_is() -> None:
    assert RECORD.up_to(9) is RECORD
    assert Interventions().up_to(3) == Interventions()
