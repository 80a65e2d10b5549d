#include "rlx/vector/team.h"

#include <gtest/gtest.h>
#include <time.h>

#include <chrono>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace rlx::vector {
namespace {

TEST(TeamShares, EveryNumberIsHandedOutOnce) {
  for (const int members : {1, 2, 5, 40})
    for (const int64_t count : {0, 1, 3, 17, 255}) {
      Shares shares(count, members);
      std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
      Team team(3);
      team.region([&](int member, int /*members*/, Barrier& /*barrier*/) {
        for (int64_t i = shares.take(member); i >= 0; i = shares.take(member))
          ++visits[static_cast<size_t>(i)];
      });
      for (const auto& visit : visits) ASSERT_EQ(visit, 1) << count << " for " << members;
    }
}

TEST(TeamShares, AMemberTakesItsOwnPartAndThenWhatIsLeft) {
  Shares shares(6, 2);
  EXPECT_EQ(shares.take(1), 3);
  EXPECT_EQ(shares.take(0), 0);
  EXPECT_EQ(shares.take(1), 4);
  EXPECT_EQ(shares.take(1), 5);
  EXPECT_EQ(shares.take(1), 1);
  EXPECT_EQ(shares.take(0), 2);
  EXPECT_EQ(shares.take(0), -1);
  EXPECT_EQ(shares.take(1), -1);
}

TEST(TeamShares, TheLastOfAMemberAtWorkIsLeftToIt) {
  Shares shares(8, 2);
  EXPECT_EQ(shares.take(1), 4);
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(shares.take(0), i);
  EXPECT_EQ(shares.take(0), 5);  // the other is late: three of its four were left
  EXPECT_EQ(shares.take(0), 6);
  EXPECT_EQ(shares.take(0), -1);
  EXPECT_EQ(shares.take(1), 7);
  EXPECT_EQ(shares.take(1), -1);
}

TEST(TeamShares, AllOfAMemberThatNeverComesIsTaken) {
  Shares shares(8, 2);
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(shares.take(0), i);
  EXPECT_EQ(shares.take(0), -1);
  EXPECT_EQ(shares.take(1), -1);
}

TEST(TeamThreads, EveryIndexIsVisitedExactlyOnce) {
  for (const int threads : {1, 2, 5}) {
    Team team(threads);
    for (const int64_t count : {0, 1, 3, 17, 255, 10'000})
      for (const int64_t grain : {0, 1, 7, 300}) {
        std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
        team.run(count, grain, [&](int64_t begin, int64_t end) {
          ASSERT_LT(begin, end);
          for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
        });
        for (const auto& visit : visits) ASSERT_EQ(visit, 1);
      }
  }
}

TEST(TeamThreads, ManyShortRunsLoseNothing) {
  Team team(3);
  std::atomic<int64_t> sum{0};
  for (int run = 0; run < 20'000; ++run)
    team.run(8, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 160'000);
}

TEST(TeamThreads, WorkOfOneGrainStaysOnTheCaller) {
  Team team(4);
  team.run(64, 64, [caller = std::this_thread::get_id()](int64_t begin, int64_t end) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(end - begin, 64);
  });
}

TEST(TeamThreads, ARunWithinARunStaysOnItsThread) {
  Team team(4), other(4);
  std::atomic<int> total{0};
  team.run(8, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (Team* each : {&team, &other})
        each->run(100, 1, [&, outer = std::this_thread::get_id()](int64_t first, int64_t last) {
          EXPECT_EQ(std::this_thread::get_id(), outer);
          total += static_cast<int>(last - first);
        });
  });
  EXPECT_EQ(total, 1600);
}

TEST(TeamThreads, AnExceptionReachesTheCallerAndTheTeamWorksOn) {
  Team team(3);
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::string message;
    try {
      team.run(100, 1, [](int64_t begin, int64_t end) {
        if (begin <= 57 && 57 < end) throw std::runtime_error("57");
      });
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    EXPECT_EQ(message, "57");
    std::atomic<int64_t> sum{0};
    team.run(100, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    EXPECT_EQ(sum, 100);
  }
}

TEST(TeamThreads, RunsOfTwoThreadsTakeTurns) {
  Team team(3);
  std::atomic<int64_t> sums[2] = {};
  const auto user = [&](int which) {
    for (int run = 0; run < 2'000; ++run)
      team.run(40, 1, [&](int64_t begin, int64_t end) { sums[which] += end - begin; });
  };
  std::thread one(user, 0), two(user, 1);
  one.join();
  two.join();
  EXPECT_EQ(sums[0], 80'000);
  EXPECT_EQ(sums[1], 80'000);
}

TEST(TeamThreads, MembersOfARegionMeetAtItsBarriers) {
  Team team(4);
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<int> values(4, 0), sums(4, 0);
    team.region([&](int member, int members, Barrier& barrier) {
      for (int round = 1; round <= 5; ++round) {
        values[static_cast<size_t>(member)] = round * (member + 1);
        barrier.wait();
        sums[static_cast<size_t>(member)] =
            std::accumulate(values.begin(), values.begin() + members, 0);
        barrier.wait();
        EXPECT_EQ(sums[static_cast<size_t>(member)], 10 * round);
      }
    });
  }
}

TEST(TeamThreads, AMemberThatFailsDoesNotHoldUpTheOthers) {
  Team team(4);
  std::string message;
  try {
    team.region([](int member, int, Barrier& barrier) {
      if (member == 2) throw std::runtime_error("member 2");
      barrier.wait();
    });
  } catch (const std::runtime_error& error) {
    message = error.what();
  }
  EXPECT_EQ(message, "member 2");
}

// Which threads have worked for the team, its caller's among them.
std::set<std::thread::id> threads_of(Team& team, int members) {
  std::mutex mutex;
  std::set<std::thread::id> ids;
  team.region([&](int, int, Barrier& barrier) {
    {
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    }
    barrier.wait();
  });
  EXPECT_EQ(static_cast<int>(ids.size()), members);
  return ids;
}

TEST(TeamThreads, AllTeamsOfAProcessShareTheirThreads) {
  Team large(4), small(2), other(4);
  const std::set<std::thread::id> all = threads_of(large, 4);
  EXPECT_EQ(threads_of(other, 4), all);
  for (const std::thread::id id : threads_of(small, 2)) EXPECT_TRUE(all.count(id));
}

TEST(TeamThreads, TeamsOfOtherSizesTakeTurnsToo) {
  Team teams[] = {Team(2), Team(5)};
  std::atomic<int64_t> sums[2] = {};
  std::atomic<int> at_work{0}, most{0};
  const auto user = [&](int which) {
    for (int run = 0; run < 1'000; ++run)
      teams[which].run(40, 1, [&](int64_t begin, int64_t end) {
        if (begin == 0) most = std::max(most.load(), ++at_work);
        sums[which] += end - begin;
        if (begin == 0) --at_work;
      });
  };
  std::thread one(user, 0), two(user, 1);
  one.join();
  two.join();
  EXPECT_EQ(sums[0], 40'000);
  EXPECT_EQ(sums[1], 40'000);
  EXPECT_EQ(most, 1) << "runs at the same time";
}

TEST(TeamThreads, NothingSpinsBetweenRuns) {
  Team team(4);
  std::atomic<int64_t> sum{0};
  {
    const Team::Stretch stretch(team);
    for (int run = 0; run < 100; ++run)
      team.run(64, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  }
  const auto cpu = [] {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
  };
  const double before = cpu();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LT(cpu() - before, 1.0) << "milliseconds";
  EXPECT_EQ(sum, 6400);
}

// A step of one thread may be long: the others do not wait awake for all of it.
TEST(TeamThreads, AStretchKeepsNobodyAwakeForLong) {
  Team team(4);
  const Team::Stretch stretch(team);
  std::atomic<int64_t> sum{0};
  team.run(64, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  timespec before, after;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  EXPECT_LT(static_cast<double>(after.tv_sec - before.tv_sec) * 1e3 +
                static_cast<double>(after.tv_nsec - before.tv_nsec) * 1e-6,
            1.0);
  team.run(64, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 128);
}

}  // namespace
}  // namespace rlx::vector
