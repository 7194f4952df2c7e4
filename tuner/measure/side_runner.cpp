#include "tuner/measure/side_runner.h"

namespace lathe {
namespace {

constexpr double SETUP_LIMIT_S = 120;   // a context, and buffers to fill
constexpr double PROFILE_LIMIT_S = 120; // some ten launches, each with a reset of the buffers

} // namespace

void SideRunner::stop() {
  process_.stop();
  state_ = State::empty;
}

void SideRunner::warm_up() {
  if (!process_.running() && !process_.start().ok())
    stop();
}

Status SideRunner::prepare(const SetupRequest& setup, State wanted) {
  if (process_.running() && state_ == wanted)
    return Done{};
  if (!process_.running())
    LATHE_CHECK(process_.start());
  state_ = State::empty;
  SetupRequest request = setup;
  request.verify_reference = request.measure = false;
  request.shifted_elements = wanted == State::shifted ? 1 : 0;
  const RunnerProcess::Answer answer = process_.ask(encode(request), SETUP_LIMIT_S);
  std::optional<SetupReply> reply;
  if (answer.kind == RunnerProcess::Answer::Kind::reply)
    reply = decode_setup_reply(answer.reply);
  if (!reply || !reply->ok) {
    stop();
    return Error{
        "cannot prepare a second runner",
        reply ? reply->error : "it ended with " + (answer.ending.empty() ? "no answer" : answer.ending), ""};
  }
  state_ = wanted;
  return Done{};
}

Result<Profile> SideRunner::profile(const SetupRequest& setup, const RunnerKernel& kernel,
                                    double time_limit_s) {
  if (denied_)
    return *denied_;
  LATHE_CHECK(prepare(setup, State::aligned));
  const RunnerProcess::Answer answer =
      process_.ask(encode(ProfileRequest{kernel, time_limit_s}), PROFILE_LIMIT_S);
  std::optional<ProfileReply> reply;
  if (answer.kind == RunnerProcess::Answer::Kind::reply)
    reply = decode_profile_reply(answer.reply);
  if (!reply || reply->last_words)
    stop();
  if (!reply)
    return Error{"cannot profile",
                 "the profiled process " +
                     (answer.ending.empty() ? std::string("did not answer") : "ended with " + answer.ending),
                 ""};
  if (!reply->ok) {
    const Error error{"cannot profile", reply->error, ""};
    if (reply->denied)
      denied_ = error;
    return error;
  }
  return profile_of(reply->metrics, reply->values);
}

Status SideRunner::check_views(const SetupRequest& setup, const std::string& subject,
                               const RunnerKernel& kernel, double time_limit_s) {
  if (without_views_.contains(subject))
    return Done{};
  if (!prepare(setup, State::shifted).ok()) {
    without_views_.insert(subject);
    return Done{};
  }
  EvaluateRequest request{kernel, setup.timing, 0, true};
  request.timing.time_limit_s = time_limit_s;
  const RunnerProcess::Answer answer = process_.ask(encode(request), 6 * time_limit_s + 10);
  std::optional<EvaluateReply> reply;
  if (answer.kind == RunnerProcess::Answer::Kind::reply)
    reply = decode_evaluate_reply(answer.reply);
  if (!reply || reply->last_words)
    stop();
  const std::string where =
      "on buffers that begin one element behind an aligned address, where the raw kernel runs, ";
  if (!reply)
    return Error{"the configuration cannot be used", where + "the runner ended", ""};
  if (reply->outcome != Outcome::ok)
    return Error{"the configuration cannot be used", where + reply->reason, ""};
  return Done{};
}

} // namespace lathe
