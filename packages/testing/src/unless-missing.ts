/** A `test` or `describe`, or their `each`. */
interface Definer<Rest extends readonly unknown[], R> {
  (name: string, ...rest: Rest): R;
  readonly skip: (name: string, ...rest: Rest) => unknown;
}

/**
 * `define`, or its `skip` with the reason in the title, where something is missing on this machine that is not part of the
 * product. `hack/test-summary.ts` lists what was skipped by these reasons.
 *
 * `missing` says what is missing and how to get it: `helm is not on the PATH; install Helm 3`. Undefined: nothing.
 */
export function unlessMissing<Rest extends readonly unknown[], R>(
  missing: string | undefined,
  define: Definer<Rest, R>,
): (name: string, ...rest: Rest) => void {
  return (name, ...rest) => {
    if (missing === undefined) define(name, ...rest);
    else define.skip(skippedTitle(name, missing), ...rest);
  };
}

/** The title of a skipped test, from which the summary reads the reason. */
export const skippedTitle = (name: string, missing: string): string =>
  `${name} (skipped: ${missing.replaceAll(/\s+/g, ' ').trim()})`;

/** What a test needs that changes file systems; undefined where it can. */
export const missingRoot = (): string | undefined =>
  process.getuid?.() === 0 ? undefined : 'only root can mount file systems; run the tests as root';

/** Thrown where a test needs something that is not part of the product; the summary counts the test as skipped. */
export class MissingPrerequisiteError extends Error {
  override readonly name = 'MissingPrerequisiteError';
  constructor(missing: string) {
    super(`missing prerequisite: ${missing}`);
  }
}
