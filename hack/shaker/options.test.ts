import { availableParallelism } from 'node:os';
import { expect, test } from '@jest/globals';
import { parseShakerOptions } from './options.ts';

test('packages are shaken twenty times, end-to-end suites five times', () => {
  const rest = { stretch: 3, burners: availableParallelism(), nice: 5, patterns: [] };
  expect(parseShakerOptions([])).toMatchObject({ isEndToEnd: false, runs: 20, ...rest });
  expect(parseShakerOptions(['e2e'])).toMatchObject({ isEndToEnd: true, runs: 5, ...rest });
});

test('a run is repeated by its seed', () => {
  const args = ['e2e', '--runs', '1', '--seed', '7', '--stretch', '0', '--burners', '0', 'e2e/faults', 'storage'];
  expect(parseShakerOptions(args)).toEqual({
    isEndToEnd: true,
    runs: 1,
    seed: 7,
    stretch: 0,
    burners: 0,
    nice: 5,
    patterns: ['e2e/faults', 'storage'],
  });
});

test.each([[['--runs', 'many']], [['--seed', '-1']], [['--nice', '20']], [['--stretch', '']], [['--speed', '2']]])(
  'refuses %j',
  (args) => {
    expect(() => parseShakerOptions(args)).toThrow(/--(runs|seed|nice|stretch|speed)/);
  },
);
