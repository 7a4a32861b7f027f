import { expect, test } from '@jest/globals';
import { createLogger } from '@multiplane/component-base';
import { Controller } from './controller.ts';
import { FakeClock } from '@multiplane/testing';

test('yields to the event loop between keys that need no I/O', async () => {
  const logger = createLogger({ level: 'error', format: 'text' }, { write: () => {} });
  let done = 0;
  const finished = Promise.withResolvers<void>();
  const controller = new Controller(
    {
      name: 'busy',
      reconcile: async () => {
        const until = performance.now() + 1;
        while (performance.now() < until);
        if (++done === 200) finished.resolve();
      },
    },
    { clock: new FakeClock(), logger },
  );
  for (let key = 0; key < 200; key++) controller.queue.add(String(key));
  await controller.start();
  // oxlint-disable-next-line tests/no-real-timers -- it reads the count in the next iteration
  const doneAtFirstYield = await new Promise<number>((resolve) => setImmediate(() => resolve(done)));
  expect(doneAtFirstYield).toBeLessThan(200);
  await finished.promise;
  await controller.stop();
});
