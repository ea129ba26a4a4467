#include "text/jinja/template.h"

#include <utility>

#include "text/jinja/interpreter.h"
#include "text/jinja/parser.h"

namespace kinglet::jinja {

Result<Template> Template::parse(std::string_view source) {
  KINGLET_ASSIGN(NodePtr block, jinja::parse(source));
  return Template(std::move(block));
}

Result<Text> Template::render(const Dict& variables, const Now& now) const {
  return run(*block_, variables, now);
}

}  // namespace kinglet::jinja
