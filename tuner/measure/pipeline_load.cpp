#include "tuner/measure/measure.h"

namespace lathe {

PipelineLoad& PipelineLoad::operator+=(const PipelineLoad& other) {
  for (double PipelineLoad::* part :
       {&PipelineLoad::compile_busy_s, &PipelineLoad::compile_available_s, &PipelineLoad::device_busy_s,
        &PipelineLoad::evaluate_s, &PipelineLoad::runner_s, &PipelineLoad::prepare_s,
        &PipelineLoad::compare_s, &PipelineLoad::profile_s, &PipelineLoad::choose_s,
        &PipelineLoad::choose_alone_s, &PipelineLoad::record_s})
    this->*part += other.*part;
  return *this;
}

} // namespace lathe
