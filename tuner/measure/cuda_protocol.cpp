#include "tuner/measure/cuda_protocol.h"

#include "tuner/compile/message.h"

namespace lathe {
namespace {

void put_kernel(MessageWriter& message, const RunnerKernel& kernel) {
  message.put_text(kernel.cubin).put_text(kernel.cubin_hash).put_text(kernel.entry).put(kernel.launch);
}

RunnerKernel get_kernel(MessageReader& message) {
  RunnerKernel kernel;
  kernel.cubin = message.get_text();
  kernel.cubin_hash = message.get_text();
  kernel.entry = message.get_text();
  kernel.launch = message.get<Launch>();
  return kernel;
}

template <class T> std::optional<T> checked(const MessageReader& message, T value) {
  return message.ok() ? std::optional<T>(std::move(value)) : std::nullopt;
}

} // namespace

std::string encode(const SetupRequest& request) {
  MessageWriter message;
  message.put(RunnerCommand::setup).put_text(request.utilities);
  message.put(static_cast<std::uint32_t>(request.buffers.size()));
  for (const RunnerBuffer& buffer : request.buffers)
    message.put_text(buffer.name)
        .put(buffer.dtype)
        .put(buffer.direction)
        .put(buffer.count)
        .put(buffer.fill)
        .put(buffer.relative)
        .put(buffer.absolute)
        .put(buffer.reordering)
        .put(buffer.is_unordered);
  message.put(static_cast<std::uint32_t>(request.parameters.size()));
  for (const RunnerParameter& parameter : request.parameters)
    message.put(parameter);
  put_kernel(message, request.reference);
  message.put(request.bytes)
      .put(request.operations)
      .put(request.seed)
      .put(request.verify_reference)
      .put(request.measure)
      .put(request.launches)
      .put(request.shifted_elements)
      .put(request.return_outputs)
      .put(request.timing);
  return message.bytes();
}

std::optional<SetupRequest> decode_setup(std::string_view bytes) {
  MessageReader message(bytes);
  message.get<RunnerCommand>();
  SetupRequest request;
  request.utilities = message.get_text();
  for (auto left = message.get<std::uint32_t>(); left > 0 && message.ok(); --left) {
    RunnerBuffer buffer;
    buffer.name = message.get_text();
    buffer.dtype = message.get<int>();
    buffer.direction = message.get<Direction>();
    buffer.count = message.get<std::uint64_t>();
    buffer.fill = message.get<element::FillPlan>();
    buffer.relative = message.get<double>();
    buffer.absolute = message.get<double>();
    buffer.reordering = message.get<double>();
    buffer.is_unordered = message.get<bool>();
    request.buffers.push_back(std::move(buffer));
  }
  for (auto left = message.get<std::uint32_t>(); left > 0 && message.ok(); --left)
    request.parameters.push_back(message.get<RunnerParameter>());
  request.reference = get_kernel(message);
  request.bytes = message.get<double>();
  request.operations = message.get<double>();
  request.seed = message.get<std::uint64_t>();
  request.verify_reference = message.get<bool>();
  request.measure = message.get<bool>();
  request.launches = message.get<int>();
  request.shifted_elements = message.get<std::uint64_t>();
  request.return_outputs = message.get<bool>();
  request.timing = message.get<RunnerTiming>();
  return checked(message, std::move(request));
}

std::string encode(const EvaluateRequest& request) {
  MessageWriter message;
  message.put(RunnerCommand::evaluate);
  put_kernel(message, request.kernel);
  message.put(request.timing).put(request.floor_us).put(request.verify_only);
  return message.bytes();
}

std::optional<EvaluateRequest> decode_evaluate(std::string_view bytes) {
  MessageReader message(bytes);
  message.get<RunnerCommand>();
  EvaluateRequest request;
  request.kernel = get_kernel(message);
  request.timing = message.get<RunnerTiming>();
  request.floor_us = message.get<double>();
  request.verify_only = message.get<bool>();
  return checked(message, std::move(request));
}

std::string encode(const CompareRequest& request) {
  MessageWriter message;
  message.put(RunnerCommand::compare);
  put_kernel(message, request.kernel);
  message.put(request.timing);
  message.put(request.ratio_to_beat);
  return message.bytes();
}

std::optional<CompareRequest> decode_compare(std::string_view bytes) {
  MessageReader message(bytes);
  message.get<RunnerCommand>();
  CompareRequest request;
  request.kernel = get_kernel(message);
  request.timing = message.get<RunnerTiming>();
  request.ratio_to_beat = message.get<double>();
  return checked(message, std::move(request));
}

std::string encode(const ProfileRequest& request) {
  MessageWriter message;
  message.put(RunnerCommand::profile);
  put_kernel(message, request.kernel);
  message.put(request.time_limit_s);
  return message.bytes();
}

std::optional<ProfileRequest> decode_profile(std::string_view bytes) {
  MessageReader message(bytes);
  message.get<RunnerCommand>();
  ProfileRequest request;
  request.kernel = get_kernel(message);
  request.time_limit_s = message.get<double>();
  return checked(message, std::move(request));
}

std::string encode(const SetupReply& reply) {
  MessageWriter message;
  message.put(reply.ok).put(reply.reference_differs).put_text(reply.error).put(reply.raw).put(reply.launches);
  message.put(reply.copy_floor_us).put(reply.copy_bytes_per_second).put(reply.floor_us);
  message.put(static_cast<std::uint32_t>(reply.outputs.size()));
  for (const std::string& output : reply.outputs)
    message.put_text(output);
  return message.bytes();
}

std::optional<SetupReply> decode_setup_reply(std::string_view bytes) {
  MessageReader message(bytes);
  SetupReply reply;
  reply.ok = message.get<bool>();
  reply.reference_differs = message.get<bool>();
  reply.error = message.get_text();
  reply.raw = message.get<Timing>();
  reply.launches = message.get<int>();
  reply.copy_floor_us = message.get<double>();
  reply.copy_bytes_per_second = message.get<double>();
  reply.floor_us = message.get<double>();
  for (auto left = message.get<std::uint32_t>(); left > 0 && message.ok(); --left)
    reply.outputs.push_back(message.get_text());
  return checked(message, std::move(reply));
}

std::string encode(const EvaluateReply& reply) {
  MessageWriter message;
  message.put(reply.outcome).put_text(reply.reason).put(reply.timing).put(reply.error);
  message.put(reply.run_seconds).put(reply.last_words);
  return message.bytes();
}

std::optional<EvaluateReply> decode_evaluate_reply(std::string_view bytes) {
  MessageReader message(bytes);
  EvaluateReply reply;
  reply.outcome = message.get<Outcome>();
  reply.reason = message.get_text();
  reply.timing = message.get<Timing>();
  reply.error = message.get<double>();
  reply.run_seconds = message.get<double>();
  reply.last_words = message.get<bool>();
  return checked(message, std::move(reply));
}

std::string encode(const CompareReply& reply) {
  MessageWriter message;
  message.put(reply.ok).put_text(reply.error).put(reply.comparison).put(reply.last_words);
  return message.bytes();
}

std::optional<CompareReply> decode_compare_reply(std::string_view bytes) {
  MessageReader message(bytes);
  CompareReply reply;
  reply.ok = message.get<bool>();
  reply.error = message.get_text();
  reply.comparison = message.get<Comparison>();
  reply.last_words = message.get<bool>();
  return checked(message, std::move(reply));
}

std::string encode(const ProfileReply& reply) {
  MessageWriter message;
  message.put(reply.ok).put(reply.denied).put_text(reply.error);
  message.put(static_cast<std::uint32_t>(reply.metrics.size()));
  for (std::size_t i = 0; i < reply.metrics.size(); ++i)
    message.put_text(reply.metrics[i]).put(i < reply.values.size() ? reply.values[i] : 0.0);
  message.put(reply.run_seconds).put(reply.last_words);
  return message.bytes();
}

std::optional<ProfileReply> decode_profile_reply(std::string_view bytes) {
  MessageReader message(bytes);
  ProfileReply reply;
  reply.ok = message.get<bool>();
  reply.denied = message.get<bool>();
  reply.error = message.get_text();
  for (auto left = message.get<std::uint32_t>(); left > 0 && message.ok(); --left) {
    reply.metrics.push_back(message.get_text());
    reply.values.push_back(message.get<double>());
  }
  reply.run_seconds = message.get<double>();
  reply.last_words = message.get<bool>();
  return checked(message, std::move(reply));
}

} // namespace lathe
