//! The module for Redis and Valkey.
//!
//! `redis-server --loadmodule libbouquet_redis.so` has the commands of RedisBloom (`BF.*`, `CF.*`, `CMS.*`, `TOPK.*`) on data that is
//! RedisBloom's bit for bit, and `BQ.*` for every kind of the library. [docs/redis.md](../../../docs/redis.md) is for its users.
//!
//! | file | what it knows |
//! |---|---|
//! | `server/` | the server's interface, the only place with `unsafe`; it says why it is written by hand |
//! | `command.rs` | the table of commands: name, flags, keys, help, function |
//! | `config.rs` | arguments of loading and settings |
//! | `bf.rs`, `cf.rs`, `cms.rs`, `topk.rs` | RedisBloom's families: replies, and the layout of snapshots |
//! | `bq.rs`, `bq/` | every kind, from the registry |

mod bf;
mod bq;
mod cf;
mod cms;
mod command;
mod config;
mod server;
mod topk;

/// The version of RedisBloom whose commands these are, as it numbers itself: clients look for it.
const VERSION: std::ffi::c_int = 20_420;

/// Registers everything; `words` are the arguments of loading.
fn load(module: &mut server::Module, words: &[String]) -> Result<(), String> {
    // Filters of every size count in the server's memory.
    bouquet::store::keep_to_allocator();
    config::read(words)?;
    module.value::<bouquet::foreign::RedisBloomChain>()?;
    module.value::<bouquet::foreign::RedisCuckooChain>()?;
    module.value::<bouquet::foreign::RedisCountMinSketch>()?;
    module.value::<bouquet::foreign::RedisTopKSketch>()?;
    module.value::<bq::Held>()?;
    module.categories();
    for command in command::all() {
        module.command(command)?;
    }
    module.settings(config::SETTINGS)
}
