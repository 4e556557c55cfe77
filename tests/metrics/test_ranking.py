import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from thrifty.metrics import ndcg_at_k, precision_at_k


@st.composite
def ranked_documents(draw, scores):
    """Labels, scores and unsorted query ids of up to 25 documents, and a k."""
    n = draw(st.integers(1, 25))
    columns = [draw(st.lists(each, min_size=n, max_size=n)) for each in (st.integers(0, 4), scores, st.integers(-2, 3))]
    return *map(np.array, columns), draw(st.integers(1, 8))


TIED = st.integers(0, 3)
MOSTLY_DISTINCT = st.floats(-1e6, 1e6)


@pytest.mark.parametrize("scores", [TIED, MOSTLY_DISTINCT], ids=["tied", "distinct"])
def test_ndcg_equals_scikit_learn_query_by_query(scores):
    @given(ranked_documents(scores))
    def check(case):
        y, score, qid, k = case
        ours = ndcg_at_k(y, score, qid=qid, k=k, average=False)
        for value, query in zip(ours, np.unique(qid), strict=True):
            gain = 2.0 ** y[qid == query] - 1
            if len(gain) > 1:  # scikit-learn wants two documents
                np.testing.assert_allclose(value, ndcg_score([gain], [score[qid == query]], k=k), atol=1e-12)
            else:
                assert value == (gain[0] > 0)
        assert ndcg_at_k(y, score, qid=qid, k=k) == pytest.approx(ours.mean())

    check()


@given(ranked_documents(MOSTLY_DISTINCT))
def test_precision_equals_a_count_query_by_query(case):
    y, score, qid, k = case
    score = score + np.linspace(0, 1e-3, len(score))
    if len(np.unique(score)) < len(score):
        return
    ours = precision_at_k(y, score, qid=qid, k=k, relevant=2, average=False)
    for value, query in zip(ours, np.unique(qid), strict=True):
        best_first = y[qid == query][np.argsort(-score[qid == query])]
        assert value == pytest.approx((best_first[:k] >= 2).sum() / k)


@given(ranked_documents(TIED), st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(case, random):
    y, score, qid, k = case
    order = np.array(random.sample(range(len(y)), len(y)))
    for metric in (ndcg_at_k, precision_at_k):
        shuffled = metric(y[order], score[order], qid=qid[order], k=k)
        assert shuffled == pytest.approx(metric(y, score, qid=qid, k=k))


def test_ties_give_the_average_over_all_orders():
    assert precision_at_k([1, 0, 0, 0], [7, 7, 7, 7], qid=[0, 0, 0, 0], k=2) == pytest.approx(0.25)


def test_by_hand():
    y, score, qid = [0, 2, 1, 0], [3.0, 2.0, 1.0, 5.0], ["b", "b", "b", "a"]
    ideal = 3 / np.log2(2) + 1 / np.log2(3)
    achieved = 3 / np.log2(3) + 1 / np.log2(4)
    np.testing.assert_allclose(ndcg_at_k(y, score, qid=qid, average=False), [0, achieved / ideal])
    np.testing.assert_allclose(precision_at_k(y, score, qid=qid, average=False), [0, 2 / 5])


def test_precision_understands_signed_labels_and_infinite_scores():
    assert precision_at_k([1, -1, 1], [np.inf, 0.0, -np.inf], qid=[4, 4, 4], k=1) == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_score": [1.0, 2.0]}, r"y_score has shape \(2,\); expected one entry for each of 3 rows"),
        ({"qid": [1, 1]}, r"qid has shape \(2,\)"),
        ({"y_true": [[0, 1, 2]]}, r"y_true has shape \(1, 3\)"),
        ({"y_true": []}, "y_true is empty"),
        ({"y_true": [0, -1, 2]}, "y_true holds -1; expected relevance labels of 0 to 1000"),
        ({"y_true": [0, 1e9, 2]}, r"y_true holds 1e\+09"),
        ({"y_score": [0.0, np.nan, 1.0]}, "y_score is NaN in row 1"),
        ({"y_true": [np.nan, 0, 1]}, "y_true is NaN in row 0"),
        ({"k": 0}, "k is 0; expected a whole number of ranks"),
        ({"k": 2.5}, "k is 2.5"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"y_true": [0, 1, 2], "y_score": [0.1, 0.2, 0.3], "qid": [1, 1, 2], "k": 5} | change
    with pytest.raises(ValueError, match=message):
        ndcg_at_k(arguments.pop("y_true"), arguments.pop("y_score"), **arguments)
