# Writes what Jinja2 (Debian: python3-jinja2), set up as transformers runs chat templates, makes
# - of each template in tests/fixtures/jinja/templates.json: answers.json beside it;
# - of each conversation in conversations.json by each template in tests/fixtures/chat: chats.json.
import copy
import datetime
import json
import pathlib

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

folder = pathlib.Path(__file__).parent.parent / "tests/fixtures/jinja"


class Generation(Extension):
    """{% generation %}: marks what the model says, and says it."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_say")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _say(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def strftime_now(form):
    return datetime.datetime(2024, 7, 26, 13, 5, 9).strftime(form)


environment = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
)
environment.filters["tojson"] = to_json
environment.globals["raise_exception"] = raise_exception
environment.globals["strftime_now"] = strftime_now


def answer(template, variables):
    """The text, or null where Jinja2 refuses."""
    try:
        # A filter may change a list that it then refuses.
        return environment.from_string(template).render(**copy.deepcopy(variables))
    except Exception:
        return None


def write(name, answers):
    text = json.dumps(answers, ensure_ascii=False, indent=1)
    (folder / name).write_text(text + "\n")


def count(answers):
    return f"{len(answers)} texts, {sum(text is None for text in answers)} of them refused"


cases = json.loads((folder / "templates.json").read_text())
answers = [answer(template, cases["variables"]) for template in cases["templates"]]
write("answers.json", answers)
print(f"answers.json: {count(answers)}")

conversations = json.loads((folder / "conversations.json").read_text())
given = {"bos_token": "<s>", "eos_token": "</s>", "tools": None, "documents": None}
chats = {
    path.stem: [answer(path.read_text(), given | variables) for variables in conversations]
    for path in sorted((folder.parent / "chat").glob("*.jinja"))
}
write("chats.json", chats)
print(f"chats.json: {count(sum(chats.values(), []))}")
