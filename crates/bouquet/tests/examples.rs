//! The examples are run, so that what they print holds.

#[path = "../examples/dedup_stream.rs"]
mod dedup_stream;
#[path = "../examples/guard_store.rs"]
mod guard_store;
#[path = "../examples/heavy_hitters.rs"]
mod heavy_hitters;
#[path = "../examples/keyed_hostile.rs"]
mod keyed_hostile;
#[path = "../examples/mapped_file.rs"]
mod mapped_file;
#[path = "../examples/merge_workers.rs"]
mod merge_workers;
#[path = "../examples/shared_threads.rs"]
mod shared_threads;
#[path = "../examples/sync_sets.rs"]
mod sync_sets;

#[test]
fn every_example_is_among_these_tests() {
    let listed = [
        "dedup_stream",
        "guard_store",
        "heavy_hitters",
        "keyed_hostile",
        "mapped_file",
        "merge_workers",
        "shared_threads",
        "sync_sets",
    ];
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for file in std::fs::read_dir(folder).unwrap() {
        let name = file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned();
        // Measurements at full size, which take their time.
        let measures = ["batch_speed", "beyond_cache"].contains(&name.as_str());
        assert!(measures || listed.contains(&name.as_str()), "{name} is not run");
    }
}

#[test]
fn dedup_stream_runs() -> bouquet::Result<()> {
    dedup_stream::main()
}

#[test]
fn guard_store_runs() -> bouquet::Result<()> {
    guard_store::main()
}

#[test]
fn heavy_hitters_runs() -> bouquet::Result<()> {
    heavy_hitters::main()
}

#[test]
fn keyed_hostile_runs() -> bouquet::Result<()> {
    keyed_hostile::main()
}

#[test]
fn mapped_file_runs() -> bouquet::Result<()> {
    mapped_file::main()
}

#[test]
fn merge_workers_runs() -> bouquet::Result<()> {
    merge_workers::main()
}

#[test]
fn shared_threads_runs() -> bouquet::Result<()> {
    shared_threads::main()
}

#[test]
fn sync_sets_runs() -> bouquet::Result<()> {
    sync_sets::main()
}
