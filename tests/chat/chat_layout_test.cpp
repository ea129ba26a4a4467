// Laying out conversations with a model's templates.
#include "chat/chat_layout.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "session/sessions.h"

namespace kinglet {
namespace {

Json conversation(std::string_view said) {
  return {{"messages", Json::array({{{"role", "user"}, {"content", said}}})},
          {"add_generation_prompt", true}};
}

Json tools() { return Json::array({{{"type", "function"}, {"function", {{"name", "f"}}}}}); }

class ChatLayoutTest : public testing::Test {
 protected:
  static LanguageModel with_template(std::string_view source) {
    return load_tiny({.edit = [source](GgufBuilder& file) {
      if (!source.empty()) file.set("tokenizer.chat_template", source);
    }});
  }
  static ChatLayout layout_of(const LanguageModel& loaded, std::string_view own = {}) {
    return {loaded.model.header(), loaded.tokenizer->vocabulary(), own};
  }
};

TEST_F(ChatLayoutTest, UsesTheFilesTemplateOrTheCallers) {
  const LanguageModel loaded = with_template("file: {{ messages[0].content }}");
  const auto text = layout_of(loaded).lay_out(conversation("ab"));
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(text.value().text, "file: ab");
  const ChatLayout own =
      layout_of(loaded, "{% if tools %}{% endif %}own: {{ messages[0].content }}");
  EXPECT_EQ(own.lay_out(conversation("ab")).value().text, "own: ab");
  EXPECT_FALSE(layout_of(loaded).answer_format(true).knows_tools);
  EXPECT_TRUE(own.answer_format(true).knows_tools);
}

TEST_F(ChatLayoutTest, TellsTheSystemOfToolsIfTheTemplateCannot) {
  const LanguageModel loaded =
      with_template("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}");
  Json given = conversation("ab");
  given["messages"].as_array().insert(given["messages"].as_array().begin(),
                                      Json{{"role", "developer"}, {"content", "Be kind."}});
  const auto text = layout_of(loaded).lay_out(given, tools());
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_TRUE(text.value().text.starts_with("<system>Be kind.\n\nYou can call"))
      << text.value().text;
  EXPECT_NE(text.value().text.find("{\"name\":\"f\"}"), std::string::npos) << text.value().text;
  const ChatLayout own = layout_of(
      loaded, "{{ tools }}{% for m in messages %}{{ m.role == 'developer' }}{% endfor %}");
  EXPECT_EQ(own.lay_out(given).value().text, "NoneTrueFalse");
}

TEST_F(ChatLayoutTest, GivesPartsToTemplatesThatReadNothingElse) {
  const LanguageModel loaded = with_template(
      "{% for m in messages %}{% if m.content is not string %}"
      "{% for part in m.content %}[{{ part.type }} {{ part.text }}]{% endfor %}"
      "{% endif %}{% endfor %}");
  const auto text = layout_of(loaded).lay_out(conversation("ab"));
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(text.value().text, "[text ab]");
  ASSERT_FALSE(text.value().said.empty());
}

TEST_F(ChatLayoutTest, SaysWhatIsWrongWithATemplate) {
  const LanguageModel none = with_template("");
  EXPECT_EQ(layout_of(none).check().error().code, ErrorCode::missing_metadata);
  EXPECT_EQ(layout_of(none).lay_out(conversation("ab"), tools()).error().code,
            ErrorCode::missing_metadata);
  EXPECT_EQ(layout_of(none, "{% frob %}").check().error().code, ErrorCode::unsupported_feature);
  EXPECT_TRUE(layout_of(none, "{{ messages[0].content }}").check().ok());
}

}  // namespace
}  // namespace kinglet
