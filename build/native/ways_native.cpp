// The engine's own face: a few plain C functions over llama.cpp, compiled into one library with it.
//
// Everything that depends on llama.cpp's structures stays on this side, where the compiler checks it
// against the headers of the very source that is linked; Python sees integers, floats and pointers.
// No function lets a C++ exception or a ggml assertion end the calling process: both become a code.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <stdexcept>
#include <vector>

#include "ggml.h"
#include "llama.h"

#if defined(_WIN32)
#define WAYS_API extern "C" __declspec(dllexport)
#else
#define WAYS_API extern "C" __attribute__((visibility("default")))
#endif

#ifndef WAYS_ENGINE_VERSION
#define WAYS_ENGINE_VERSION "unknown"
#endif

namespace {

constexpr int32_t kAbi = 1;
constexpr int32_t kBatchTokens = 512;  // a larger micro-batch costs memory and gains nothing on one thread
constexpr int32_t kSequences = 16;

enum Code : int32_t {
    kDone = 0,
    kBadArgument = 1,
    kCannotLoad = 2,
    kCannotStart = 3,
    kFailed = 4,
    kNoMemory = 5,
    kProcessor = 6,
};

struct Engine {
    llama_model *model = nullptr;
    llama_context *context = nullptr;
    llama_batch batch{};
    bool has_batch = false;
    int32_t dimensions = 0;
    int32_t vocabulary = 0;

    ~Engine() {
        if (has_batch) llama_batch_free(batch);
        if (context) llama_free(context);
        if (model) llama_model_free(model);
    }
};

void silent(ggml_log_level, const char *, void *) {}

// ggml calls this before it would abort the process. Throwing leaves through frames that were compiled
// with unwind tables (-fexceptions), back into the function that was called from outside.
void assertion_failed(const char *message) { throw std::runtime_error(message); }

float dot(const float *a, const float *b, int32_t n) {
    float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    int32_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int32_t k = 0; k < 8; ++k) sum[k] += a[i + k] * b[i + k];
    float total = ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
    for (; i < n; ++i) total += a[i] * b[i];
    return total;
}

// Scales `vector` to length 1; false for a vector that has no direction or is not finite.
bool normalise(float *vector, int32_t n) {
    double square = 0;
    for (int32_t i = 0; i < n; ++i) square += static_cast<double>(vector[i]) * vector[i];
    if (!(square > 1e-24) || !std::isfinite(square)) return false;
    const float scale = static_cast<float>(1.0 / std::sqrt(square));
    for (int32_t i = 0; i < n; ++i) vector[i] *= scale;
    return true;
}

void add_sequence(llama_batch &batch, const int32_t *ids, int32_t length, int32_t sequence) {
    for (int32_t position = 0; position < length; ++position) {
        const int32_t at = batch.n_tokens++;
        batch.token[at] = ids[position];
        batch.pos[at] = position;
        batch.n_seq_id[at] = 1;
        batch.seq_id[at][0] = sequence;
        batch.logits[at] = 1;
    }
}

bool valid(const Engine &engine, const int32_t *ids, const int32_t *lengths, int32_t count) {
    const int32_t *token = ids;
    for (int32_t text = 0; text < count; ++text) {
        if (lengths[text] < 1 || lengths[text] > kBatchTokens) return false;
        for (int32_t i = 0; i < lengths[text]; ++i, ++token)
            if (*token < 0 || *token >= engine.vocabulary) return false;
    }
    return true;
}

// Writes the pooled vector of one sequence, centred on `mean` when there is one; NaN where there is none.
void take(Engine &engine, int32_t sequence, const float *mean, float *out) {
    const float *pooled = llama_get_embeddings_seq(engine.context, sequence);
    bool usable = pooled != nullptr;
    if (usable) {
        for (int32_t i = 0; i < engine.dimensions; ++i) out[i] = pooled[i];
        usable = normalise(out, engine.dimensions);
        if (usable && mean) {
            for (int32_t i = 0; i < engine.dimensions; ++i) out[i] -= mean[i];
            usable = normalise(out, engine.dimensions);
        }
    }
    if (!usable)
        for (int32_t i = 0; i < engine.dimensions; ++i) out[i] = std::numeric_limits<float>::quiet_NaN();
}

int32_t embed_all(Engine &engine, const int32_t *ids, const int32_t *lengths, int32_t count, const float *mean,
                  float *out) {
    int32_t text = 0;
    while (text < count) {
        const int32_t first = text;
        engine.batch.n_tokens = 0;
        while (text < count && text - first < kSequences &&
               engine.batch.n_tokens + lengths[text] <= kBatchTokens) {
            add_sequence(engine.batch, ids, lengths[text], text - first);
            ids += lengths[text++];
        }
        if (llama_encode(engine.context, engine.batch) != 0) return kFailed;
        for (int32_t sequence = 0; sequence < text - first; ++sequence)
            take(engine, sequence, mean, out + static_cast<size_t>(first + sequence) * engine.dimensions);
    }
    return kDone;
}

int32_t open_engine(Engine &engine, const char *path, int32_t threads) {
    llama_model_params model = llama_model_default_params();
    model.n_gpu_layers = 0;
    model.use_extra_bufts = false;  // repacking weights at load costs more than it gains on a hook's few texts
    engine.model = llama_model_load_from_file(path, model);
    if (!engine.model) return kCannotLoad;
    engine.dimensions = llama_model_n_embd(engine.model);
    engine.vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(engine.model));
    if (engine.dimensions < 1 || engine.vocabulary < 1 || llama_model_n_ctx_train(engine.model) < 8)
        return kCannotLoad;

    llama_context_params context = llama_context_default_params();
    context.n_ctx = context.n_batch = context.n_ubatch = kBatchTokens;
    context.n_seq_max = kSequences;
    context.n_threads = context.n_threads_batch = threads;
    context.embeddings = true;
    context.kv_unified = true;
    context.no_perf = true;
    context.pooling_type = LLAMA_POOLING_TYPE_MEAN;
    context.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
    engine.context = llama_init_from_model(engine.model, context);
    if (!engine.context) return kCannotStart;
    engine.batch = llama_batch_init(kBatchTokens, 0, 1);
    engine.has_batch = true;
    return kDone;
}

}  // namespace

// The version of this interface; the caller refuses any other.
WAYS_API int32_t ways_abi(void) { return kAbi; }

// Which source the library was built from.
WAYS_API const char *ways_engine_version(void) { return WAYS_ENGINE_VERSION; }

// 1 when this processor has the instructions that the library was compiled for.
WAYS_API int32_t ways_processor_ok(void) {
#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") ? 1 : 0;
#else
    return 1;
#endif
}

// Opens the model at `path` (UTF-8). Returns null and sets *code on failure.
WAYS_API void *ways_open(const char *path, int32_t threads, int32_t *code) {
    if (!path || !code || threads < 1 || threads > 64) {
        if (code) *code = kBadArgument;
        return nullptr;
    }
    if (!ways_processor_ok()) {
        *code = kProcessor;
        return nullptr;
    }
    Engine *engine = nullptr;
    try {
        llama_log_set(silent, nullptr);
        ggml_set_abort_callback(assertion_failed);
        llama_backend_init();
        engine = new Engine();
        *code = open_engine(*engine, path, threads);
        if (*code == kDone) return engine;
        delete engine;
    } catch (const std::bad_alloc &) {
        *code = kNoMemory;
    } catch (...) {
        *code = kCannotLoad;  // what was half built is left alone: its state is not known
    }
    return nullptr;
}

WAYS_API void ways_close(void *handle) { delete static_cast<Engine *>(handle); }

WAYS_API int32_t ways_dimensions(void *handle) { return handle ? static_cast<Engine *>(handle)->dimensions : 0; }

WAYS_API int32_t ways_vocabulary(void *handle) { return handle ? static_cast<Engine *>(handle)->vocabulary : 0; }

// Embeds `count` token sequences that stand one after another in `ids`, each of lengths[i] tokens (1 to 512).
// `mean` (may be null) is subtracted from each normalised vector. `out` receives count rows of length 1, or of
// NaN where the model gives no direction.
WAYS_API int32_t ways_embed(void *handle, const int32_t *ids, const int32_t *lengths, int32_t count,
                            const float *mean, float *out) {
    if (!handle || !ids || !lengths || !out || count < 1) return kBadArgument;
    Engine &engine = *static_cast<Engine *>(handle);
    if (!valid(engine, ids, lengths, count)) return kBadArgument;
    try {
        return embed_all(engine, ids, lengths, count, mean, out);
    } catch (const std::bad_alloc &) {
        return kNoMemory;
    } catch (...) {
        return kFailed;
    }
}

// Dot products of every query with every row: out[q * rows + r].
WAYS_API int32_t ways_scores(const float *queries, int32_t query_count, const float *rows, int32_t row_count,
                             int32_t dimensions, float *out) {
    if (!queries || !rows || !out || query_count < 0 || row_count < 0 || dimensions < 1) return kBadArgument;
    for (int32_t q = 0; q < query_count; ++q)
        for (int32_t r = 0; r < row_count; ++r)
            *out++ = dot(queries + static_cast<size_t>(q) * dimensions, rows + static_cast<size_t>(r) * dimensions,
                         dimensions);
    return kDone;
}

// The highest dot product of each query over each owner's rows: out[q * owners + o], NaN for an owner without
// rows. spans[stride * o] is an owner's first row, spans[stride * o + 1] the number of its rows.
WAYS_API int32_t ways_best(const float *queries, int32_t query_count, const float *rows, int32_t row_count,
                           int32_t dimensions, const uint32_t *spans, int32_t stride, int32_t owners, float *out) {
    if (!queries || !rows || !spans || !out || query_count < 0 || row_count < 0 || dimensions < 1 || stride < 2 ||
        owners < 0)
        return kBadArgument;
    for (int32_t o = 0; o < owners; ++o) {
        const uint64_t first = spans[static_cast<size_t>(stride) * o];
        if (first + spans[static_cast<size_t>(stride) * o + 1] > static_cast<uint64_t>(row_count)) return kBadArgument;
    }
    for (int32_t q = 0; q < query_count; ++q) {
        const float *query = queries + static_cast<size_t>(q) * dimensions;
        for (int32_t o = 0; o < owners; ++o) {
            const uint32_t first = spans[static_cast<size_t>(stride) * o];
            const uint32_t count = spans[static_cast<size_t>(stride) * o + 1];
            float best = std::numeric_limits<float>::quiet_NaN();
            for (uint32_t r = first; r < first + count; ++r) {
                const float score = dot(query, rows + static_cast<size_t>(r) * dimensions, dimensions);
                if (!(best >= score)) best = score;
            }
            *out++ = best;
        }
    }
    return kDone;
}
