import { createLogger } from '@multiplane/component-base';
import { compare } from './compare.ts';

const fields = { verb: 'GET', path: '/api/v1/namespaces/default/configmaps', status: 200, ms: 3 };
let bytes = 0;
const write = (line: string): void => void (bytes += line.length);
const logger = createLogger({ level: 'info' }, { write }).child({ component: 'apiserver', shard: 'root' });

const repeat =
  (once: () => void) =>
  (iterations: number): void => {
    for (let i = 0; i < iterations; i++) once();
  };

await compare({
  title: 'Log line with four fields, redacted',
  unit: 'line',
  baseline: {
    name: 'JSON.stringify alone',
    run: repeat(() =>
      write(`${JSON.stringify({ level: 'info', component: 'apiserver', ...fields, message: 'done' })}\n`),
    ),
  },
  contenders: [
    { name: 'written', run: repeat(() => logger.info('done', fields)) },
    { name: 'below the level', run: repeat(() => logger.debug('done', fields)) },
  ],
});
