import { expect, test } from '@jest/globals';
import { Interruptions } from './interruptions.ts';

test('an outage of a store is told once, however many watches it interrupts, and on until all have got over it', () => {
  const told: string[] = [];
  const interruptions = new Interruptions({
    onInterruption: (error, failures) => told.push(`${String(error)} ${failures}`),
  });
  const [one, other] = [{}, {}];
  for (const watch of [one, other, one, other]) interruptions.happened(watch, 'away');
  expect(told).toEqual(['away 1', 'away 2']);
  // One that works says nothing of another that does not.
  interruptions.over(one);
  interruptions.happened(other, 'still away');
  interruptions.happened(one, 'away again');
  expect(told.slice(2)).toEqual(['still away 3']);
  interruptions.over(one);
  interruptions.over(other);
  interruptions.happened(one, 'next');
  expect(told.slice(3)).toEqual(['next 1']);
});
