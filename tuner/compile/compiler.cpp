#include "tuner/compile/cache.h"
#include "tuner/compile/compile.h"
#include "tuner/compile/pool.h"
#include "tuner/compile/toolkit.h"

#include "tuner/base/hash.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

namespace lathe {
namespace {

std::string first_error(const std::string& log) {
  for (std::size_t at = 0; at < log.size();) {
    std::size_t end = log.find('\n', at);
    if (end == std::string::npos)
      end = log.size();
    const std::string line = log.substr(at, end - at);
    if (line.find("error") != std::string::npos || line.find("fatal") != std::string::npos)
      return line;
    at = end + 1;
  }
  return log.substr(0, log.find('\n'));
}

// Joins the pool of helpers, the cache and the splitting of batches. One thread runs the pool, so that
// compilers never wait for the caller.
class PooledCompiler final : public Compiler {
public:
  PooledCompiler(CompilerOptions options, CudaToolkit toolkit, std::unique_ptr<CompilePool> pool)
      : options_(std::move(options)), toolkit_(std::move(toolkit)), pool_(std::move(pool)),
        cache_(options_.use_cache
                   ? (options_.cache_folder.empty() ? CubinCache::default_folder() : options_.cache_folder)
                   : std::filesystem::path(),
               options_.cache_limit),
        thread_([this] { run(); }) {}

  ~PooledCompiler() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    pool_->wake();
    thread_.join();
  }

  std::uint64_t submit(CompileRequest request) override {
    std::unique_lock lock(mutex_);
    const std::uint64_t ticket = ++last_ticket_;
    outstanding_ += request.instances.size();
    auto shared = std::make_shared<Request>();
    shared->ticket = ticket;
    shared->request = std::move(request);
    const Result<ProgramOptions> options = program_options(shared->request, toolkit_);
    if (!options.ok()) {
      for (std::size_t i = 0; i < shared->request.instances.size(); ++i)
        finish(*shared, i, failure(CompileOutcome::Kind::error, options.error().sentence(), ""));
      return ticket;
    }
    shared->options = options->options;
    std::string basis = "1\n" + pool_->nvrtc_version() + "\n" + shared->request.source + "\n";
    if (const std::optional<std::string> headers = included_text(shared->request.source, options->search);
        headers && !shared->request.want_ptx) {
      shared->cacheable = true;
      basis += *headers;
    }
    for (const std::string& option : options->options)
      if (!option.starts_with("-I")) // what lies there is in the key, where it lies is not
        basis += "\n" + option;
    shared->basis = content_hash(basis);

    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < shared->request.instances.size(); ++i) {
      if (std::optional<CompiledKernel> kernel =
              shared->cacheable ? cache_.find(key(*shared, i)) : std::nullopt) {
        CompileOutcome outcome;
        outcome.kernel = std::move(*kernel);
        finish(*shared, i, std::move(outcome));
      } else {
        missing.push_back(i);
      }
    }
    waiting_ += missing.size();
    if (!missing.empty())
      queue_.push_back({shared, std::move(missing)});
    lock.unlock();
    pool_->wake();
    return ticket;
  }

  std::optional<Finished> next() override {
    std::unique_lock lock(mutex_);
    if (outstanding_ == 0)
      return std::nullopt;
    changed_.wait(lock, [this] { return !finished_.empty(); });
    Finished finished = std::move(finished_.front());
    finished_.pop_front();
    --outstanding_;
    return finished;
  }

  void cancel() override {
    {
      const std::lock_guard lock(mutex_);
      queue_.clear();
      waiting_ = 0;
      finished_.clear();
      outstanding_ = 0;
      ++generation_;
      cancelling_ = true;
    }
    pool_->wake();
  }

  std::string nvrtc_version() const override { return pool_->nvrtc_version(); }
  Load load() const override {
    const std::lock_guard lock(mutex_);
    return load_;
  }

private:
  struct Request {
    std::uint64_t ticket = 0;
    CompileRequest request;
    std::vector<std::string> options;
    std::string basis; // hash of everything but the instance
    bool cacheable = false;
  };
  struct Batch {
    std::shared_ptr<const Request> request;
    std::vector<std::size_t> instances;
    std::uint64_t generation = 0;
    bool retried = false; // after a worker died under it
  };

  static std::string key(const Request& request, std::size_t instance) {
    return content_hash(request.basis + request.request.instances[instance]);
  }

  static CompileOutcome failure(CompileOutcome::Kind kind, std::string message, std::string log) {
    CompileOutcome outcome;
    outcome.kind = kind;
    outcome.message = std::move(message);
    outcome.log = std::move(log);
    return outcome;
  }

  void finish(const Request& request, std::size_t instance, CompileOutcome outcome) {
    finished_.push_back({request.ticket, instance, std::move(outcome)});
    changed_.notify_all();
  }

  void run() {
    std::map<std::uint64_t, Batch> running; // by job number
    std::uint64_t last_job = 0;
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        if (stopping_)
          return;
        if (cancelling_) {
          cancelling_ = false;
          pool_->abandon();
          running.clear();
        }
        while (!queue_.empty() && pool_->has_room()) {
          Batch batch = take();
          CompileJob job{batch.request->request.source,
                         batch.request->request.file_name,
                         batch.request->options,
                         {},
                         false};
          job.want_ptx = batch.request->request.want_ptx;
          for (const std::size_t i : batch.instances)
            job.instances.push_back(batch.request->request.instances[i]);
          running.emplace(++last_job, std::move(batch));
          pool_->start(last_job, job, options_.time_limit_s);
        }
        load_ = pool_->load();
      }
      for (CompilePool::Event& event : pool_->wait()) {
        const auto found = running.find(event.job);
        if (found == running.end())
          continue;
        const Batch batch = std::move(found->second);
        running.erase(found);
        const std::lock_guard lock(mutex_);
        if (batch.generation == generation_)
          settle(batch, event);
      }
    }
  }

  // The front of the queue, or a part of it: large batches share a front-end pass, small ones at the end let
  // all workers finish together.
  Batch take() {
    Batch& front = queue_.front();
    const std::size_t shares = static_cast<std::size_t>(std::max(1, options_.rounds)) * pool_->size();
    const std::size_t even = (waiting_ + shares - 1) / shares;
    const std::size_t size =
        std::min(front.instances.size(), std::clamp<std::size_t>(even, 1, largest_batch()));
    const auto end = front.instances.begin() + static_cast<std::ptrdiff_t>(size);
    Batch batch{front.request, {front.instances.begin(), end}, generation_, front.retried};
    front.instances.erase(front.instances.begin(), end);
    if (front.instances.empty())
      queue_.pop_front();
    waiting_ -= size;
    return batch;
  }

  std::size_t largest_batch() const { return static_cast<std::size_t>(std::max(1, options_.batch)); }

  void settle(const Batch& batch, CompilePool::Event& event) {
    const Request& request = *batch.request;
    if (event.kind == CompileOutcome::Kind::compiled) {
      CompiledKernel kernel;
      kernel.cubin_hash = content_hash(event.reply.cubin);
      kernel.cubin = std::make_shared<const std::string>(std::move(event.reply.cubin));
      kernel.ptx = std::move(event.reply.ptx);
      kernel.seconds = event.reply.seconds / static_cast<double>(batch.instances.size());
      for (std::size_t i = 0; i < batch.instances.size(); ++i) {
        CompileOutcome outcome;
        outcome.kernel = kernel;
        outcome.kernel.entry = event.reply.entries[i];
        outcome.kernel.resources = event.reply.resources[i];
        if (request.cacheable)
          cache_.insert(key(request, batch.instances[i]), outcome.kernel);
        finish(request, batch.instances[i], std::move(outcome));
      }
      return;
    }
    if (batch.instances.size() > 1) {
      const auto middle = batch.instances.begin() + static_cast<std::ptrdiff_t>(batch.instances.size() / 2);
      waiting_ += batch.instances.size();
      queue_.push_front({batch.request, {middle, batch.instances.end()}});
      queue_.push_front({batch.request, {batch.instances.begin(), middle}});
      return;
    }
    // A worker that was killed from outside is no fault of the source; one that dies again is.
    if (event.kind == CompileOutcome::Kind::crashed && !batch.retried) {
      waiting_ += 1;
      queue_.push_front({batch.request, batch.instances, 0, true});
      return;
    }
    const std::string what = "cannot compile " + request.request.instances[batch.instances[0]] + ": ";
    std::string why = event.ending;
    if (event.kind == CompileOutcome::Kind::error)
      why = first_error(event.reply.log);
    finish(request, batch.instances[0], failure(event.kind, what + why, std::move(event.reply.log)));
  }

  CompilerOptions options_;
  CudaToolkit toolkit_;
  std::unique_ptr<CompilePool> pool_;

  mutable std::mutex mutex_; // guards everything below, and the cache
  std::condition_variable changed_;
  CubinCache cache_;
  std::deque<Batch> queue_;
  std::size_t waiting_ = 0; // instances in the queue
  std::deque<Finished> finished_;
  std::size_t outstanding_ = 0;
  std::uint64_t last_ticket_ = 0, generation_ = 0;
  bool stopping_ = false, cancelling_ = false;
  Load load_;
  std::thread thread_; // last: it uses the rest
};

} // namespace

Result<std::unique_ptr<Compiler>> Compiler::create(CompilerOptions options) {
  LATHE_TRY(CudaToolkit toolkit, find_cuda_toolkit());
  LATHE_TRY(std::unique_ptr<CompilePool> pool, CompilePool::create(toolkit.nvrtc, options.jobs));
  return std::unique_ptr<Compiler>(
      std::make_unique<PooledCompiler>(std::move(options), std::move(toolkit), std::move(pool)));
}

std::vector<CompileOutcome> Compiler::compile(CompileRequest request) {
  std::vector<CompileOutcome> outcomes(request.instances.size());
  const std::uint64_t ticket = submit(std::move(request));
  while (std::optional<Finished> finished = next())
    if (finished->ticket == ticket)
      outcomes[finished->instance] = std::move(finished->outcome);
  return outcomes;
}

std::vector<Result<CompiledKernel>> compile_kernels(const std::string& source,
                                                    const std::vector<std::string>& instances,
                                                    const std::vector<std::string>& options,
                                                    const std::string& architecture,
                                                    const std::string& file_name) {
  static std::mutex mutex;
  static std::unique_ptr<Compiler> compiler;
  // What does not compile is asked for again as often as what does, and is in no cache.
  static std::map<std::string, std::string> known_failures; // sentences, by what was to be compiled
  constexpr std::size_t MOST_FAILURES = 4096;
  if (instances.empty())
    return {};
  const std::lock_guard lock(mutex);
  if (!compiler) {
    CompilerOptions settings;
    settings.rounds = 1;
    auto created = Compiler::create(settings);
    if (!created.ok())
      return {instances.size(), created.error()};
    compiler = std::move(*created);
  }
  std::string basis = architecture + "\n" + file_name + "\n" + source;
  for (const std::string& option : options)
    basis += "\n" + option;
  basis = content_hash(basis);
  std::vector<Result<CompiledKernel>> kernels;
  std::vector<std::string> asked;
  std::vector<std::size_t> places;
  for (const std::string& instance : instances) {
    const auto known = known_failures.find(basis + instance);
    if (known == known_failures.end()) {
      asked.push_back(instance);
      places.push_back(kernels.size());
    }
    kernels.emplace_back(Error{known == known_failures.end() ? "" : known->second, "", ""});
  }
  if (asked.empty())
    return kernels;
  std::vector<CompileOutcome> outcomes = compiler->compile({source, file_name, options, architecture, asked});
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    CompileOutcome& outcome = outcomes[i];
    if (outcome.kind == CompileOutcome::Kind::error && known_failures.size() < MOST_FAILURES)
      known_failures.emplace(basis + asked[i], outcome.message);
    if (outcome.ok())
      kernels[places[i]] = std::move(outcome.kernel);
    else
      kernels[places[i]] = Error{outcome.message, "", ""};
  }
  return kernels;
}

Result<CompiledKernel> compile_kernel(const std::string& source, const std::string& instance,
                                      const std::vector<std::string>& options,
                                      const std::string& architecture, const std::string& file_name) {
  return std::move(compile_kernels(source, {instance}, options, architecture, file_name).front());
}

} // namespace lathe
