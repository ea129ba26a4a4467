import { readFileSync } from 'node:fs';
import { root } from './support.ts';

/** Short templates with the marks of some families. */
const short: Record<string, string> = {
  llama: `{% if tools %}Answer {"name": function name, "parameters": dictionary of argument name
and its value}. {% for tool in tools %}{{ tool | tojson }}{% endfor %}{% endif %}
{% for m in messages %}{% if m.tool_calls %}{% set call = m.tool_calls[0].function %}
{{ '{"name": "' + call.name + '", "parameters": ' + (call.arguments | tojson) + '}' }}
{% else %}{{ m.role + ': ' + m.content }}{% endif %}{% endfor %}`,
  marks: `{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}
{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}
{{ m.role + ': ' + m.content }}{% for call in m.tool_calls or [] %}
<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}{% endfor %}`,
  mistral: `{% if tools %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif %}
{% for m in messages %}{% if m.tool_calls %}[TOOL_CALLS][{% for call in m.tool_calls %}
{% if (call.id | length) != 9 %}{{ raise_exception('ids have 9 characters') }}{% endif %}
{{ call.function | tojson }}{% endfor %}]{% elif m.role == 'tool' %}
[TOOL_RESULTS]{{ m.tool_call_id }}: {{ m.content }}[/TOOL_RESULTS]
{% else %}[INST]{{ m.content }}[/INST]{% endif %}{% endfor %}`,
};

/** Returns the chat template of that family, or of that file in the fixtures. */
export function chatTemplate(name: string): string {
  return short[name] ?? readFileSync(`${root}tests/fixtures/chat/${name}.jinja`, 'utf8');
}
