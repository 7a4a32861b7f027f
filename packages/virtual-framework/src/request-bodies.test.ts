import { describe, expect, test } from '@jest/globals';
import type { ResourceRequest } from '@multiplane/apiserver';
import { BodyDecoder, YamlWorker } from '@multiplane/apiserver';
import { RequestWork, systemClock } from '@multiplane/component-base';
import { parseYamlBody } from './request-bodies.ts';

const context = {
  info: { cluster: 'consumer' },
  signal: new AbortController().signal,
  work: new RequestWork({ flow: 'consumer' }),
} as unknown as ResourceRequest['context'];

describe('YAML of 300 KiB in a write through a virtual workspace', () => {
  const data = Object.fromEntries(Array.from({ length: 6_000 }, (_, n) => [`key-${n}`, 'x'.repeat(40)]));
  const yaml = `kind: ConfigMap\ndata:\n${Object.entries(data)
    .map(([name, value]) => `  ${name}: ${value}`)
    .join('\n')}\n`;

  test.each([
    ['YAML', yaml],
    ['JSON', JSON.stringify({ kind: 'ConfigMap', data })],
  ])('is read as %s', async (_form, text) => {
    const worker = new YamlWorker({ clock: systemClock });
    await worker.start();
    try {
      const decoder = new BodyDecoder({ isBuiltInKind: () => false, yaml: worker });
      expect(await parseYamlBody(Buffer.from(text), context, decoder)).toEqual({ kind: 'ConfigMap', data });
    } finally {
      await worker.stop();
    }
  });
});
