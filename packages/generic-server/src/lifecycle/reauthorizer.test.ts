import { describe, expect, jest, test } from '@jest/globals';
import { FakeClock } from '@multiplane/testing';
import type { Precondition } from './precondition.ts';
import { NoLongerAuthorizedError, Reauthorizer, type ReauthorizedRequest } from './reauthorizer.ts';

const options = { intervalMs: 4_000, changeDelayMs: 250 };

function request(
  cluster: string,
  preconditions: readonly Precondition[],
): ReauthorizedRequest & { readonly cancel: jest.Mock<(reason: Error) => void> } {
  return { info: { cluster }, preconditions, cancel: jest.fn<(reason: Error) => void>() };
}

/** Preconditions of watches whose user has, or has lost, a permission. */
function permission(
  key: string,
  allowed: { current: boolean },
): { evaluated: number; precondition: () => Precondition } {
  const state = {
    evaluated: 0,
    precondition: (): Precondition => ({
      kind: 'permission',
      key,
      holds: async () => {
        state.evaluated++;
        return Promise.resolve(allowed.current);
      },
    }),
  };
  return state;
}

describe('a removed permission', () => {
  test('ends the requests in its logical cluster shortly after the change', async () => {
    const clock = new FakeClock();
    const reauthorizer = new Reauthorizer(options, { clock });
    const allowed = { current: true };
    const here = request('here', [permission('here', allowed).precondition()]);
    const there = request('there', [permission('there', allowed).precondition()]);
    reauthorizer.register(here);
    reauthorizer.register(there);
    allowed.current = false;
    reauthorizer.permissionsChanged('here');
    await clock.advance(250);
    expect(here.cancel).toHaveBeenCalledWith(new NoLongerAuthorizedError('permission'));
    expect(there.cancel).not.toHaveBeenCalled();
  });

  test('ends requests that no change names within the interval', async () => {
    const clock = new FakeClock();
    const reauthorizer = new Reauthorizer(options, { clock });
    const allowed = { current: true };
    const watch = request('here', [permission('a', allowed).precondition()]);
    reauthorizer.register(watch);
    await clock.advance(options.intervalMs);
    expect(watch.cancel).not.toHaveBeenCalled();
    allowed.current = false;
    await clock.advance(options.intervalMs);
    expect(watch.cancel).toHaveBeenCalledTimes(1);
  });

  test('is decided once for ten thousand watches of one user on one resource', async () => {
    const clock = new FakeClock();
    const reauthorizer = new Reauthorizer(options, { clock });
    const allowed = { current: true };
    const shared = permission('one user', allowed);
    const watches = Array.from({ length: 10_000 }, () => request('here', [shared.precondition()]));
    for (const watch of watches) reauthorizer.register(watch);
    reauthorizer.permissionsChanged('here');
    await clock.advance(250);
    expect(shared.evaluated).toBe(1);
    allowed.current = false;
    await clock.advance(options.intervalMs);
    expect(watches.every((watch) => watch.cancel.mock.calls.length > 0)).toBe(true);
  });
});

test('a change of permissions does not verify credentials again; a round does', async () => {
  const clock = new FakeClock();
  const reauthorizer = new Reauthorizer(options, { clock });
  const holds = jest.fn(() => false);
  const watch = request('here', [{ kind: 'credential', holds }]);
  reauthorizer.register(watch);
  reauthorizer.permissionsChanged('here');
  await clock.advance(250);
  expect(holds).not.toHaveBeenCalled();
  await clock.advance(options.intervalMs);
  expect(watch.cancel).toHaveBeenCalledWith(new NoLongerAuthorizedError('credential'));
});

test('an evaluation that fails ends nothing', async () => {
  const clock = new FakeClock();
  const reauthorizer = new Reauthorizer(options, { clock });
  const fails = (): never => {
    throw new Error('no answer');
  };
  const watches = [
    request('here', [{ kind: 'credential', holds: fails }]),
    request('here', [{ kind: 'permission', holds: async () => Promise.reject(new Error('no answer')) }]),
  ];
  for (const watch of watches) reauthorizer.register(watch);
  await clock.advance(options.intervalMs);
  for (const watch of watches) expect(watch.cancel).not.toHaveBeenCalled();
});

test('has no timer without requests', async () => {
  const clock = new FakeClock();
  const reauthorizer = new Reauthorizer(options, { clock });
  reauthorizer.permissionsChanged('here');
  expect(clock.timers).toBe(0);
  const done = reauthorizer.register(request('here', []));
  expect(clock.timers).toBe(1);
  done();
  expect(clock.timers).toBe(0);
  await clock.advance(options.intervalMs);
  expect(clock.timers).toBe(0);
});
