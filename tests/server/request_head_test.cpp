// What the server makes of the head of a request, and of the trailers of its body.
#include "server/request_head.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace kinglet::server {
namespace {

RequestHead head(std::string_view headers, std::string_view version = "1.1") {
  return RequestHead("POST /v1/completions HTTP/" + std::string(version) + "\r\n" +
                     std::string(headers) + "\r\n");
}

TEST(RequestHead, FindsHeadersAsTheyWereSent) {
  const RequestHead found =
      head("Host: a\r\nAUTHORIZATION:\tBearer a%20b \r\nX:\r\nno header\r\nX: 2\r\n");
  EXPECT_EQ(found.header("authorization"), "Bearer a%20b");
  EXPECT_EQ(found.header("X"), "");
  EXPECT_EQ(found.count("x"), 2u);
  EXPECT_EQ(found.count("Y"), 0u);
  EXPECT_EQ(found.problem(), std::nullopt);
}

TEST(RequestHead, RefusesWhatServersMayReadInTwoWays) {
  for (const char* fine :
       {"", "Content-Length: 5\r\n", "content-length:05\r\n", "Transfer-Encoding: CHUNKED\r\n"}) {
    EXPECT_EQ(head("Host: a\r\n" + std::string(fine)).problem(), std::nullopt) << fine;
  }
  EXPECT_EQ(head("", "1.0").problem(), std::nullopt);
  EXPECT_EQ(head("").problem(), "the request has 0 Host headers, expected one");
  for (const char* version : {"1.0", "1.1"}) {
    EXPECT_EQ(head("Host: a\r\nHOST: a\r\n", version).problem(),
              "the request has 2 Host headers, expected one");
  }
  for (const char* wrong :
       {"Content-Length: 5\r\nContent-Length: 5\r\n", "Content-Length: -1\r\n",
        "Content-Length: +5\r\n", "Content-Length: 5, 5\r\n", "Content-Length:\r\n",
        "Content-Length: 0x5\r\n", "Content-Length: 99999999999999999999\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"}) {
    EXPECT_NE(head("Host: a\r\n" + std::string(wrong)).problem(), std::nullopt) << wrong;
  }
}

TEST(RequestHead, HidesFromTheLibraryWhatItWouldDoWrong) {
  EXPECT_EQ(head("Host: a\r\nRange: garbage\r\nAccept-Encoding: gzip\r\n").for_library(),
            "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(head("Content-Length: 5\r\n").for_library(),
            "POST /v1/completions HTTP/1.1\r\nContent-Length: 5\r\n\r\n");
}

TEST(RequestHead, KnowsWhatIsNone) {
  EXPECT_TRUE(may_be_head("GET / HT"));
  EXPECT_TRUE(may_be_head("GET / HTTP/1.1\r\nHo"));
  EXPECT_FALSE(may_be_head("HELO me\r\n"));
}

std::string without_trailers(std::string body, size_t piece) {
  TrailerFilter filter;
  std::string kept;
  for (size_t at = 0; at < body.size(); at += piece) {
    std::string part = body.substr(at, piece);
    part.resize(filter.filter(part.data(), part.size()));
    kept += part;
  }
  return kept;
}

TEST(TrailerFilter, RemovesTrailersAndNothingElse) {
  const std::string chunks = "5;name=1\r\n0\r\nA:\r\n1F\r\n" + std::string(31, 'x') + "\r\n0;a\r\n";
  for (const size_t piece : {size_t{1}, size_t{2}, size_t{3}, size_t{7}, size_t{1000}}) {
    EXPECT_EQ(without_trailers(chunks + "\r\n", piece), chunks + "\r\n") << piece;
    EXPECT_EQ(without_trailers(chunks + "Digest: 0\r\nB: 1\r\n\r\nmore\r\n", piece),
              chunks + "\r\nmore\r\n")
        << piece;
  }
}

}  // namespace
}  // namespace kinglet::server
