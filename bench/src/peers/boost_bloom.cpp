// Boost.Bloom for the race. The loops are here, so that everything is inlined into them, as it is for the others.

#include <boost/bloom/fast_multiblock32.hpp>
#include <boost/bloom/filter.hpp>
#include <cstddef>
#include <cstdint>
#include <new>

namespace {

template <typename Filter>
struct Race {
    static void* create(std::uint64_t n, double fpr) noexcept {
        try {
            return new Filter(n, fpr);
        } catch (...) {
            return nullptr;
        }
    }

    static void insert(void* filter, const std::uint64_t* keys, std::size_t n) {
        auto& f = *static_cast<Filter*>(filter);
        for (std::size_t i = 0; i < n; ++i) f.insert(keys[i]);
    }

    static std::size_t count(const void* filter, const std::uint64_t* keys, std::size_t n) {
        const auto& f = *static_cast<const Filter*>(filter);
        std::size_t found = 0;
        for (std::size_t i = 0; i < n; ++i) found += f.may_contain(keys[i]);
        return found;
    }

    static void insert_batch(void* filter, const std::uint64_t* keys, std::size_t n) {
        static_cast<Filter*>(filter)->insert(keys, keys + n);
    }

    static void contains_batch(const void* filter, const std::uint64_t* keys, std::size_t n, bool* answers) {
        const auto& f = *static_cast<const Filter*>(filter);
        f.may_contain(keys, keys + n, [&](const std::uint64_t&, bool answer) { *answers++ = answer; });
    }

    static std::uint64_t bits(const void* filter) { return static_cast<const Filter*>(filter)->capacity(); }

    static void destroy(void* filter) { delete static_cast<Filter*>(filter); }
};

using Fast = Race<boost::bloom::filter<std::uint64_t, 1, boost::bloom::fast_multiblock32<8>>>;
using Classic7 = Race<boost::bloom::filter<std::uint64_t, 7>>;
using Classic10 = Race<boost::bloom::filter<std::uint64_t, 10>>;

}  // namespace

#define RACE(name, type)                                                                                              \
    extern "C" void* name##_create(std::uint64_t n, double fpr) { return type::create(n, fpr); }                     \
    extern "C" void name##_insert(void* f, const std::uint64_t* k, std::size_t n) { type::insert(f, k, n); }         \
    extern "C" std::size_t name##_count(const void* f, const std::uint64_t* k, std::size_t n) {                       \
        return type::count(f, k, n);                                                                                  \
    }                                                                                                                 \
    extern "C" void name##_insert_batch(void* f, const std::uint64_t* k, std::size_t n) {                             \
        type::insert_batch(f, k, n);                                                                                  \
    }                                                                                                                 \
    extern "C" void name##_contains_batch(const void* f, const std::uint64_t* k, std::size_t n, bool* a) {            \
        type::contains_batch(f, k, n, a);                                                                             \
    }                                                                                                                 \
    extern "C" std::uint64_t name##_bits(const void* f) { return type::bits(f); }                                     \
    extern "C" void name##_destroy(void* f) { type::destroy(f); }

RACE(boost_fast, Fast)
RACE(boost_classic7, Classic7)
RACE(boost_classic10, Classic10)
