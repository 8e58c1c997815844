import pytest

from ml.errors import InputError
from ml.sources.captaincook4d_csv import ErrorRow, read_error_annotations_csv

HEAD = "recording_id,step_id,start_time,end_time,description,has_errors,Order Error,error_description,Timing Error,error_description\n"


def test_texts_stay_with_their_tags(tmp_path):
    path = tmp_path / "error_annotations.csv"
    path.write_text(HEAD + '1_1,4,0.5,9,"Stir, well",True,1,None,1,too long\n1_1,5,None,None,Cut,False,0,None,0,None\n')
    assert read_error_annotations_csv(path) == [
        ErrorRow("1_1", "4", 0.5, 9.0, "Stir, well", True, (("Order Error", None), ("Timing Error", "too long"))),
        ErrorRow("1_1", "5", None, None, "Cut", False, ()),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (HEAD + "1_1,4,0.5,9,Stir,maybe,0,None,0,None\n", "row 2.*maybe"),
        (HEAD + "1_1,4,0.5,9,Stir,False\n", "row 2.*6 cells where 10"),
        ("recording_id,error_description\n", "0 columns 'step_id'"),
        ("", "empty"),
    ],
)
def test_bad_files(tmp_path, text, told):
    path = tmp_path / "error_annotations.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=told):
        read_error_annotations_csv(path)
