import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';

const root = join(import.meta.dirname, '../..');
const rules = ['no-real-timers', 'no-real-time-with-fake-clock', 'no-timed-expectations'];

let folder: TempDir;
beforeEach(async () => {
  folder = await TempDir.create('lint');
});
afterEach(() => folder.remove());

interface Diagnostic {
  readonly filename: string;
  readonly code: string;
}

/** For each file the rules that found something in it. */
function found(files: Readonly<Record<string, string>>): Record<string, string[]> {
  const configuration = {
    categories: { correctness: 'off' },
    jsPlugins: [join(root, 'hack/lint/time-in-tests.ts')],
    rules: Object.fromEntries(rules.map((rule) => [`tests/${rule}`, 'error'])),
  };
  writeFileSync(join(folder.path, '.oxlintrc.json'), JSON.stringify(configuration));
  mkdirSync(join(folder.path, 'src'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder.path, 'src', `${name}.ts`), text);
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/oxlint/bin/oxlint'), '--config', '.oxlintrc.json', '--format', 'json', 'src'],
    { cwd: folder.path, encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' } },
  );
  if (!stdout.startsWith('{')) throw new Error(`oxlint did not run: ${stdout}${stderr}`);
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: readonly Diagnostic[] };
  const result = Object.fromEntries(Object.keys(files).map((name) => [name, [] as string[]]));
  for (const { filename, code } of diagnostics)
    result[filename.replace(/^src\/|\.ts$/g, '')]?.push(code.replace(/^tests\((.*)\)$/, '$1'));
  return result;
}

const fake = `import { FakeClock, eventually } from '@multiplane/testing';\nconst clock = new FakeClock();\n`;

describe('rules about time in tests', () => {
  test('find real timers, however they are reached', () => {
    const result = found({
      global: 'await new Promise((resolve) => setTimeout(resolve, 10));',
      passed: 'await new Promise(setImmediate);',
      ofGlobalThis: 'globalThis.setInterval(() => {}, 1);',
      promises: `import { setTimeout as wait } from 'node:timers/promises'; await wait(1);`,
      otherMethod: 'socket.setTimeout(10); const options = { setTimeout: 1 };',
      scheduler: 'const scheduler = new EventLoopScheduler({ now: () => 0, schedule: setImmediate });',
      excused: '// oxlint-disable-next-line tests/no-real-timers -- a process needs it\nsetTimeout(() => {}, 1);',
    });
    expect(result).toEqual({
      global: ['no-real-timers'],
      passed: ['no-real-timers'],
      ofGlobalThis: ['no-real-timers'],
      promises: ['no-real-timers'],
      otherMethod: [],
      scheduler: [],
      excused: [],
    });
  });

  test('find real time in files with a fake clock', () => {
    const result = found({
      polled: `${fake}await eventually(() => expect(1).toBe(1));`,
      advancedWhilePolled: `${fake}await eventually(async () => { await clock.advance(1); });`,
      otherClock: `import { systemClock } from '@multiplane/component-base';\n${fake}start({ clock: systemClock });`,
      realScheduler: `${fake}start({ clock, scheduler: new EventLoopScheduler({ now: () => performance.now(), schedule: setImmediate }) });`,
      sharedScheduler: `import { eventLoopScheduler } from '@multiplane/component-base';\n${fake}start({ scheduler: eventLoopScheduler });`,
      clockOfFixture: 'await on.clock.advance(5);\nawait eventually(() => expect(1).toBe(1));',
      fakeScheduler: `${fake}start({ clock, scheduler: clock.scheduler });\nawait clock.advance(1);`,
      withoutFakeClock: `import { systemClock } from '@multiplane/component-base';\nawait eventually(() => start({ clock: systemClock }));`,
    });
    const rule = 'no-real-time-with-fake-clock';
    expect(result).toEqual({
      polled: [rule],
      advancedWhilePolled: [rule],
      otherClock: [rule],
      realScheduler: [rule],
      sharedScheduler: [rule],
      clockOfFixture: [rule],
      fakeScheduler: [],
      withoutFakeClock: [],
    });
  });

  test('find expectations about real time', () => {
    const result = found({
      duration: 'expect(performance.now() - start).toBeLessThan(100);',
      argument: 'expect(time).toBeGreaterThan(Date.now() - 100);',
      negated: 'await expect(run()).resolves.not.toBe(Date.now());',
      fixture: 'const now = Date.now(); expect(parse(now)).toBe(now);',
      option: 'expect(verify({ now: () => Date.now() })).toBe(true);',
    });
    const rule = 'no-timed-expectations';
    expect(result).toEqual({ duration: [rule], argument: [rule], negated: [rule], fixture: [], option: [] });
  });
});
