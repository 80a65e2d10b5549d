#include "rlx/import/onnx/budget.h"

#include "rlx/base/error.h"

namespace rlx::onnx {

Spending::Spending(const ImportBudget& budget, int64_t file_bytes)
    : file_bytes_(file_bytes),
      deepest_(budget.depth),
      nodes_(account("nodes", budget.nodes)),
      iterations_(account("iterations of loops that are written out", budget.iterations)),
      elements_(account("elements of tensors that it computes", budget.elements)),
      dim_parts_(account("parts of dims", budget.dim_parts)) {}

Spending::Account Spending::account(const char* what,
                                    const ImportBudget::Allowance& allowance) const {
  Account made{what, allowance};
  int64_t more = 0;
  const bool countable = !__builtin_mul_overflow(allowance.per_byte, file_bytes_, &more) &&
                         !__builtin_add_overflow(allowance.always, more, &made.allowed);
  if (!countable) made.allowed = INT64_MAX;
  made.left = made.allowed;
  return made;
}

void Spending::spend(Account& account, int64_t count) const {
  if (count > account.left)
    fail(ErrorKind::limit, "the import takes more than ", account.allowed, ' ', account.what,
         ", which is what ", file_bytes_, " bytes of a model are allowed (",
         account.allowance.always, ", and ", account.allowance.per_byte, " for each byte)");
  account.left -= count;
}

Spending::Level::Level(Spending& spending) : spending_(spending) {
  if (spending_.depth_ >= spending_.deepest_)
    fail(ErrorKind::limit, "functions and bodies are within each other more than ",
         spending_.deepest_, " deep");
  ++spending_.depth_;
}

}  // namespace rlx::onnx
