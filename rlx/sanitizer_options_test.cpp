// What the tests ask of the address sanitizer: memory that cannot be had is none, as without it, so
// that what the library does then can be tested. Others are set where the tests are run.
extern "C" const char* __asan_default_options();   // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "allocator_may_return_null=1";
}
