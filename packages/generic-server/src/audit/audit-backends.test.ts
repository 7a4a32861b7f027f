import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { RestTransport } from '@multiplane/client';
import { silentLogger } from '@multiplane/component-base';
import type { AuditEvent } from './audit-event.ts';
import { AuditLogBackend } from './audit-log-backend.ts';
import { auditWebhook } from './audit-webhook.ts';
import { BatchingBackend } from './batching-backend.ts';
import { FakeClock, missingRoot, unlessMissing } from '@multiplane/testing';

const event = (auditID: string, more: Partial<AuditEvent> = {}): AuditEvent => ({
  kind: 'Event',
  apiVersion: 'audit.k8s.io/v1',
  level: 'Metadata',
  auditID,
  stage: 'ResponseComplete',
  requestURI: '/api',
  verb: 'get',
  user: { username: 'ann' },
  requestReceivedTimestamp: '2026-01-01T00:00:00.000000Z',
  stageTimestamp: '2026-01-01T00:00:00.000000Z',
  ...more,
});

test('a webhook that does not respond times out, and later events are sent', async () => {
  const clock = new FakeClock();
  const got: string[] = [];
  let isFrozen = true;
  const transport = {
    open: ({ body, signal }: { body: string; signal?: AbortSignal }) => {
      got.push(String((JSON.parse(body) as { items: AuditEvent[] }).items[0]?.auditID));
      if (!isFrozen) return Promise.resolve({ statusCode: 200, resume: () => undefined });
      return new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error));
      });
    },
  };
  const send = auditWebhook(
    { path: '/', initialBackoffMs: 10 },
    { transport: transport as unknown as RestTransport, clock },
  );
  const errors: unknown[] = [];
  const logger = { ...silentLogger, error: (_message: string, fields?: object) => errors.push(fields) };
  const backend = new BatchingBackend({ bufferSize: 10, maxBatchSize: 1, maxBatchWaitMs: 0 }, { send, clock, logger });
  await backend.process(event('1'));
  await clock.advance(200_000);
  expect(got).toEqual(['1', '1', '1']);
  expect(errors).toEqual([expect.objectContaining({ events: 1 })]);
  isFrozen = false;
  await backend.process(event('2'));
  await clock.advance(0);
  expect(got.slice(3)).toEqual(['2']);
  expect(clock.timers).toBe(0);
  await backend.close();
});

describe('the log', () => {
  let folder: string;
  let clock: FakeClock;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'audit-'));
    clock = new FakeClock();
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const log = (more = {}): AuditLogBackend =>
    new AuditLogBackend(
      { path: join(folder, 'audit.log'), format: 'json', maxSizeMegabytes: 0, maxBackups: 0, maxAgeDays: 0, ...more },
      { clock, writeOut: () => {} },
    );
  const lines = (name: string): string[] => readFileSync(join(folder, name), 'utf8').trimEnd().split('\n');

  test('has one line per event, in order, and is appended to', async () => {
    const first = log();
    await Promise.all(['1', '2', '3'].map((id) => first.process(event(id))));
    await first.close();
    const second = log();
    await second.process(event('4'));
    await second.close();
    expect(lines('audit.log').map((line) => (JSON.parse(line) as AuditEvent).auditID)).toEqual(['1', '2', '3', '4']);
  });

  test('is rotated at its maximum size and keeps a number of rotated files', async () => {
    const backend = log({ maxSizeMegabytes: 1, maxBackups: 2 });
    const big = 'x'.repeat(700 * 1024);
    // Rotated at the same time, without replacing each other.
    for (let i = 0; i < 5; i++) await backend.process(event(String(i), { userAgent: big }));
    await backend.close();
    const kept = readdirSync(folder).toSorted();
    expect(kept.map((name) => lines(name).map((line) => (JSON.parse(line) as AuditEvent).auditID))).toEqual([
      ['2'],
      ['3'],
      ['4'],
    ]);
    expect(lines('audit.log').map((line) => (JSON.parse(line) as AuditEvent).auditID)).toEqual(['4']);
  });

  test('removes its own old files only', async () => {
    const others = ['audit-shard-1.log', 'audit-2026.log', 'audit-2020-01-01T00-00-00.000.txt', 'webhook-audit.log'];
    const old = 'audit-2020-01-01T00-00-00.000.log';
    const young = 'audit-2021-01-01T00-00-00.000.log';
    for (const name of [...others, old, young]) writeFileSync(join(folder, name), '');
    for (const name of [...others, old]) utimesSync(join(folder, name), 0, 0);
    utimesSync(join(folder, young), new Date(clock.now()), new Date(clock.now()));
    const backend = log({ maxSizeMegabytes: 1, maxAgeDays: 7 });
    const big = 'x'.repeat(700 * 1024);
    for (const id of ['1', '2']) await backend.process(event(id, { userAgent: big }));
    await backend.close();
    const left = readdirSync(folder);
    expect(left).toEqual(expect.arrayContaining([...others, young, 'audit.log']));
    expect(left).not.toContain(old);
    // The file that was rotated last.
    expect(left).toHaveLength(others.length + 3);
  });

  test('continues after another program moved the file', async () => {
    const backend = log({ maxSizeMegabytes: 1 });
    const big = 'x'.repeat(700 * 1024);
    await backend.process(event('1', { userAgent: big }));
    renameSync(join(folder, 'audit.log'), join(folder, 'audit.log.1'));
    await backend.process(event('2', { userAgent: big }));
    await backend.close();
    expect(lines('audit.log').map((line) => (JSON.parse(line) as AuditEvent).auditID)).toEqual(['2']);
  });

  test('starts a new line after a line that a crash truncated', async () => {
    writeFileSync(join(folder, 'audit.log'), '{"kind":"Eve');
    const backend = log();
    for (const id of ['1', '2']) await backend.process(event(id));
    await backend.close();
    const [half, ...whole] = lines('audit.log');
    expect(half).toBe('{"kind":"Eve');
    expect(whole.map((line) => (JSON.parse(line) as AuditEvent).auditID)).toEqual(['1', '2']);
  });

  unlessMissing(missingRoot(), describe)('on a full disk', () => {
    test('starts a new line after the truncated one', async () => {
      const disk = join(folder, 'disk');
      mkdirSync(disk);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]);
      try {
        const backend = log({ path: join(disk, 'audit.log') });
        await backend.process(event('1'));
        writeFileSync(join(disk, 'other'), Buffer.alloc(900 * 1024));
        await expect(backend.process(event('2', { userAgent: 'x'.repeat(1024 * 1024) }))).rejects.toThrow('ENOSPC');
        rmSync(join(disk, 'other'));
        await backend.process(event('3'));
        await backend.close();
        const [first, half, third, ...more] = lines('disk/audit.log');
        expect([first, third].map((line) => (JSON.parse(line as string) as AuditEvent).auditID)).toEqual(['1', '3']);
        expect(() => JSON.parse(half as string) as unknown).toThrow('JSON');
        expect(more).toEqual([]);
      } finally {
        execFileSync('umount', ['--lazy', disk]);
      }
    });
  });

  test('rejects the callers of a failed write', async () => {
    const backend = log({ path: join(folder, 'nowhere', 'audit.log') });
    await expect(backend.process(event('1'))).rejects.toThrow('ENOENT');
    await backend.close();
  });

  test('supports the legacy format', async () => {
    const backend = log({ format: 'legacy' });
    await backend.process(event('1', { impersonatedUser: { username: 'bob', groups: ['a', 'b'] } }));
    await backend.close();
    expect(lines('audit.log')[0]).toBe(
      '2026-01-01T00:00:00.000000Z AUDIT: id="1" stage="ResponseComplete" ip="<none>" method="get" user="ann" groups="<none>" as="bob" asgroups="\\"a\\",\\"b\\"" user-agent="<none>" namespace="<none>" uri="/api" response="<deferred>"',
    );
  });
});

describe('batches', () => {
  test('are sent when full, after the maximum wait, and on close', async () => {
    const clock = new FakeClock();
    const sent: string[][] = [];
    const backend = new BatchingBackend(
      { bufferSize: 10, maxBatchSize: 2, maxBatchWaitMs: 1000 },
      { clock, logger: silentLogger, send: async (events) => void sent.push(events.map(({ auditID }) => auditID)) },
    );
    for (const id of ['1', '2', '3']) await backend.process(event(id));
    await clock.advance(1000);
    expect(sent).toEqual([['1', '2'], ['3']]);
    await backend.process(event('4'));
    await backend.close();
    expect(sent.at(-1)).toEqual(['4']);
  });

  test('drop events beyond the buffer without blocking', async () => {
    const clock = new FakeClock();
    const blocked = Promise.withResolvers<void>();
    let sent = 0;
    const backend = new BatchingBackend(
      { bufferSize: 3, maxBatchSize: 1, maxBatchWaitMs: 1000 },
      {
        clock,
        logger: silentLogger,
        send: async (events) => {
          await blocked.promise;
          sent += events.length;
        },
      },
    );
    for (let i = 0; i < 20; i++) await backend.process(event(String(i)));
    blocked.resolve();
    await backend.close();
    expect(sent).toBe(4);
  });
});
