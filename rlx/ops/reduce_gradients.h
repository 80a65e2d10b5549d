// The gradients of the reductions, one for each way of folding.
#pragma once

#include "rlx/ir/op_def.h"

namespace rlx {

Gradients gradient_of_sum(const GradientSite& site);
Gradients gradient_of_mean(const GradientSite& site);
Gradients gradient_of_extreme(const GradientSite& site);
Gradients gradient_of_product(const GradientSite& site);
Gradients gradient_of_l1(const GradientSite& site);
Gradients gradient_of_l2(const GradientSite& site);
Gradients gradient_of_sum_square(const GradientSite& site);
Gradients gradient_of_mean_square(const GradientSite& site);
Gradients gradient_of_log_sum(const GradientSite& site);
Gradients gradient_of_logsumexp(const GradientSite& site);

}  // namespace rlx
