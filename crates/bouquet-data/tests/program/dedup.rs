//! Every line once.

use crate::place::place;

#[test]
fn every_line_is_printed_when_it_first_comes() {
    let place = place();
    let run = place.run_with(&["dedup"], "b\na\nb\n\na\nc");
    assert_eq!(run.text(), "b\na\n\nc\n");
    run.found_with(&["6 lines, 4 printed", "exact"]);
    place.run_with(&["dedup", "-0"], "a\0b\0a").found_with(&["3 lines, 2 printed"]);
    assert_eq!(place.run_with(&["dedup"], "").code, Some(1));
    place.run_with(&["dedup", "--fpr", "1"], "a\n").fails(&["--fpr"]);
    place.run(&["dedup", "missing"]).fails(&["missing", "check the name"]);
}
