import { declare, type CelFunction, type Overload } from './function-declaration.ts';
import { inZone } from './time-text.ts';
import type { CelDuration, CelTimestamp } from './values.ts';

type LocalDate = ReturnType<typeof inZone>;
const day = 86_400_000;

const yearDay = (date: LocalDate): number => Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / day);
/** Years below 100 are years of our era, not of the twentieth century. */
const dayOfYear = (date: LocalDate): number => {
  const start = new Date(0);
  start.setUTCFullYear(date.getUTCFullYear(), 0, 1);
  return date.getUTCFullYear() < 100 ? Math.floor((date.getTime() - start.getTime()) / day) : yearDay(date);
};

const ofTimestamp = (name: string, read: (date: LocalDate) => number): Overload[] => {
  const apply: CelFunction = (time, zone) =>
    BigInt(read(inZone(time as CelTimestamp, zone === undefined ? 'UTC' : (zone as string))));
  return [
    declare(name, `timestamp_to_${name}`, 'timestamp.() int', apply),
    declare(name, `timestamp_to_${name}_with_tz`, 'timestamp.(string) int', apply),
  ];
};
const ofDuration = (name: string, read: (nanos: bigint) => bigint): Overload =>
  declare(name, `duration_to_${name}`, 'duration.() int', (value) => read((value as CelDuration).nanos));

const second = 1_000_000_000n;
/** Accessors of timestamps (in a zone, else UTC) and durations. */
export const timeLibrary: readonly Overload[] = [
  ...ofTimestamp('getFullYear', (date) => date.getUTCFullYear()),
  ...ofTimestamp('getMonth', (date) => date.getUTCMonth()),
  ...ofTimestamp('getDayOfYear', dayOfYear),
  ...ofTimestamp('getDate', (date) => date.getUTCDate()),
  ...ofTimestamp('getDayOfMonth', (date) => date.getUTCDate() - 1),
  ...ofTimestamp('getDayOfWeek', (date) => date.getUTCDay()),
  ...ofTimestamp('getHours', (date) => date.getUTCHours()),
  ...ofTimestamp('getMinutes', (date) => date.getUTCMinutes()),
  ...ofTimestamp('getSeconds', (date) => date.getUTCSeconds()),
  ...ofTimestamp('getMilliseconds', (date) => date.millis),
  ofDuration('getHours', (nanos) => nanos / (3600n * second)),
  ofDuration('getMinutes', (nanos) => nanos / (60n * second)),
  ofDuration('getSeconds', (nanos) => nanos / second),
  ofDuration('getMilliseconds', (nanos) => nanos / 1_000_000n),
];
