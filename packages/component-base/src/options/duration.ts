const units: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Milliseconds of a duration as Go's `time.ParseDuration` reads it: `1h30m`, `1.5s`, `-3ms`, `0`. Throws on anything else. */
export function parseDuration(text: string): number {
  const [, sign, rest] = /^([-+]?)(.*)$/.exec(text) ?? [];
  if (rest === '0') return 0;
  if (rest === undefined || !/^(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h))+$/.test(rest)) {
    throw new Error(`not a duration: ${JSON.stringify(text)}`);
  }
  let total = 0;
  for (const [, amount = '', unit = ''] of rest.matchAll(/([\d.]+)(ns|us|µs|ms|s|m|h)/g)) {
    total += Number(amount) * (units[unit] ?? 0);
  }
  return sign === '-' ? -total : total;
}
