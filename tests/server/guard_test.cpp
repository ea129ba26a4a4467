// Who may ask the server, and for which bytes of its files.
#include "server/guard.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "server/page_files.h"

namespace kinglet::server {
namespace {

TEST(Guard, KnowsHostsPagesAndKeys) {
  const GuardOptions options{"127.0.0.1", "key", "https://page"};
  const Caller fine{"/v1/models", "localhost:80", "", "Bearer key"};
  const auto status = [&](Caller caller) {
    const auto refused = refuse(options, caller);
    return refused ? refused->status : 200;
  };
  EXPECT_EQ(status(fine), 200);
  EXPECT_EQ(status({"/v1/models", "[::1]:80", "", "Bearer key"}), 200);
  EXPECT_EQ(status({"/v1/models", "[::1]", "https://page", "Bearer key"}), 200);
  EXPECT_EQ(status({"/v1/models", "localhost:80", "http://localhost:80", "Bearer key"}), 200);
  EXPECT_EQ(status({"/v1/models", "localhost:80", "http://localhost:81", "Bearer key"}), 403);
  EXPECT_EQ(status({"/v1/models", "a.example", "", "Bearer key"}), 403);
  EXPECT_EQ(status({"/v1/models", "", "", "Bearer key"}), 403);
  EXPECT_EQ(status({"/v1/models", {}, "", "Bearer key"}), 200);
  EXPECT_EQ(status({"/v1/models", {}, "", ""}), 401);
  EXPECT_EQ(status({"/v1/models", {}, "http://localhost", "Bearer key"}), 403);
  EXPECT_EQ(status({"/v1/models", "localhost", "", ""}), 401);
  EXPECT_EQ(status({"/v1/models", "localhost", "", "Bearer ke"}), 401);
  EXPECT_EQ(status({"/v1/models", "localhost", "", "Bearer keyy"}), 401);
  EXPECT_EQ(status({"/v1/models", "localhost", "", "Bearer keykey"}), 401);
  for (const char* given : {"bearer key", "BEARER key", "Bearer  key", "beareR     key"}) {
    EXPECT_EQ(status({"/v1/models", "localhost", "", given}), 200) << given;
  }
  for (const char* given : {"Bearer", "Bearer ", "Bearerkey", "key", "Basic key", "Bearer key ",
                            "Bearer\tkey", " Bearer key", "Bearer Bearer key"}) {
    EXPECT_EQ(status({"/v1/models", "localhost", "", given}), 401) << given;
  }
  EXPECT_EQ(status({"/health", "localhost", "", ""}), 200);
  for (const char* locked : {"/v1", "/v1/x", "/models", "/models/x", "/chat/completions",
                             "/chat/completions/input_tokens", "/completions", "/responses",
                             "/responses/input_tokens", "/embeddings", "/rerank", "/metrics"}) {
    EXPECT_EQ(status({locked, "localhost", "", ""}), 401) << locked;
  }
  for (const char* open : {"/", "/chat", "/chat/index.html", "/v10", "/models.json"}) {
    EXPECT_EQ(status({open, "localhost", "", ""}), 200) << open;
  }
  const GuardOptions open{"0.0.0.0", "", "*"};
  EXPECT_FALSE(refuse(open, {"/v1/models", "a.example", "https://any", ""}));
}

TEST(Guard, FindsEndpointsWithAndWithoutTheVersion) {
  EXPECT_EQ(endpoint_of("/v1/completions"), "/completions");
  EXPECT_EQ(endpoint_of("/completions"), "/completions");
  EXPECT_EQ(endpoint_of("/v1/v1/models"), "/v1/models");
  EXPECT_EQ(endpoint_of("/v1"), "");
  EXPECT_EQ(endpoint_of("/v10/models"), "/v10/models");
}

// Whether a server that listens at `host` answers a page that was loaded by the name `named`.
bool answers_page(const std::string& host, const std::string& named) {
  const std::string origin = "http://" + named;
  return !refuse({host, "", ""}, {"/v1/completions", named, origin, ""});
}

TEST(Guard, AnswersNoPageWhoseNameOnlyResolvesToThisMachine) {
  for (const char* host : {"127.0.0.1", "::1", "localhost", "127.0.0.2", "mine.example", "0.0.0.0",
                           "::", "192.168.1.5", "127.1"}) {
    for (const char* fine : {"localhost:8080", "LocalHost", "127.0.0.1:8080", "127.9.8.7",
                             "[::1]:8080", "[::ffff:127.0.0.1]"}) {
      EXPECT_TRUE(answers_page(host, fine)) << host << " " << fine;
    }
    for (const char* wrong :
         {"127.evil.example:8080", "127.0.0.1.evil.example", "127.", "localhost.evil.example:8080",
          "evil.localhost", "evil.example", "::1.evil.example", "[::1].evil.example",
          "127.0.0.1:80.evil.example", "127.0.0.256", "", ":8080"}) {
      EXPECT_FALSE(answers_page(host, wrong)) << host << " " << wrong;
    }
  }
}

TEST(Guard, KnowsTheNameAndTheAddressesThatItListensAt) {
  EXPECT_TRUE(answers_page("mine.example", "Mine.example:8080"));
  EXPECT_TRUE(answers_page("mine.example", "192.168.1.5:8080"));
  EXPECT_TRUE(answers_page("192.168.1.5", "192.168.1.5:8080"));
  EXPECT_TRUE(answers_page("0.0.0.0", "192.168.1.5:8080"));
  EXPECT_TRUE(answers_page("::", "[fe80::1]:8080"));
  EXPECT_FALSE(answers_page("127.0.0.1", "192.168.1.5:8080"));
  // Programs, which send no origin, may use any name of a server in a network.
  EXPECT_FALSE(refuse({"0.0.0.0", "", ""}, {"/v1/models", "mine.example:8080", "", ""}));
  EXPECT_TRUE(refuse({"mine.example", "", ""}, {"/v1/models", "other.example", "", ""}));
}

TEST(PageFiles, GiveOneRangeAtMost) {
  using Range = std::optional<ByteRange>;
  const Range whole = ByteRange{0, 10};
  EXPECT_EQ(asked_range("bytes=2-4", 10), Range({2, 3}));
  EXPECT_EQ(asked_range("bytes=2-", 10), Range({2, 8}));
  EXPECT_EQ(asked_range("bytes=-3", 10), Range({7, 3}));
  EXPECT_EQ(asked_range("bytes=-30", 10), whole);
  EXPECT_EQ(asked_range("bytes=9-18446744073709551615", 10), Range({9, 1}));
  for (const char* ignored :
       {"", "lines=1-2", "bytes=0-,0-", "bytes=1-2, 4-5", "bytes=4-2", "bytes=-", "bytes=x-2",
        "bytes=1-2x", "bytes=1", "bytes=99999999999999999999-", "bytes=--1", "bytes=+1-2"}) {
    EXPECT_EQ(asked_range(ignored, 10), whole) << ignored;
  }
  for (const char* beyond : {"bytes=10-", "bytes=10-12", "bytes=-0"}) {
    EXPECT_EQ(asked_range(beyond, 10), std::nullopt) << beyond;
  }
  EXPECT_EQ(asked_range("", 0), Range({0, 0}));
  EXPECT_EQ(asked_range("bytes=0-", 0), std::nullopt);
}

}  // namespace
}  // namespace kinglet::server
