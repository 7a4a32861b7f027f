import { eventually, NatsServer, TcpProxy } from '@multiplane/testing';
import { test } from '@jest/globals';
import * as fc from 'fast-check';
import {
  expectEqual,
  patient,
  put,
  remove,
  shardKeys,
  sharedServer,
  Watcher,
} from '../../../test/jetstream/stream-setting.ts';

const shared = sharedServer({ server: () => NatsServer.start(), proxy: (port) => TcpProxy.start(port) });

/**
 * The invariant: once writes stop, the cache equals the stream, every watcher has reached this state by its events, and no
 * watcher received an older change after a newer one, or a change of a state that it did not have.
 */
// oxlint-disable-next-line jest/expect-expect -- expectEqual expects
test('under random writes, cuts, sweeps and losses the cache and its watchers converge to the stream', async () => {
  type Step =
    | { readonly do: 'put' | 'remove'; readonly name: number }
    | { readonly do: 'cut' | 'refuse' | 'accept' | 'pause' | 'resume' | 'sweep' | 'lose' | 'kill' };
  const name = fc.nat({ max: 8 });
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 10, arbitrary: fc.record({ do: fc.constant('put' as const), name }) },
    { weight: 5, arbitrary: fc.record({ do: fc.constant('remove' as const), name }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constantFrom(...(['cut', 'refuse', 'accept', 'pause', 'resume'] as const)) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('sweep' as const, 'lose' as const, 'kill' as const) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 50 }), async (steps) => {
      let now = Date.now();
      await using setting = await shared.open({ now: () => now });
      const { publisher, proxy, cache, stream } = setting;
      const watcher = new Watcher(cache);
      for (const [i, one] of steps.entries()) {
        if (one.do === 'put') await eventually(() => put(publisher, `${shardKeys('a')}c/${one.name}`, String(i)));
        else if (one.do === 'remove') await eventually(() => remove(publisher, `${shardKeys('a')}c/${one.name}`));
        else if (one.do === 'cut') proxy.cut();
        else if (one.do === 'refuse') proxy.refuse();
        else if (one.do === 'accept') proxy.accept();
        else if (one.do === 'pause') proxy.pause();
        else if (one.do === 'resume') proxy.resume();
        else if (one.do === 'sweep') {
          now += 3600_000;
          await eventually(() => publisher.sweep());
        } else if (one.do === 'kill') {
          await shared.server.process.crash();
        } else {
          await eventually(() =>
            shared.server.loseStream(stream).catch((error: unknown) => {
              // It is lost already, and no write followed.
              if (!String(error).includes('stream not found')) throw error;
            }),
          );
        }
      }
      proxy.accept();
      proxy.resume();
      await eventually(() => expectEqual(setting, watcher), patient);
    }),
    { numRuns: 12, examples: [[[{ do: 'put', name: 0 }, { do: 'pause' }, { do: 'lose' }, { do: 'lose' }]]] },
  );
}, 120_000);
