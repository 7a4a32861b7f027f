import type { Value } from './json-pointer.ts';

/** Two durations in a cell of a table, as `0s` and `4m10s` or `325d` and `2y11d`: an age grows from one answer to the other. */
export const areAges = (path: string, ...values: readonly Value[]): boolean =>
  /\/cells\/\d+$/.test(path) && values.every((value) => typeof value === 'string' && duration.test(value));

/** HumanDuration (k8s.io/apimachinery/pkg/util/duration). */
const duration = /^(?=.)(\d+y)?(\d+d)?(\d+h)?(\d+m)?(\d+s)?$/;
