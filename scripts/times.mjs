// Measures how long the parts of a script take, so that a slow part is seen.

/** Runs `part` and remembers under `name` how long it took. Returns what it returns. */
export async function timed(times, name, part) {
  const start = performance.now();
  try {
    return await part();
  } finally {
    times.push({ name, seconds: (performance.now() - start) / 1000 });
  }
}

/** Prints the times as a table, with their sum. */
export function printTimes(times) {
  const all = [...times, { name: 'in all', seconds: times.reduce((sum, t) => sum + t.seconds, 0) }];
  console.log('\nWhere the time went:');
  for (const { name, seconds } of all) {
    const rounded = Math.round(seconds);
    const minutes = `${Math.floor(rounded / 60)}:${String(rounded % 60).padStart(2, '0')}`;
    console.log(`${minutes.padStart(7)}  ${name}`);
  }
}
