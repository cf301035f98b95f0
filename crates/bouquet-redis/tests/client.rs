//! The module as programs in Rust use it: with the crate `redis`, in every server that is found.
//!
//! The servers are those that `BOUQUET_REDIS_SERVERS` names, separated by colons, or the one that is installed. Without one the tests
//! are left out with a word. The module is what `BOUQUET_REDIS_MODULE` names, or what cargo builds from these sources.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bloomfilter::Bloom;
use bouquet::{AnyFilter, Cuckoo, RedisTopK};
use redis::{Connection, RedisResult, Value, cmd, pipe};

/// A server on a socket in a folder of its own, ended and removed when it is dropped.
struct Server {
    process: Child,
    folder: tempfile::TempDir,
}

impl Server {
    fn start(binary: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let log = File::create(folder.path().join("log")).expect("a log");
        let process = Command::new(binary)
            .args(["--port", "0", "--save", "", "--maxmemory", "500mb", "--daemonize", "no", "--unixsocket"])
            .arg(folder.path().join("s"))
            .arg("--dir")
            .arg(folder.path())
            .arg("--loadmodule")
            .arg(module())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("one more handle of the log"))
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("{binary} does not start: {error}"));
        Server { process, folder }
    }

    fn connect(&mut self, protocol: &str) -> Connection {
        let address = format!("unix://{}?protocol={protocol}", self.folder.path().join("s").display());
        let client = redis::Client::open(address).expect("an address");
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            match client.get_connection() {
                Ok(connection) => return connection,
                Err(error) if Instant::now() > deadline => {
                    panic!("the server does not answer: {error}; it wrote:\n{}", self.written())
                }
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
            // One that has ended will never answer.
            if let Some(status) = self.process.try_wait().expect("a process of this test") {
                panic!("the server has ended ({status}); it wrote:\n{}", self.written());
            }
        }
    }

    fn written(&self) -> String {
        let log = std::fs::read(self.folder.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The module that is named, or else as cargo builds it: for a test cargo builds the libraries that it links, and this is none.
fn module() -> &'static Path {
    static MODULE: LazyLock<PathBuf> = LazyLock::new(|| {
        let module = match std::env::var_os("BOUQUET_REDIS_MODULE") {
            Some(named) => PathBuf::from(named),
            None => built(),
        };
        assert!(module.is_file(), "there is no module {}; name one in BOUQUET_REDIS_MODULE", module.display());
        module
    });
    &MODULE
}

/// Builds the module, from packages that are at hand since this test was built, and reads from cargo's messages where it lies.
fn built() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "build",
            "--lib",
            "--locked",
            "--offline",
            "--message-format",
            "json-render-diagnostics",
            "--manifest-path",
        ])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .stdin(Stdio::null())
        .output()
        .expect("cargo starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo did not build the module ({}):\n{said}", output.status);
    let is_module = |message: &serde_json::Value| {
        message["reason"] == "compiler-artifact" && message["target"]["name"] == "bouquet_redis"
    };
    let message = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .find(is_module)
        .expect("cargo names what it has built");
    PathBuf::from(message["filenames"][0].as_str().expect("the path of the module"))
}

fn binaries() -> Vec<String> {
    match std::env::var("BOUQUET_REDIS_SERVERS") {
        Ok(named) => named.split(':').filter(|path| !path.is_empty()).map(str::to_owned).collect(),
        Err(_) => {
            let installed = ["redis-server", "valkey-server"].into_iter();
            let runs = |name: &&str| Command::new(name).arg("--version").stdout(Stdio::null()).status().is_ok();
            installed.filter(runs).map(str::to_owned).collect()
        }
    }
}

/// Runs a test with every server under both protocols; servers before 6 have but one.
fn everywhere(test: impl Fn(&mut Connection)) {
    let binaries = binaries();
    if binaries.is_empty() {
        eprintln!("left out: no redis-server or valkey-server was found");
    }
    for binary in binaries {
        let mut server = Server::start(&binary);
        for protocol in ["resp2", "resp3"] {
            let mut connection = server.connect(protocol);
            cmd("FLUSHALL").exec(&mut connection).expect("an empty server");
            test(&mut connection);
        }
    }
}

fn ask<T: redis::FromRedisValue>(connection: &mut Connection, words: &[&str]) -> RedisResult<T> {
    let mut command = cmd(words[0]);
    words[1..].iter().for_each(|word| _ = command.arg(*word));
    command.query(connection)
}

#[test]
fn redisblooms_commands_reply_as_their_types() {
    everywhere(|c| {
        ask::<()>(c, &["BF.RESERVE", "bf", "0.001", "1000"]).unwrap();
        assert_eq!(ask::<Vec<bool>>(c, &["BF.MADD", "bf", "rose", "lily", "rose"]).unwrap(), [true, true, false]);
        assert!(ask::<bool>(c, &["BF.EXISTS", "bf", "lily"]).unwrap());
        let info: HashMap<String, Value> = ask(c, &["BF.INFO", "bf"]).unwrap();
        assert_eq!(info["Number of items inserted"], Value::Int(2));

        ask::<()>(c, &["CF.RESERVE", "cf", "1000"]).unwrap();
        assert_eq!(ask::<Vec<i64>>(c, &["CF.INSERT", "cf", "ITEMS", "rose", "rose"]).unwrap(), [1, 1]);
        assert_eq!(ask::<i64>(c, &["CF.COUNT", "cf", "rose"]).unwrap(), 2);
        assert!(ask::<bool>(c, &["CF.DEL", "cf", "rose"]).unwrap());

        ask::<()>(c, &["CMS.INITBYPROB", "cms", "0.001", "0.01"]).unwrap();
        assert_eq!(ask::<Vec<u64>>(c, &["CMS.INCRBY", "cms", "rose", "3", "lily", "5"]).unwrap(), [3, 5]);
        ask::<()>(c, &["TOPK.RESERVE", "topk", "1"]).unwrap();
        let left: Vec<Option<String>> = ask(c, &["TOPK.ADD", "topk", "rose", "rose"]).unwrap();
        assert_eq!(left, [None, None]);
        assert_eq!(ask::<Vec<String>>(c, &["TOPK.LIST", "topk"]).unwrap(), ["rose"]);

        let error = ask::<()>(c, &["BF.RESERVE", "bf", "0.001", "1000"]).unwrap_err();
        assert!(error.to_string().contains("item exists"), "{error}");
        let error = ask::<()>(c, &["BF.ADD", "cms", "rose"]).unwrap_err();
        assert_eq!(error.code(), Some("WRONGTYPE"));
    });
}

#[test]
fn pipelines_and_transactions_keep_their_order() {
    everywhere(|c| {
        let mut pipeline = pipe();
        pipeline.atomic().cmd("BF.RESERVE").arg("{f}").arg(0.01).arg(10_000).ignore();
        for number in 0..1_000 {
            pipeline.cmd("BF.ADD").arg("{f}").arg(number);
        }
        let fresh: Vec<bool> = pipeline.query(c).unwrap();
        assert!(fresh.len() == 1_000 && fresh.iter().filter(|new| **new).count() > 990);
        assert_eq!(cmd("BF.CARD").arg("{f}").query::<usize>(c).unwrap(), fresh.iter().filter(|new| **new).count());
    });
}

#[test]
fn frames_are_served_and_come_back_as_filters_of_the_library() {
    everywhere(|c| {
        let mut cuckoo = Cuckoo::with_rate(1_000, 0.001).unwrap();
        cuckoo.insert_batch(&["rose", "lily"]).unwrap();
        cmd("BQ.RESTORE").arg("f").arg(cuckoo.to_bytes()).exec(c).unwrap();
        assert_eq!(ask::<Vec<bool>>(c, &["BQ.MEXISTS", "f", "rose", "thistle"]).unwrap(), [true, false]);
        ask::<()>(c, &["BQ.ADD", "f", "iris"]).unwrap();
        let frame: Vec<u8> = ask(c, &["BQ.DUMP", "f"]).unwrap();
        let again = Cuckoo::from_bytes(&frame).unwrap();
        assert!(["rose", "lily", "iris"].iter().all(|name| again.contains(*name)) && again.items() == 3);

        // A key of TOPK.* as the server dumps it is a filter here, and what is written here is restored there.
        ask::<()>(c, &["TOPK.RESERVE", "top", "2", "50", "4", "0.9"]).unwrap();
        ask::<Value>(c, &["TOPK.INCRBY", "top", "rose", "30", "lily", "20", "iris", "10"]).unwrap();
        let dump: Vec<u8> = ask(c, &["DUMP", "top"]).unwrap();
        let top = RedisTopK::from_dump(&dump).unwrap();
        let names: Vec<_> = top.top().into_iter().map(|heavy| (heavy.key, heavy.count.count)).collect();
        assert_eq!(names, [(b"rose".to_vec(), 30), (b"lily".to_vec(), 20)]);
        cmd("RESTORE").arg("again").arg(0).arg(top.to_dump().unwrap()).exec(c).unwrap();
        assert_eq!(ask::<Vec<String>>(c, &["TOPK.LIST", "again"]).unwrap(), ["rose", "lily"]);
    });
}

#[test]
fn every_kind_is_explained_and_a_dump_of_it_opens() {
    everywhere(|c| {
        let kinds: Vec<Vec<Value>> = ask(c, &["BQ.KINDS"]).unwrap();
        assert_eq!(kinds.len(), bouquet::registry::kinds().count());
        for kind in bouquet::registry::kinds() {
            let id = kind.facts().id;
            assert!(ask::<String>(c, &["BQ.EXPLAIN", id]).unwrap().contains(kind.facts().name()), "{id}");
            if cmd("BQ.CREATE").arg(id).arg(id).arg("items").arg(100).exec(c).is_ok() {
                let frame: Vec<u8> = ask(c, &["BQ.DUMP", id]).unwrap();
                assert_eq!(AnyFilter::from_bytes(&frame).unwrap().kind().facts().id, id);
            }
        }
    });
}

/// A filter of Valkey's module, with the crate that it is made of: links, and what is written of them.
struct ValkeyFilter {
    expansion: u32,
    rate: f64,
    tightening: f64,
    links: Vec<(Bloom<[u8]>, i64, i64)>,
    seed: [u8; 32],
}

impl ValkeyFilter {
    fn new(capacity: i64, rate: f64, expansion: u32) -> Self {
        let seed = std::array::from_fn(|at| (at * 37 + 11) as u8);
        let mut filter = ValkeyFilter { expansion, rate, tightening: 0.5, links: Vec::new(), seed };
        filter.append(capacity);
        filter
    }

    fn append(&mut self, capacity: i64) {
        let rate = self.rate * self.tightening.powi(self.links.len() as i32);
        let link = Bloom::new_for_fp_rate_with_seed(capacity as usize, rate, &self.seed).unwrap();
        self.links.push((link, 0, capacity));
    }

    fn contains(&self, key: &[u8]) -> bool {
        self.links.iter().any(|(link, ..)| link.check(key))
    }

    fn add(&mut self, key: &[u8]) -> bool {
        if self.contains(key) {
            return false;
        }
        let &(_, items, capacity) = self.links.last().unwrap();
        if items == capacity {
            self.append(capacity * i64::from(self.expansion));
        }
        let (link, items, _) = self.links.last_mut().unwrap();
        link.set(key);
        *items += 1;
        true
    }

    /// As its serializer writes structures: fields one after the other, numbers little-endian, lengths as 8 bytes.
    fn encoded(&self) -> Vec<u8> {
        let mut out = vec![1];
        out.extend(self.expansion.to_le_bytes());
        out.extend(self.rate.to_le_bytes());
        out.extend(self.tightening.to_le_bytes());
        out.push(0);
        out.extend((self.links.len() as u64).to_le_bytes());
        for (link, items, capacity) in &self.links {
            out.extend((link.as_slice().len() as u64).to_le_bytes());
            out.extend(link.as_slice());
            out.extend(items.to_le_bytes());
            out.extend(capacity.to_le_bytes());
        }
        out
    }
}

#[test]
fn filters_of_valkeys_module_are_loaded_answer_and_grow_as_there() {
    everywhere(|c| {
        for (key, mut filter, members) in
            [("fixed", ValkeyFilter::new(1_000, 0.02, 0), 900), ("grown", ValkeyFilter::new(100, 0.01, 2), 1_000)]
        {
            let name = |number: u64| format!("member-{number}").into_bytes();
            (0..members).for_each(|number| _ = filter.add(&name(number)));
            cmd("BF.LOAD").arg(key).arg(filter.encoded()).exec(c).unwrap();
            let items: i64 = filter.links.iter().map(|(_, items, _)| items).sum();
            assert_eq!(cmd("BF.CARD").arg(key).query::<i64>(c).unwrap(), items);
            let asked = 20_000;
            let mut command = cmd("BF.MEXISTS");
            command.arg(key);
            (0..asked).for_each(|number| _ = command.arg(name(number)));
            let told: Vec<bool> = command.query(c).unwrap();
            let expected: Vec<bool> = (0..asked).map(|number| filter.contains(&name(number))).collect();
            assert_eq!(told, expected, "{key}");
            assert!(
                expected.iter().filter(|yes| **yes).count() > members as usize,
                "{key}: no false positives to compare"
            );
            // What comes afterwards goes to the same bits, in links of the same sizes.
            if filter.expansion > 0 {
                let mut command = cmd("BF.MADD");
                command.arg(key);
                (members..5 * members).for_each(|number| _ = command.arg(name(number)));
                let added: Vec<bool> = command.query(c).unwrap();
                let expected: Vec<bool> = (members..5 * members).map(|number| filter.add(&name(number))).collect();
                assert!(added == expected && filter.links.len() > 5, "{key}");
            }
            // It is kept with the rest: a dump of the server is the same filter.
            let dump: Vec<u8> = cmd("DUMP").arg(key).query(c).unwrap();
            cmd("RESTORE").arg("again").arg(0).arg(dump).arg("REPLACE").exec(c).unwrap();
            let mut command = cmd("BF.MEXISTS");
            command.arg("again");
            (0..asked).for_each(|number| _ = command.arg(name(number)));
            let expected: Vec<bool> = (0..asked).map(|number| filter.contains(&name(number))).collect();
            assert_eq!(command.query::<Vec<bool>>(c).unwrap(), expected, "{key}");
        }
        let bytes = ValkeyFilter::new(10, 0.01, 2).encoded();
        for cut in 0..bytes.len() {
            assert!(cmd("BF.LOAD").arg("cut").arg(&bytes[..cut]).exec(c).is_err(), "cut at {cut}");
        }
        assert!(!cmd("EXISTS").arg("cut").query::<bool>(c).unwrap());
    });
}
