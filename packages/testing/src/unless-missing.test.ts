import { expect, jest, test } from '@jest/globals';
import { findBinary } from './find-binary.ts';
import { MissingPrerequisiteError, unlessMissing } from './unless-missing.ts';

const definer = () => Object.assign(jest.fn<(name: string, run: () => void) => void>(), { skip: jest.fn() });
const run = (): void => undefined;

test('a test is defined where nothing is missing, else skipped with the reason in its title', () => {
  const define = definer();
  unlessMissing(undefined, define)('works', run);
  expect(define).toHaveBeenCalledWith('works', run);
  unlessMissing('helm is not on the PATH;\n install Helm', define)('renders', run);
  expect(define.skip).toHaveBeenCalledWith('renders (skipped: helm is not on the PATH; install Helm)', run);
  expect(define).toHaveBeenCalledTimes(1);
});

test('a program that is not there is a missing prerequisite, named with how to get it', () => {
  expect(() => findBinary('no-such-program')).toThrow(MissingPrerequisiteError);
  expect(() => findBinary('no-such-program')).toThrow(
    'missing prerequisite: no-such-program is not on the PATH; hack/servers fetches it, or install it',
  );
});
