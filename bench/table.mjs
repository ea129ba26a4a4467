// Statistics and Markdown tables for the benchmarks.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../scripts/tools.mjs';

export function median(values) {
  if (values.length === 0) return undefined;
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1
    ? sorted[Math.floor(middle)]
    : (sorted[middle - 1] + sorted[middle]) / 2;
}

export function best(values) {
  return Math.max(...values);
}

/** Formats rows, which are objects with the same keys. The keys are the headings. */
export function markdownTable(rows) {
  const headings = Object.keys(rows[0] ?? {});
  const cells = [headings, ...rows.map((row) => headings.map((heading) => String(row[heading])))];
  const widths = headings.map((_, i) => Math.max(...cells.map((row) => row[i].length)));
  const line = (row) => `| ${row.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  return [line(cells[0]), rule, ...cells.slice(1).map(line)].join('\n');
}

/** Puts tables into a file of the project, between a comment "npm run COMMAND" and `endComment`. */
export function replaceInFile(path, command, endComment, markdown) {
  const file = join(root, path);
  const text = readFileSync(file, 'utf8');
  const start = `<!-- npm run ${command} -->\n`;
  const from = text.indexOf(start);
  const to = text.indexOf(`<!-- ${endComment} -->\n`);
  if (from < 0 || to < from) throw new Error(`${path} has no place for npm run ${command}`);
  writeFileSync(file, `${text.slice(0, from + start.length)}\n${markdown}\n\n${text.slice(to)}`);
}
