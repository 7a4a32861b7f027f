import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type LoggerOptions, createLogger, silentLogger } from './create-logger.ts';
import type { Logger } from './logger.ts';
import { redactFields } from './redact.ts';
import { FakeClock } from '@multiplane/testing';

function recorded(options: LoggerOptions): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  return { logger: createLogger(options, { write, clock: new FakeClock() }), lines };
}

test('writes one JSON object per line with the fields of every parent', () => {
  const { logger, lines } = recorded({});
  logger.child({ component: 'shard' }).child({ shard: 'root' }).info('started', { port: 6443 });
  logger.debug('unseen');
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 'info',
    message: 'started',
    component: 'shard',
    shard: 'root',
    port: 6443,
    time: expect.any(String),
  });
});

test('writes a readable line as text', () => {
  const { logger, lines } = recorded({ format: 'text' });
  logger.child({ component: 'shard' }).warn('slow disk', { ms: 12, path: '/a b' });
  expect(lines).toEqual(['2026-01-01T00:00:00.000Z WARN  slow disk component=shard ms=12 path="/a b"\n']);
});

test.each(['json', 'text'] as const)('shows an error with its causes as %s', (format) => {
  const { logger, lines } = recorded({ format });
  logger.error('cannot serve', { error: new Error('outer', { cause: new Error('inner') }) });
  expect(lines.join('')).toMatch(/outer[^]*inner/);
});

const jwt = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl';
const secrets: [string, Record<string, unknown>, string][] = [
  ['a header by name', { headers: { Authorization: 'Custom s3cr3t-value' } }, 's3cr3t-value'],
  ['a token by name', { token: 's3cr3t-value' }, 's3cr3t-value'],
  ['a name in another spelling', { 'client-secret': 's3cr3t-value' }, 's3cr3t-value'],
  ['a bearer token in a text', { note: 'sent Bearer s3cr3t-value along' }, 's3cr3t-value'],
  ['a JWT in a text', { note: `got ${jwt}` }, jwt],
  ['a private key', { note: '-----BEGIN PRIVATE KEY-----\ns3cr3t\n-----END PRIVATE KEY-----' }, 's3cr3t'],
  ['a password in a URL', { url: 'https://alice:s3cr3t@etcd:2379' }, 's3cr3t'],
  ['a token in a query', { url: '/api?token=s3cr3t&watch=1' }, 's3cr3t'],
  ['an error message', { error: new Error('Bearer s3cr3t-value refused') }, 's3cr3t-value'],
  ['the cause of an error', { error: new Error('x', { cause: new Error('Bearer s3cr3t-value') }) }, 's3cr3t-value'],
  ['a property of an error', { error: Object.assign(new Error('x'), { token: 's3cr3t' }) }, 's3cr3t'],
  ['bytes', { data: Buffer.from('s3cr3t') }, Buffer.from('s3cr3t').toString('base64')],
];

test.each(secrets)('never writes %s', (_name, fields, secret) => {
  for (const format of ['json', 'text'] as const) {
    const { logger, lines } = recorded({ format });
    logger.error('failed', fields);
    logger.child(fields).error('failed');
    expect(lines).toHaveLength(2);
    expect(lines.join('')).not.toContain(secret);
  }
});

test('redacts secrets in the message', () => {
  for (const format of ['json', 'text'] as const) {
    const { logger, lines } = recorded({ format });
    logger.info('Authorization: Bearer s3cr3t-value');
    expect(lines.join('')).not.toContain('s3cr3t-value');
  }
});

test('handles circular values and hostile names', () => {
  const circle: Record<string, unknown> = { text: 'x' };
  circle['self'] = circle;
  expect(JSON.parse(JSON.stringify(redactFields(circle)))).toEqual({ text: 'x', self: '[circular]' });
  expect(redactFields(JSON.parse('{"__proto__":{"a":1}}') as Record<string, unknown>)['__proto__']).toEqual({ a: 1 });
});

test('writes one line of JSON for any value', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.anything()), (fields) => {
      const { logger, lines } = recorded({});
      logger.info('m', fields);
      expect(lines).toHaveLength(1);
      expect(() => JSON.parse(lines[0] ?? '') as unknown).not.toThrow();
    }),
  );
});

test('the silent logger has silent children', () => {
  expect(silentLogger.child({ a: 1 })).toBe(silentLogger);
});
